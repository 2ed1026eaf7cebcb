// Package filter implements metadata filters: parsing, canonical form, type checks, and evaluation on a row. It also
// accepts the filters of OpenAI's vector stores. See docs/retrieval.md.
package filter

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
)

// Op is the type of a filter.
type Op string

// Operators. And, Or and Not combine filters. The other operators are conditions on a key's values; a key has several
// values if the metadata contains a list. Ne and Nin negate Eq and In, so they also match documents without the key.
const (
	And      Op = "and"      // all Filters match
	Or       Op = "or"       // at least one of Filters matches
	Not      Op = "not"      // the only filter in Filters does not match
	Eq       Op = "eq"       // a value equals Values[0]
	Ne       Op = "ne"       // no value equals Values[0]
	Gt       Op = "gt"       // a value is greater than Values[0]
	Gte      Op = "gte"      // a value is greater than or equal to Values[0]
	Lt       Op = "lt"       // a value is less than Values[0]
	Lte      Op = "lte"      // a value is less than or equal to Values[0]
	In       Op = "in"       // a value equals one of Values
	Nin      Op = "nin"      // no value equals one of Values
	Exists   Op = "exists"   // the key has a value if Values[0] is true, or none if it is false
	Prefix   Op = "prefix"   // a text starts with Values[0]
	Contains Op = "contains" // all of Values are among the key's values
)

// Ops lists all operators, in the same order as the documentation.
var Ops = []Op{Eq, Ne, Gt, Gte, Lt, Lte, In, Nin, Exists, Prefix, Contains, And, Or, Not}

// Limits on a filter.
const (
	MaxDepth      = 8        // levels of and, or and not; the innermost condition counts as one
	MaxConditions = 100      // not counting and, or and not
	MaxValues     = 1000     // in an in, nin or contains condition
	MaxKeyBytes   = 256      // of a key
	MaxOrderBytes = 256      // of a text in an ordered or prefix comparison
	MaxBytes      = 64 << 10 // of the whole filter in canonical form
)

// Filter is a parsed filter: a condition (Key and Values) or a combination (Filters).
type Filter struct {
	Op      Op
	Key     string
	Values  []Value
	Filters []*Filter
}

// Ordered reports whether the operator compares values by order.
func (o Op) Ordered() bool { return o == Gt || o == Gte || o == Lt || o == Lte }

// compound reports whether the operator combines filters.
func (o Op) compound() bool { return o == And || o == Or || o == Not }

// Conditions yields the conditions in the filter, from left to right. The filter may be nil.
func (f *Filter) Conditions() iter.Seq[*Filter] {
	return func(yield func(*Filter) bool) { f.each(yield) }
}

func (f *Filter) each(yield func(*Filter) bool) bool {
	if f == nil {
		return true
	}
	if !f.Op.compound() {
		return yield(f)
	}
	for _, inner := range f.Filters {
		if !inner.each(yield) {
			return false
		}
	}
	return true
}

// All returns a filter that matches if all of the given filters do. Nil filters are ignored. If there are no others,
// All returns nil, which matches everything.
func All(filters ...*Filter) *Filter {
	filters = slices.DeleteFunc(slices.Clone(filters), func(f *Filter) bool { return f == nil })
	switch len(filters) {
	case 0:
		return nil
	case 1:
		return filters[0]
	}
	return &Filter{Op: And, Filters: filters}
}

// Canonical returns an equivalent filter in which nested and-filters and or-filters are merged, and filters and values
// are sorted and unique. It does not change f.
func (f *Filter) Canonical() *Filter {
	if f == nil {
		return nil
	}
	if !f.Op.compound() {
		values := slices.Clone(f.Values)
		slices.SortFunc(values, func(a, b Value) int { return strings.Compare(a.Identity(), b.Identity()) })
		return &Filter{Op: f.Op, Key: f.Key, Values: slices.CompactFunc(values, Value.same)}
	}
	type named struct {
		name   string
		filter *Filter
	}
	var parts []named
	for _, inner := range f.Filters {
		inner = inner.Canonical()
		if inner.Op == f.Op && f.Op != Not {
			for _, part := range inner.Filters {
				parts = append(parts, named{part.String(), part})
			}
			continue
		}
		parts = append(parts, named{inner.String(), inner})
	}
	slices.SortFunc(parts, func(a, b named) int { return strings.Compare(a.name, b.name) })
	parts = slices.CompactFunc(parts, func(a, b named) bool { return a.name == b.name })
	if len(parts) == 1 {
		switch only := parts[0].filter; {
		case f.Op != Not:
			return only
		case only.Op == Not: // a double negation
			return only.Filters[0]
		}
	}
	out := &Filter{Op: f.Op, Filters: make([]*Filter, len(parts))}
	for i, p := range parts {
		out.Filters[i] = p.filter
	}
	return out
}

// String returns the filter as JSON.
func (f *Filter) String() string {
	data, err := json.Marshal(f)
	if err != nil {
		return "" // unreachable: all values are texts, finite numbers and booleans
	}
	return string(data)
}

// MarshalJSON implements json.Marshaler. Parse reads the result.
func (f *Filter) MarshalJSON() ([]byte, error) {
	if f == nil {
		return []byte("null"), nil
	}
	if f.Op == Not {
		return json.Marshal(struct {
			Type   Op      `json:"type"`
			Filter *Filter `json:"filter"`
		}{f.Op, f.Filters[0]})
	}
	if f.Op.compound() {
		return json.Marshal(struct {
			Type    Op        `json:"type"`
			Filters []*Filter `json:"filters"`
		}{f.Op, f.Filters})
	}
	var value any = f.Values
	if len(f.Values) == 1 && f.Op != In && f.Op != Nin {
		value = f.Values[0]
	}
	return json.Marshal(struct {
		Type  Op     `json:"type"`
		Key   string `json:"key"`
		Value any    `json:"value"`
	}{f.Op, f.Key, value})
}
