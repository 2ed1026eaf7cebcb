package document

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// timeOf parses a time parameter, which is a date-time (RFC 3339) or a date. A date means the start of that day in UTC,
// or its end if the parameter is the end of a range. An unescaped + in a query string decodes to a space, so timeOf
// reads a space in that position as a +.
func timeOf(p *openapi3.Parameter, text string) (at time.Time, err error) {
	defer func() {
		if y := at.UTC().Year(); err == nil && (y < 0 || y > 9999) {
			err = fmt.Errorf("the year %d is outside 0 to 9999", y)
		}
	}()
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		if p.Extensions["x-through"] == true {
			day = day.AddDate(0, 0, 1)
		}
		return day, nil
	}
	const offset = len("+00:00")
	if at := len(text) - offset; at > 0 && text[at] == ' ' {
		text = text[:at] + "+" + text[at+1:]
	}
	return time.Parse(time.RFC3339Nano, strings.ToUpper(text))
}

func isTime(s *openapi3.Schema) bool { return s.Type.Is("string") && s.Format == "date-time" }

// timeFault returns the fault for an invalid time; its message describes the valid formats.
func timeFault(name, text string) domain.FieldError {
	return domain.FieldError{Field: name, Message: fmt.Sprintf("is %s; it must be a date (2026-05-04) or a date-time (2026-05-04T12:00:00Z)", jsonbody.Describe(text))}
}

// rangeFaults returns a fault for a time range that ends before it begins. `given` holds the raw parameters, and `out`
// the parsed ones.
func rangeFaults(given, out url.Values) []domain.FieldError {
	from, fromErr := time.Parse(time.RFC3339Nano, out.Get("from"))
	to, toErr := time.Parse(time.RFC3339Nano, out.Get("to"))
	_, dateErr := time.Parse(time.DateOnly, given.Get("to"))
	lastDay := dateErr == nil // timeOf returns the end of a day as the start of the next one
	if fromErr != nil || toErr != nil || from.Before(to) || from.Equal(to) && !lastDay {
		return nil
	}
	return []domain.FieldError{{Field: "from", Message: fmt.Sprintf("is %s; it must be earlier than \"to\" (%s)",
		jsonbody.Describe(given.Get("from")), jsonbody.Describe(given.Get("to")))}}
}
