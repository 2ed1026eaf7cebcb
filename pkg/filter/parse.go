package filter

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/domain"
)

// Maximum number of errors to report.
const maxFaults = 10

// Parse reads a filter from a decoded JSON object. If the object isn't a valid filter, Parse returns only the errors.
// If it is null, Parse returns neither a filter nor errors. `field` is the filter's name in the request, and the paths
// of invalid fields start with it.
func Parse(v any, field string) (*Filter, []domain.FieldError) {
	if v == nil {
		return nil, nil
	}
	p := &parser{}
	f := p.filter(v, field, 1)
	if p.conditions > MaxConditions {
		p.faults = append(p.faults, domain.FieldError{Field: field, Message: fmt.Sprintf(
			"has %d conditions; the limit is %d; replace several eq conditions on one key with a single in condition", p.conditions, MaxConditions)})
	}
	if len(p.faults) == 0 {
		if n := len(f.String()); n > MaxBytes {
			p.fault(field, "is %d bytes long as JSON; the limit is %d; shorten its lists or split the query", n, MaxBytes)
		}
	}
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	return f, nil
}

// ParseJSON reads a filter from JSON text. See Parse.
func ParseJSON(data []byte, field string) (*Filter, []domain.FieldError) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, []domain.FieldError{{Field: field, Message: fmt.Sprintf("is not valid JSON: %v", err)}}
	}
	return Parse(v, field)
}

// IsFilter reports whether an object is a filter, judging by fields that only filters have.
func IsFilter(object map[string]any) bool {
	for _, field := range []string{"type", "key", "value", "filters", "filter"} {
		if _, ok := object[field]; ok {
			return true
		}
	}
	return false
}

type parser struct {
	faults     []domain.FieldError
	conditions int
}

