package jsonbody

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzParseJSON checks that text accepted without a fault has the same value in encoding/json.
func FuzzParseJSON(f *testing.F) {
	for _, body := range []string{`{"a":[1,2.5e3,"x",null,true,{}]}`, `{"a":1,"a":2}`, `"\ud800"`, "[", `{"a":1e999}`, "\ufeff[]", `{"":{"":[]}}`, "\xff"} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, faults := Parse(body)
		for _, fault := range faults {
			if fault.Field == "" || fault.Message == "" {
				t.Errorf("an empty fault: %+v", fault)
			}
		}
		if len(faults) > 0 {
			return
		}
		var want any
		if len(body) > 3 && string(body[:3]) == "\ufeff" {
			body = body[3:]
		}
		if err := json.Unmarshal(body, &want); err != nil {
			t.Fatalf("accepted what is not JSON: %v", err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%#v, want %#v", got, want)
		}
	})
}
