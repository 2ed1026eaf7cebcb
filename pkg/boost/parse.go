package boost

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/filter"
)

// Parse reads boosts from decoded JSON, which must be an array of objects. `field` is the array's name in the request
// and prefixes every field path in the errors. Parse returns nil for null, or if there are errors.
func Parse(v any, field string) ([]Boost, []domain.FieldError) {
	if v == nil {
		return nil, nil
	}
	p := &parser{}
	list, ok := v.([]any)
	switch {
	case !ok:
		p.fault(field, "is %s; it must be an array of boosts such as %s", filter.Describe(v), example)
	case len(list) > MaxBoosts:
		p.fault(field, "has %d boosts; the limit is %d", len(list), MaxBoosts)
		list = nil
	}
	out := make([]Boost, 0, len(list))
	for i, item := range list {
		out = append(out, p.boost(item, fmt.Sprintf("%s[%d]", field, i)))
	}
	if len(p.faults) > 0 {
		return nil, p.faults
	}
	return out, nil
}

// ParseJSON reads boosts from JSON text. See Parse.
func ParseJSON(data []byte, field string) ([]Boost, []domain.FieldError) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, []domain.FieldError{{Field: field, Message: fmt.Sprintf("is not valid JSON: %v", err)}}
	}
	return Parse(v, field)
}

const example = `{"type": "recency", "key": "datasource.changed_at", "halfLifeDays": 90}`

// fieldsOf maps each type of boost to the fields it has in addition to type, key and factor.
var fieldsOf = map[Type][]string{Recency: {"halfLifeDays"}, Number: {"pivot", "max"}, Value: {"value"}}

type parser struct{ faults []domain.FieldError }

func (p *parser) fault(field, format string, args ...any) {
	p.faults = append(p.faults, domain.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// boost reads one boost. If it records an error in p, the returned boost is invalid.
func (p *parser) boost(v any, field string) (b Boost) {
	object, ok := v.(map[string]any)
	if !ok {
		p.fault(field, "is %s; it must be an object such as %s", filter.Describe(v), example)
		return b
	}
	name, _ := object["type"].(string)
	b.Type = Type(name)
	if !slices.Contains(Types, b.Type) {
		p.fault(field+".type", "is %s; it must be one of recency, number, value", filter.Describe(object["type"]))
		return b
	}
	allowed := append([]string{"type", "key", "factor"}, fieldsOf[b.Type]...)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(allowed, name) && object[name] != nil {
			p.fault(field+"."+filter.Shorten(name), "is not a field of a %s boost; its fields are %s", b.Type, strings.Join(allowed, ", "))
		}
	}
	p.key(&b, object["key"], field+".key")
	b.Factor = DefaultFactor
	if v := object["factor"]; v != nil {
		b.Factor = p.number(v, field+".factor", MinFactor, MaxFactor)
	}
	switch b.Type {
	case Recency:
		if v := object["halfLifeDays"]; v != nil {
			b.HalfLifeDays = p.number(v, field+".halfLifeDays", 1.0/24, MaxHalfLifeDays)
		} else {
			p.fault(field+".halfLifeDays", "is missing; send the number of days after which half of the boost remains, such as 90")
		}
	case Number:
		b.Pivot, b.Max = p.scale(object, field)
	case Value:
		p.values(&b, object["value"], field+".value")
	}
	return b
}

func (p *parser) key(b *Boost, v any, field string) {
	key, ok := v.(string)
	switch {
	case !ok || key == "":
		p.fault(field, "is %s; it must be the name of a metadata key, such as team or datasource.changed_at", filter.Describe(v))
	case len(key) > filter.MaxKeyBytes:
		p.fault(field, "has %d bytes; the limit is %d", len(key), filter.MaxKeyBytes)
	case strings.HasPrefix(key, filter.PropertyPrefix) && !filter.IsProperty(key):
		p.fault(field, "is %s, which is not a datasource property; use one of %s", filter.Describe(key), strings.Join(filter.Properties, ", "))
	}
	b.Key = key
}

// Bounds on Pivot and Max. Within these bounds, a document's fraction of the boost is always finite.
const (
	minScale = 1e-9
	maxScale = 1e15
)

// scale reads the "pivot" and "max" fields of a Number boost. Exactly one of them must be set, and 0 is returned for
// the other.
func (p *parser) scale(object map[string]any, field string) (pivot, highest float64) {
	switch {
	case object["pivot"] != nil && object["max"] != nil:
		p.fault(field+".max", "cannot be combined with pivot; send either pivot (the number that gets half of the boost) or max (the number that gets all of it)")
	case object["pivot"] != nil:
		pivot = p.number(object["pivot"], field+".pivot", minScale, maxScale)
	case object["max"] != nil:
		highest = p.number(object["max"], field+".max", minScale, maxScale)
	default:
		p.fault(field+".pivot", "is missing; send either pivot (the number that gets half of the boost) or max (the number that gets all of it)")
	}
	return pivot, highest
}

func (p *parser) number(v any, field string, least, highest float64) float64 {
	value, _ := filter.ValueOf(v)
	n := value.Number()
	if value.Kind() != filter.Number || math.IsNaN(n) || n < least || n > highest {
		p.fault(field, "is %s; it must be a number between %s and %s", filter.Describe(v), format(least), format(highest))
	}
	return n
}

func format(n float64) string { return strconv.FormatFloat(n, 'g', 5, 64) }

// values reads the "value" field of a Value boost: a single value or an array.
func (p *parser) values(b *Boost, v any, field string) {
	list, isList := v.([]any)
	switch {
	case v == nil:
		p.fault(field, "is missing; it must be a string, a number, true or false, or an array of them")
		return
	case isList && len(list) == 0:
		p.fault(field, "is an empty array; it must have at least one value")
		return
	case len(list) > MaxValues:
		p.fault(field, "has %d values; the limit is %d", len(list), MaxValues)
		return
	case !isList:
		list = []any{v}
	}
	for i, item := range list {
		at := field
		if isList {
			at = fmt.Sprintf("%s[%d]", field, i)
		}
		value, ok := filter.ValueOf(item)
		switch {
		case !ok:
			p.fault(at, "is %s; it must be a string, a number, true or false", filter.Describe(item))
		case len(value.Text()) > MaxTextBytes:
			p.fault(at, "has %d bytes; the limit is %d", len(value.Text()), MaxTextBytes)
		case i > 0 && !sameType(value, b.Values[0]):
			p.fault(at, "is %s, but the first value is %s; all values must have the same type; send a separate boost for each type", filter.Describe(item), filter.Describe(list[0]))
		}
		b.Values = append(b.Values, value)
	}
}

// sameType reports whether both values are strings, numbers or booleans. Dates count as strings.
func sameType(a, b filter.Value) bool {
	base := func(v filter.Value) filter.Kind {
		if v.Kind() == filter.Date {
			return filter.Text
		}
		return v.Kind()
	}
	return base(a) == base(b)
}
