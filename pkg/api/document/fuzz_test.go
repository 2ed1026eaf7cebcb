package document

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

func FuzzArguments(f *testing.F) {
	check, err := Arguments(json.RawMessage(`{"type":"object","required":["query"],"additionalProperties":false,"properties":{
		"query":{"type":"string","minLength":1,"maxLength":20},"topK":{"type":"integer","minimum":1,"maximum":100},
		"list":{"type":"array","maxItems":3,"items":{"type":"string"}},
		"filters":{"type":"object","additionalProperties":false,"properties":{"metadata":{"type":"object","additionalProperties":{}}}}}}`))
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{`{"query":"a","topK":3.0}`, `{"query":null,"qeury":"a"}`, `[]`, `null`, ``, `{"query":"a","filters":{"metadata":{"a":[1,{}]}}}`, `{"topK":1e400}`, `{"query":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, arguments string) {
		out, err := check(json.RawMessage(arguments))
		if err != nil {
			if err.Error() == "" {
				t.Error("a fault without words")
			}
			return
		}
		var into struct {
			Query string   `json:"query"`
			TopK  int      `json:"topK"`
			List  []string `json:"list"`
		}
		if err := json.Unmarshal(out, &into); err != nil || into.Query == "" || into.TopK < 0 || into.TopK > 100 {
			t.Errorf("%q passed as %s: %+v, %v", arguments, out, into, err)
		}
	})
}

func FuzzTimes(f *testing.F) {
	for _, seed := range []string{"2026-05-04", "2026-05-04T12:00:00Z", "2026-05-04t12:00:00 02:00", "0000-01-01T00:00:00+23:59", "9999-12-31", "", " ", "2026-02-30"} {
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, through bool) {
		p := &openapi3.Parameter{Extensions: map[string]any{"x-through": through}}
		at, err := timeOf(p, text)
		if err != nil {
			return
		}
		back, err := time.Parse(time.RFC3339Nano, at.Format(time.RFC3339Nano)) // the format in which handlers receive the time
		if err != nil || !back.Equal(at) {
			t.Errorf("%q is read as %s, and handed on as %s: %v", text, at, back, err)
		}
	})
}