func (p *parser) fault(field, format string, args ...any) {
	if len(p.faults) < maxFaults {
		p.faults = append(p.faults, domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// filter reads a filter. If it reports an error, don't use the result.
func (p *parser) filter(v any, field string, depth int) *Filter {
	object, ok := v.(map[string]any)
	if !ok {
		p.fault(field, "is %s; it must be an object such as %s", Describe(v), example)
		return nil
	}
	if depth > MaxDepth {
		p.fault(field, "is nested %d levels deep; the limit is %d; merge nested \"and\" and \"or\" filters", depth, MaxDepth)
		return nil
	}
	name, isText := object["type"].(string)
	f := &Filter{Op: Op(name)}
	switch {
	case object["type"] == nil:
		p.fault(field+".type", "is missing; it must be one of %s", names(Ops))
		return nil
	case !isText || !slices.Contains(Ops, f.Op):
		p.fault(field+".type", "is %s; it must be one of %s", Describe(object["type"]), names(Ops))
		return nil
	}
	switch f.Op {
	case And, Or:
		p.closed(object, field, f.Op, "type", "filters")
		p.several(f, object["filters"], field+".filters", depth)
	case Not:
		p.closed(object, field, f.Op, "type", "filter")
		f.Filters = []*Filter{p.filter(object["filter"], field+".filter", depth+1)}
	default:
		p.conditions++
		p.closed(object, field, f.Op, "type", "key", "value")
		p.key(f, object["key"], field+".key")
		p.values(f, object["value"], field+".value")
	}
	return f
}

const example = `{"type": "eq", "key": "team", "value": "docs"}`

// closed reports an error for each field that filters with this operator can't have. A null field counts as omitted.
func (p *parser) closed(object map[string]any, field string, op Op, allowed ...string) {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(allowed, name) && object[name] != nil {
			p.fault(field+"."+Shorten(name), "is unknown; filters of the type %s have the fields %s", op, strings.Join(allowed, ", "))
		}
	}
}

func (p *parser) several(f *Filter, v any, field string, depth int) {
	list, ok := v.([]any)
	switch {
	case v == nil:
		p.fault(field, "is missing; it must be an array of filters")
	case !ok:
		p.fault(field, "is %s; it must be an array of filters", Describe(v))
	case len(list) == 0:
		p.fault(field, "is an empty array; it must have at least one filter")
	}
	for i, item := range list {
		if p.conditions > MaxConditions || len(p.faults) >= maxFaults {
			return
		}
		f.Filters = append(f.Filters, p.filter(item, fmt.Sprintf("%s[%d]", field, i), depth+1))
	}
}

func (p *parser) key(f *Filter, v any, field string) {
	key, ok := v.(string)
	switch {
	case v == nil:
		p.fault(field, "is missing; it must be the name of a metadata key, such as team or document.language")
	case !ok || key == "":
		p.fault(field, "is %s; it must be the name of a metadata key, such as team or document.language", Describe(v))
	case len(key) > MaxKeyBytes:
		p.fault(field, "has %d bytes; the limit is %d", len(key), MaxKeyBytes)
	case strings.HasPrefix(key, PropertyPrefix) && !IsProperty(key):
		p.fault(field, "is %s, which is not a datasource property; use one of %s", Describe(key), strings.Join(Properties, ", "))
	}
	f.Key = key
}

// values reads a condition's value or values.
func (p *parser) values(f *Filter, v any, field string) {
	list, isList := v.([]any)
	if v == nil && f.Op == Exists {
		v = true
	}
	switch {
	case v == nil:
		p.fault(field, "is missing or null; to find documents without the key, use the type exists with the value false")
		return
	case isList && f.Op != In && f.Op != Nin && f.Op != Contains:
		p.fault(field, "is an array, but %s takes a single value; use in for several values", f.Op)
		return
	case !isList && (f.Op == In || f.Op == Nin):
		p.fault(field, "is %s; it must be an array of values; use %s for one value", Describe(v), map[Op]Op{In: Eq, Nin: Ne}[f.Op])
		return
	case isList && len(list) == 0:
		p.fault(field, "is an empty array; it must have at least one value")
		return
	case len(list) > MaxValues:
		p.fault(field, "has %d values; the limit is %d", len(list), MaxValues)
		return
	case !isList:
		p.value(f, v, field)
		return
	}
	for i, item := range list {
		p.value(f, item, fmt.Sprintf("%s[%d]", field, i))
	}
	for i, value := range f.Values {
		if value.base() != f.Values[0].base() {
			p.fault(fmt.Sprintf("%s[%d]", field, i), "is %s, but the first value is %s; all values must have the same type; to match several types, combine filters with or",
				Describe(value.Any()), Describe(f.Values[0].Any()))
			return
		}
	}
}

// value reads one value of a condition.
func (p *parser) value(f *Filter, v any, field string) {
	value, ok := ValueOf(v)
	switch kind := value.base(); {
	case !ok:
		p.fault(field, "is %s; it must be a string, a number, true or false", Describe(v))
	case f.Op == Exists && kind != Bool:
		p.fault(field, "is %s; the value of exists must be true or false", Describe(v))
	case f.Op == Prefix && (kind != Text || value.text == ""):
		p.fault(field, "is %s; the value of prefix must be a non-empty string", Describe(v))
	case f.Op.Ordered() && kind == Bool:
		p.fault(field, "is %s, but booleans have no order; use eq", Describe(v))
	case (f.Op.Ordered() || f.Op == Prefix) && len(value.text) > MaxOrderBytes:
		p.fault(field, "has %d bytes; the limit for %s is %d", len(value.text), f.Op, MaxOrderBytes)
	}
	f.Values = append(f.Values, value)
}

func names(ops []Op) string {
	out := make([]string, len(ops))
	for i, op := range ops {
		out[i] = string(op)
	}
	return strings.Join(out, ", ")
}

// Describe returns a short representation of a JSON value for error messages.
func Describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "missing or null"
	case string:
		return strconv.Quote(Shorten(v))
	case float64:
		if text, err := json.Marshal(v); err == nil { // avoids exponents where possible
			return string(text)
		}
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprint(v)
}

// Shorten truncates a text for error messages.
func Shorten(s string) string {
	const limit = 60
	if len(s) <= limit {
		return s
	}
	return bounded.Prefix(s, limit) + "…"
}
