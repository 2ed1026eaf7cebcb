package filter

import (
	"slices"
	"strings"
	"time"
)

// Matches evaluates the filter on one row. `values` returns the row's values for a key, without duplicates. A nil
// filter matches every row.
//
// Comparing values of different types, such as a text and a number, yields false. Engines return an Error for such a
// filter instead; see Conflict.
func (f *Filter) Matches(values func(key string) []Value) bool {
	if f == nil {
		return true
	}
	match := func(inner *Filter) bool { return inner.Matches(values) }
	switch f.Op {
	case And:
		return !slices.ContainsFunc(f.Filters, func(inner *Filter) bool { return !match(inner) })
	case Or:
		return slices.ContainsFunc(f.Filters, match)
	case Not:
		return !match(f.Filters[0])
	case Exists:
		return (len(values(f.Key)) > 0) == f.Values[0].Bool()
	case Contains:
		have := values(f.Key)
		return !slices.ContainsFunc(f.Values, func(want Value) bool { return !slices.ContainsFunc(have, equals(want)) })
	}
	some := slices.ContainsFunc(values(f.Key), f.Test())
	return some != f.Negative()
}

// Negative reports whether the condition is negated, i.e. matches a row if none of the row's values passes Test.
func (f *Filter) Negative() bool {
	return f.Op == Ne || f.Op == Nin || f.Op == Exists && !f.Values[0].Bool()
}

// Test returns a function that tests one value of the condition's key. A row matches if one of its values passes or,
// for a Negative condition, if none does. Contains conditions would need several tests, so replace them with Split
// first.
func (f *Filter) Test() func(Value) bool {
	switch f.Op {
	case Exists:
		return func(Value) bool { return true }
	case Prefix:
		prefix := f.Values[0].text
		return func(v Value) bool { return v.base() == Text && strings.HasPrefix(v.text, prefix) }
	case Gt, Gte, Lt, Lte:
		return f.ordered()
	}
	return equalsAny(f.Values)
}

// Split returns an equivalent filter with Contains conditions replaced by an And of Eq conditions. It may share nodes
// with f, so don't modify either afterwards.
func (f *Filter) Split() *Filter {
	switch {
	case f == nil:
		return nil
	case f.Op == Contains:
		out := &Filter{Op: And}
		for _, v := range f.Values {
			out.Filters = append(out.Filters, &Filter{Op: Eq, Key: f.Key, Values: []Value{v}})
		}
		return out
	case !f.Op.compound():
		return f
	}
	out := &Filter{Op: f.Op, Filters: make([]*Filter, len(f.Filters))}
	for i, inner := range f.Filters {
		out.Filters[i] = inner.Split()
	}
	return out
}

// ordered returns a function that compares a value with the condition's value, using the condition's operator.
func (f *Filter) ordered() func(Value) bool {
	want := f.Values[0]
	kind := want.Kind()
	return func(v Value) bool {
		if v.base() != want.base() || kind == Date && v.Kind() != Date {
			return false
		}
		c := compare(kind, v, want)
		switch f.Op {
		case Gt:
			return c > 0
		case Gte:
			return c >= 0
		case Lt:
			return c < 0
		}
		return c <= 0
	}
}

// equalsAny returns a function that reports whether a value equals one of `values`. Dates are equal if they are the
// same instant.
func equalsAny(values []Value) func(Value) bool {
	if len(values) == 1 {
		return equals(values[0])
	}
	same := make(map[string]bool, len(values))
	moments := make(map[time.Time]bool)
	for _, want := range values {
		same[want.Identity()] = true
		if at, is := want.Time(); is {
			moments[at] = true
		}
	}
	return func(v Value) bool {
		if same[v.Identity()] {
			return true
		}
		if len(moments) == 0 {
			return false
		}
		at, is := v.Time()
		return is && moments[at]
	}
}

// equals is equalsAny for a single value.
func equals(want Value) func(Value) bool {
	moment, isDate := want.Time()
	return func(v Value) bool {
		if v.same(want) {
			return true
		}
		if !isDate {
			return false
		}
		at, is := v.Time()
		return is && at.Equal(moment)
	}
}

// Dated reports whether one of the condition's values is a date. There are several ways to write a date, so the
// condition may match a different text.
func (f *Filter) Dated() bool {
	return slices.ContainsFunc(f.Values, func(v Value) bool { return v.Kind() == Date })
}
