package api

import (
	"strings"
	"testing"

	"github.com/oapi-codegen/runtime"

	"github.com/sluice/sluice/pkg/api/document"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/domain"
)

// FuzzChat parses arbitrary bodies as chat completions. Each body must either contain a question or be rejected with an
// error that names a field.
func FuzzChat(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","messages":[{"role":"user","content":"q"}]}`,
		`{"model":"m","stream":true,"messages":[{"role":"system","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"text","text":"q"}]}],"stream_options":{"include_usage":true}}`,
		`{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[]},{"role":"user","content":[]}],"tools":[{}],"n":3,"stop":["x"],"temperature":2}`,
		`{"messages":7,"model":[],"response_format":"x","modalities":{},"logit_bias":[1],"conversationId":"x","filters":{"metadata":{"a":null}}}`,
		`{"model":"m","messages":[null,[],{"role":1,"content":{"a":1}},{"role":"developer"},{"role":"user","content":[[],{"type":1},{"type":"image_url"}]}]}`,
	} {
		f.Add([]byte(body))
	}
	opts := Options{MaxQueryChars: 50}.withDefaults()
	doc, err := document.Load(openAPI, opts.documented())
	if err != nil {
		f.Fatal(err)
	}
	op, s := doc.Operation("POST", "/v1/chat/completions"), &server{options: opts}
	f.Fuzz(func(t *testing.T, body []byte) {
		value, faults := jsonbody.Parse(body)
		if value != nil {
			faults = append(faults, op.CheckBody(value)...)
		}
		for _, fault := range faults {
			if fault.Field == "" || fault.Message == "" {
				t.Errorf("an empty fault: %+v", fault)
			}
		}
		if len(faults) > 0 || value == nil {
			return
		}
		var request ChatRequest
		if err := runtime.BindJSONValue(value, &request); err != nil {
			t.Fatalf("a valid body cannot be decoded: %v", err)
		}
		c, err := s.readChat(request.Messages)
		if err != nil {
			if domain.CodeOf(err) != domain.CodeInvalid {
				t.Errorf("refused with %v", err)
			}
			return
		}
		q := chatQuery(request, c.question)
		if strings.TrimSpace(q.Query) == "" || q.Temperature != nil && *q.Temperature > 1 {
			t.Errorf("the query is %+v", q)
		}
		for _, m := range c.before {
			if strings.TrimSpace(m.Text) == "" || m.Role != domain.RoleUser && m.Role != domain.RoleAssistant {
				t.Errorf("the message is %+v", m)
			}
		}
	})
}
