package filter

import (
	"errors"
	"fmt"
)

// Error means that a filter can't be evaluated on a datastore's content: a key has values of the wrong type or of
// several types, or the content was indexed without data that a condition needs.
type Error struct {
	Key     string // the condition's key
	Message string // for users; names the key and the remedy
	Stale   bool   // content must be re-indexed
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// AsError returns the Error in err's chain, or nil.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Refuses returns the kinds of values that the condition can't compare, so its key must not have any of them. Only
// ordered comparisons distinguish dates from other texts.
func (f *Filter) Refuses() Kind {
	if len(f.Values) == 0 || f.Op == Exists {
		return 0
	}
	switch want := f.Values[0]; {
	case f.Op.Ordered():
		return Any &^ want.Kind()
	case want.base() != Text:
		return Any &^ want.base()
	}
	return Number | Bool
}

// Conflict returns an Error if the condition can't compare the kinds of values that its key has.
func (f *Filter) Conflict(have Kind) error {
	if have&f.Refuses() == 0 {
		return nil
	}
	kinds := have
	if !f.Op.Ordered() && have&Date != 0 { // a date is just a text here
		kinds = have&^Date | Text
	}
	if !kinds.single() {
		return &Error{Key: f.Key, Message: fmt.Sprintf(
			"the key %q has values of several types in this datastore (%s), so %s cannot compare them; use values of a single type for this key, or filter with exists",
			Shorten(f.Key), kinds, f.Op)}
	}
	return &Error{Key: f.Key, Message: fmt.Sprintf("the key %q has %s in this datastore, but the filter's %s condition compares it with %s; use %s",
		Shorten(f.Key), kinds, f.Op, f.compared(), advice[kinds])}
}

// compared describes the condition's value.
func (f *Filter) compared() string {
	want := f.Values[0]
	name := map[Kind]string{Text: "the text ", Number: "the number ", Date: "the date "}[want.Kind()]
	return name + Describe(want.Any())
}

var advice = map[Kind]string{
	Text:   `a text such as "docs"`,
	Number: "a number such as 2026, without quotation marks",
	Bool:   "true or false, with eq or ne",
	Date:   `a date such as "2026-01-31" or "2026-01-31T08:00:00+01:00"`,
}

// Stale returns the Error for a filter on data that an earlier version didn't index, which requires re-indexing.
func Stale(key, datastoreID string) error {
	what := "a condition of this type"
	if IsProperty(key) {
		what = "a property of datasources"
	}
	return &Error{Key: key, Stale: true, Message: fmt.Sprintf(
		"the filter uses %s on the key %q, but some content does not support this: it was indexed by an earlier version, or its metadata has too many values; re-index it: sluice replay --datastore %s",
		what, Shorten(key), datastoreID)}
}
