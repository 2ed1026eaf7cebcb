package filter

import (
	"cmp"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of a value. Kinds are combined with "|".
type Kind uint8

// Kinds of values. A text that is a date has the kind Date; see Value.Kind.
const (
	Text Kind = 1 << iota
	Number
	Bool
	Date
)

// Any combines all kinds.
const Any = Text | Number | Bool | Date

// String returns the names of the kinds.
func (k Kind) String() string {
	var names []string
	for _, n := range []struct {
		kind Kind
		name string
	}{{Number, "numbers"}, {Text, "texts"}, {Date, "dates"}, {Bool, "booleans"}} {
		if k&n.kind != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, " and ")
}

// single reports whether k is exactly one kind.
func (k Kind) single() bool { return k != 0 && k&(k-1) == 0 }

// Value is a text, a number or a boolean. The zero value is an empty text.
type Value struct {
	kind   Kind // Text, Number or Bool; 0 means Text
	text   string
	number float64 // 0 or 1 for a boolean
}

// TextOf returns a text value. The text may be a date.
func TextOf(s string) Value { return Value{kind: Text, text: s} }

// NumberOf returns a number value.
func NumberOf(f float64) Value {
	if f == 0 {
		f = 0 // negative zero becomes zero
	}
	return Value{kind: Number, number: f}
}

// BoolOf returns a boolean value.
func BoolOf(b bool) Value {
	if b {
		return Value{kind: Bool, number: 1}
	}
	return Value{kind: Bool}
}

// ValueOf returns a metadata value. It returns false if v is not a string, a number other than NaN, or a boolean.
func ValueOf(v any) (Value, bool) {
	switch x := v.(type) {
	case string:
		return TextOf(x), true
	case bool:
		return BoolOf(x), true
	case json.Number:
		f, err := x.Float64()
		return NumberOf(f), err == nil
	}
	switch x := reflect.ValueOf(v); {
	case !x.IsValid():
		return Value{}, false
	case x.CanInt():
		return NumberOf(float64(x.Int())), true
	case x.CanUint():
		return NumberOf(float64(x.Uint())), true
	case x.CanFloat():
		return NumberOf(x.Float()), !math.IsNaN(x.Float())
	}
	return Value{}, false
}

// Identity returns a string that only equal values share. Values of different types never share one, nor do texts that
// express the same time differently. FromIdentity is the inverse.
func (v Value) Identity() string {
	switch v.kind {
	case Number:
		return "n" + strconv.FormatFloat(v.number, 'g', -1, 64)
	case Bool:
		return "b" + strconv.FormatBool(v.number != 0)
	}
	return "s" + v.text
}

// FromIdentity returns the value with the given identity, or false if there is none.
func FromIdentity(identity string) (Value, bool) {
	if identity == "" {
		return Value{}, false
	}
	switch rest := identity[1:]; identity[0] {
	case 's':
		return TextOf(rest), true
	case 'b':
		return BoolOf(rest == "true"), rest == "true" || rest == "false"
	case 'n':
		f, err := strconv.ParseFloat(rest, 64)
		return NumberOf(f), err == nil
	}
	return Value{}, false
}

// Kind returns the value's kind: Date for a text that is a date, otherwise Text, Number or Bool.
func (v Value) Kind() Kind {
	switch v.kind {
	case Number, Bool:
		return v.kind
	}
	if _, is := v.Time(); is {
		return Date
	}
	return Text
}

// Text returns the value if it is a text, or "" otherwise.
func (v Value) Text() string { return v.text }

// Number returns the value of a number, 1 for true, and 0 for everything else.
func (v Value) Number() float64 { return v.number }

// Bool reports whether the value is true.
func (v Value) Bool() bool { return v.kind == Bool && v.number != 0 }

// Any returns the value as a string, float64 or bool.
func (v Value) Any() any {
	switch v.kind {
	case Number:
		return v.number
	case Bool:
		return v.number != 0
	}
	return v.text
}

// MarshalJSON implements json.Marshaler.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.Any()) }

// Date layouts. Dates are in UTC unless they have a time zone.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006-01-02"}

// Lengths in bytes of the shortest and longest dates. Fractional seconds may have up to nine digits.
const (
	minDateBytes = len("2006-01-02")
	maxDateBytes = len("2006-01-02T15:04:05.999999999+07:00")
)

// Time returns the time of a text in RFC 3339 form ("2006-01-02T15:04:05+01:00"), or the first moment of a day
// ("2006-01-02"). If there is no time zone, it is in UTC. The result is false for all other values.
func (v Value) Time() (time.Time, bool) {
	s := v.text
	if len(s) < minDateBytes || len(s) > maxDateBytes || s[4] != '-' || s[7] != '-' || s[0] < '0' || s[0] > '9' {
		return time.Time{}, false
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil && !strings.Contains(s, ",") {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// base returns Text, Number or Bool.
func (v Value) base() Kind { return max(v.kind, Text) }

// same reports whether two values are equal (see Identity). Dates must also be written in the same way.
func (v Value) same(w Value) bool {
	return v.base() == w.base() && v.number == w.number && v.text == w.text
}

// compare orders two values of the same kind: Number, Text or Date.
func compare(kind Kind, a, b Value) int {
	switch kind {
	case Number:
		return cmp.Compare(a.number, b.number)
	case Date:
		s, _ := a.Time()
		t, _ := b.Time()
		return s.Compare(t)
	}
	return strings.Compare(a.text, b.text)
}

// Compare orders values: numbers first, then booleans, then texts, which include dates.
func Compare(a, b Value) int {
	rank := func(v Value) int { return map[Kind]int{Number: 0, Bool: 1, Text: 2}[v.base()] }
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.number, b.number), strings.Compare(a.text, b.text))
}
