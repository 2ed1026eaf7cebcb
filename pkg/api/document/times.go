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

// timeOf reads a parameter that is a time: a date-time of RFC 3339, or a date, which is the beginning of that day in UTC, or
// its end where the parameter is the end of a range. A + that came unescaped, and so as a blank, is taken for what it is.
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

// timeFault says what a time must look like.
func timeFault(name, text string) domain.FieldError {
	return domain.FieldError{Field: name, Message: fmt.Sprintf("is %s; it must be a date (2026-05-04) or a date-time (2026-05-04T12:00:00Z)", jsonbody.Describe(text))}
}

// rangeFaults finds a range of times that ends before it begins. given are the parameters as they came, out as they
// were read.
func rangeFaults(given, out url.Values) []domain.FieldError {
	from, fromErr := time.Parse(time.RFC3339Nano, out.Get("from"))
	to, toErr := time.Parse(time.RFC3339Nano, out.Get("to"))
	_, dateErr := time.Parse(time.DateOnly, given.Get("to"))
	lastDay := dateErr == nil // to is read as the end of that day, which is the beginning of the day behind it
	if fromErr != nil || toErr != nil || from.Before(to) || from.Equal(to) && !lastDay {
		return nil
	}
	return []domain.FieldError{{Field: "from", Message: fmt.Sprintf("is %s, which is after to, %s; from must be earlier",
		jsonbody.Describe(given.Get("from")), jsonbody.Describe(given.Get("to")))}}
}
