package document

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/rules"
	"github.com/sluice/sluice/pkg/domain"
)

// CheckBody validates a body against the document and the operation's rule. It removes null fields.
func (op *Operation) CheckBody(value any) []domain.FieldError {
	faults := jsonbody.Check(op.body, value)
	if m, ok := value.(map[string]any); ok {
		faults = append(faults, rules.Faults(op.ID, m)...)
	}
	return faults
}

// CheckBatch is like CheckBody, but handles a batch's items one by one. `parsed` holds the faults found while parsing
// the body. `items` has one result for each item sent, with the item's faults and with warnings about repaired ones.
// Faulty items are removed from the body. `faults` contains only the faults that make the whole body invalid.
func (op *Operation) CheckBatch(value any, parsed []domain.FieldError) (faults []domain.FieldError, items []jsonbody.Item) {
	body, _ := value.(map[string]any)
	field, items, parsed := rules.CleanBatch(op.ID, body, parsed)
	faults = append(parsed, op.CheckBody(value)...)
	if field == "" {
		return faults, nil
	}
	return jsonbody.SplitItems(body, field, items, faults), items
}

// CheckQuery validates the query string against the operation's parameters. It returns the parameters that are not
// empty. If a time parameter is a plain date, CheckQuery replaces it with a date-time.
func (op *Operation) CheckQuery(in url.Values) (url.Values, []domain.FieldError) {
	out := url.Values{}
	faults := misspeltParameters(op, in)
	for _, p := range op.query {
		values := slices.Concat(in[p.Name], in[aliasOf(p)])
		if len(values) > 1 {
			faults = append(faults, domain.FieldError{Field: p.Name, Message: "was sent more than once; send it only once"})
			continue
		}
		if len(values) == 0 || values[0] == "" {
			if p.Required {
				faults = append(faults, domain.FieldError{Field: p.Name, Message: "is required"})
			}
			continue
		}
		var value any = values[0]
		switch schema := p.Schema.Value; {
		case isTime(schema):
			at, err := timeOf(p, values[0])
			if err != nil {
				faults = append(faults, timeFault(p.Name, values[0]))
				continue
			}
			out.Set(p.Name, at.Format(time.RFC3339Nano))
			continue
		case schema.Type.Is("boolean"):
			b, err := strconv.ParseBool(values[0])
			if err != nil || len(values[0]) == 1 {
				faults = append(faults, domain.FieldError{Field: p.Name, Message: fmt.Sprintf("is %q; it must be true or false", jsonbody.Shorten(values[0]))})
				continue
			}
			value, values = b, []string{strconv.FormatBool(b)}
		case schema.Type.Is("integer"):
			n, err := strconv.ParseInt(values[0], 10, 64)
			if err != nil {
				faults = append(faults, domain.FieldError{Field: p.Name, Message: fmt.Sprintf("is %q; it must be a whole number", jsonbody.Shorten(values[0]))})
				continue
			}
			value = float64(n)
		}
		if strings.ContainsRune(values[0], 0) || jsonbody.InvalidUTF8([]byte(values[0])) >= 0 {
			faults = append(faults, domain.FieldError{Field: p.Name, Message: "must be valid UTF-8 without NUL characters"})
			continue
		}
		faults = append(faults, jsonbody.SchemaFaults(p.Schema.Value, p.Name, value)...)
		out[p.Name] = values
	}
	return out, append(faults, rangeFaults(in, out)...)
}

// aliasOf returns the second name under which the parameter is accepted, such as custom_id for customId, or "" if there
// is none.
func aliasOf(p *openapi3.Parameter) string {
	name, _ := p.Extensions["x-alias"].(string)
	return name
}

// misspeltParameters returns a fault for each misspelt parameter. It also returns one for each unknown parameter that
// has the name of a field of the listed resources, because the caller expects it to filter the list. Other unknown
// parameters are ignored, because proxies and browsers add their own.
func misspeltParameters(op *Operation, in url.Values) []domain.FieldError {
	known := make([]string, len(op.query))
	for i, p := range op.query {
		known[i] = p.Name
	}
	var faults []domain.FieldError
	for _, name := range slices.Sorted(maps.Keys(in)) {
		field := jsonbody.ClosestName(known, name)
		switch {
		case field == name, slices.ContainsFunc(op.query, func(p *openapi3.Parameter) bool { return aliasOf(p) == name }):
		case field != "":
			faults = append(faults, domain.FieldError{Field: jsonbody.Shorten(name), Message: "is unknown; did you mean " + field + "?"})
		case op.items[name] != nil:
			faults = append(faults, domain.FieldError{Field: name, Message: "is not a filter for this list; the parameters are " + strings.Join(known, ", ")})
		}
	}
	return faults
}
