package jsonbody

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
)

// Object reads the fields of a JSON object that has no schema. It collects a fault for each field with a wrong type or
// a disallowed value. A null field counts as missing.
type Object struct {
	fields map[string]any
	path   string
	faults *[]domain.FieldError
}

// NewObject returns an Object that reads `fields`, a JSON object returned by Parse. `path` is the object's path in the
// body.
func NewObject(fields map[string]any, path string) Object {
	return Object{fields: fields, path: path, faults: new([]domain.FieldError)}
}

// Faults returns the faults found so far, including those in nested objects.
func (o Object) Faults() []domain.FieldError { return *o.faults }

// Fault adds a fault for the field `name`, or for the object itself if the name is empty.
func (o Object) Fault(name, format string, args ...any) {
	path := o.path
	if name != "" {
		path = Join(path, name)
	}
	*o.faults = append(*o.faults, domain.FieldError{Field: FieldName(path), Message: fmt.Sprintf(format, args...)})
}

// Has reports whether the field is present and not null.
func (o Object) Has(name string) bool { return o.fields[name] != nil }

// Value returns the field's value, or nil if it is missing.
func (o Object) Value(name string) any { return o.fields[name] }

// Fields returns all fields.
func (o Object) Fields() map[string]any { return o.fields }

// Names returns the names of all fields, sorted.
func (o Object) Names() []string { return slices.Sorted(maps.Keys(o.fields)) }

// wrong returns true if the caller can't use the field's value. It adds a fault if the field is present but `ok` is
// false; `want` describes a valid value.
func (o Object) wrong(name string, ok bool, want string) bool {
	if !ok && o.Has(name) {
		o.Fault(name, "is %s; it must be %s", Describe(o.fields[name]), want)
	}
	return !ok
}

// Text returns a string field's value, or nil if the field is missing or has a fault, such as exceeding `limit` bytes.
func (o Object) Text(name string, limit int) *string {
	text, ok := o.fields[name].(string)
	if o.wrong(name, ok, "a string") {
		return nil
	}
	if len(text) > limit {
		o.Fault(name, "has %d bytes; the limit is %d", len(text), limit)
		return nil
	}
	return &text
}

// OneOf returns a string field's value, which must be one of the allowed values. If the field is missing, OneOf returns
// the first allowed value.
func (o Object) OneOf(name string, allowed ...string) string {
	text, ok := o.fields[name].(string)
	if o.wrong(name, ok && slices.Contains(allowed, text), "one of: "+strings.Join(allowed, ", ")) {
		return allowed[0]
	}
	return text
}

// Bool returns a boolean field's value, or `missing` if the field is missing.
func (o Object) Bool(name string, missing bool) bool {
	value, ok := o.fields[name].(bool)
	if o.wrong(name, ok, "true or false") {
		return missing
	}
	return value
}

// Number returns a number field's value, or nil if the field is missing or isn't a number from `low` to `high`.
func (o Object) Number(name string, low, high float64) *float64 {
	value, ok := o.fields[name].(float64)
	if o.wrong(name, ok && value >= low && value <= high, fmt.Sprintf("a number between %s and %s", decimal(low), decimal(high))) {
		return nil
	}
	return &value
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Int returns an integer field's value, or nil if the field is missing or isn't an integer from `low` to `high`.
func (o Object) Int(name string, low, high int) *int {
	value, ok := o.fields[name].(float64)
	ok = ok && value == math.Trunc(value) && value >= float64(low) && value <= float64(high)
	if o.wrong(name, ok, fmt.Sprintf("a whole number between %d and %d", low, high)) {
		return nil
	}
	return new(int(value))
}

// List returns an array field's value, or nil if the field is missing or has a fault, such as more than `limit` items.
func (o Object) List(name string, limit int) []any {
	list, ok := o.fields[name].([]any)
	if o.wrong(name, ok, "an array") {
		return nil
	}
	if len(list) > limit {
		o.Fault(name, "has %d items; the limit is %d", len(list), limit)
		return nil
	}
	return list
}

// Strings returns the strings in an array field with at most `limit` items. It adds a fault for each item that is not a
// string.
func (o Object) Strings(name string, limit int) []string {
	var texts []string
	for i, item := range o.List(name, limit) {
		text, isText := item.(string)
		if !isText {
			o.Fault(fmt.Sprintf("%s[%d]", name, i), "is %s; it must be a string", Describe(item))
			continue
		}
		texts = append(texts, text)
	}
	return texts
}

// Object returns an object field's value. If the field is missing or has a fault, `ok` is false and the object is
// empty.
func (o Object) Object(name string) (inner Object, ok bool) {
	fields, ok := o.fields[name].(map[string]any)
	o.wrong(name, ok, "an object")
	return Object{fields: fields, path: Join(o.path, name), faults: o.faults}, ok
}

// Objects returns the objects in an array field with at most `limit` items. It adds a fault for each item that is not
// an object.
func (o Object) Objects(name string, limit int) []Object {
	var objects []Object
	for i, item := range o.List(name, limit) {
		at := fmt.Sprintf("%s[%d]", name, i)
		fields, isObject := item.(map[string]any)
		if !isObject {
			o.Fault(at, "is %s; it must be an object", Describe(item))
			continue
		}
		path := at
		if o.path != "" {
			path = o.path + "." + at
		}
		objects = append(objects, Object{fields: fields, path: path, faults: o.faults})
	}
	return objects
}
