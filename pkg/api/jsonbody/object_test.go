package jsonbody

import (
	"strings"
	"testing"
)

func TestObjectsReportFaultsWithPathAndValue(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{}`: "", `{"text":null,"list":null,"object":null}`: "",
		`{"text":5}`:                    "text: is 5; it must be a string",
		`{"text":"12345678901"}`:        "text: has 11 bytes; the limit is 10",
		`{"kind":"c"}`:                  `kind: is "c"; it must be one of: a, b`,
		`{"flag":"yes"}`:                `flag: is "yes"; it must be true or false`,
		`{"number":2.5}`:                "number: is 2.5; it must be a number between 0 and 2",
		`{"int":1.5}`:                   "int: is 1.5; it must be a whole number between 1 and 9",
		`{"int":10}`:                    "int: is 10; it must be a whole number between 1 and 9",
		`{"list":"a"}`:                  `list: is "a"; it must be an array`,
		`{"list":["a",1]}`:              "list[1]: is 1; it must be a string",
		`{"list":["a","b","c"]}`:        "list: has 3 items; the limit is 2",
		`{"object":[]}`:                 "object: is an array; it must be an object",
		`{"object":{"inner":1}}`:        "object.inner: is 1; it must be a string",
		`{"objects":[{"inner":1},"x"]}`: `objects[1]: is "x"; it must be an object; objects[0].inner: is 1; it must be a string`,
	} {
		value, faults := Parse([]byte(body))
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		o := NewObject(value.(map[string]any), "")
		o.Text("text", 10)
		o.OneOf("kind", "a", "b")
		o.Bool("flag", false)
		o.Number("number", 0, 2)
		o.Int("int", 1, 9)
		o.Strings("list", 2)
		if inner, ok := o.Object("object"); ok {
			inner.Text("inner", 10)
		}
		for _, each := range o.Objects("objects", 2) {
			each.Text("inner", 10)
		}
		var said []string
		for _, f := range o.Faults() {
			said = append(said, f.Field+": "+f.Message)
		}
		if got := strings.Join(said, "; "); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

func TestObjectsReadValues(t *testing.T) {
	t.Parallel()
	value, _ := Parse([]byte(`{"text":"a","kind":"b","flag":true,"number":1.5,"int":3,"list":["x","y"]}`))
	o := NewObject(value.(map[string]any), "")
	if *o.Text("text", 10) != "a" || o.OneOf("kind", "a", "b") != "b" || !o.Bool("flag", false) || *o.Number("number", 0, 2) != 1.5 ||
		*o.Int("int", 1, 9) != 3 || strings.Join(o.Strings("list", 2), "") != "xy" || o.OneOf("missing", "a", "b") != "a" || !o.Bool("missing", true) {
		t.Errorf("%v", o.Fields())
	}
	if names := strings.Join(o.Names(), " "); names != "flag int kind list number text" || o.Has("missing") || o.Value("text") != "a" || len(o.Faults()) > 0 {
		t.Errorf("%s, %v", names, o.Faults())
	}
}
