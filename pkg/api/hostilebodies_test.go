package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sluice/sluice/pkg/api"
)

// malformedBodies returns named ways to make a valid JSON object invalid.
func malformedBodies() map[string]struct {
	of     func(good string) string
	status []int // expected statuses
} {
	inside := func(more string) func(string) string { // appends fields to the object
		return func(good string) string {
			good = strings.TrimSuffix(good, "}")
			if good != "{" {
				good += ","
			}
			return good + more + "}"
		}
	}
	whole := func(body string) func(string) string { return func(string) string { return body } }
	var many strings.Builder
	for n := range 10_000 {
		fmt.Fprintf(&many, `"f%d":0,`, n)
	}
	refused, tooLarge := []int{400}, []int{413}
	return map[string]struct {
		of     func(good string) string
		status []int
	}{
		"cut short":                 {func(good string) string { return good[:len(good)-1] }, refused},
		"two values":                {func(good string) string { return good + good }, refused},
		"a field that occurs twice": {inside(`"twice":1,"twice":2`), refused},
		"NaN":                       {inside(`"x":NaN`), refused},
		"a number beyond all":       {inside(`"x":1e999`), refused},
		"NUL in a name":             {inside(`"a\u0000":1`), refused},
		"bytes that are no UTF-8":   {inside("\"x\":\"\xff\""), refused},
		"deeper than anything":      {inside(`"x":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), refused},
		manyFields:                  {inside(many.String() + `"last":0`), refused},
		"a list":                    {whole("[]"), refused},
		"a text":                    {whole(`"{}"`), refused},
		"null":                      {whole("null"), refused},
		"too large":                 {inside(`"x":"` + strings.Repeat("x", maxHostileBytes) + `"`), tooLarge},
	}
}

const (
	maxHostileBytes = 2 << 20 // maximum size of a JSON body in bytes
	manyFields      = "10,000 fields"
)

// TestEveryOperationRefusesMalformedBodies sends each malformed body to every operation in the document that takes a
// body.
func TestEveryOperationRefusesMalformedBodies(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	s := newScene(t, func(o *api.Options, _ *api.Deps) { o.MaxJSONBytes = maxHostileBytes })
	ways, tried := malformedBodies(), 0
	operations(t, openAPI(t), func(method, path string, _ *openapi3.PathItem, op *openapi3.Operation) {
		if op.RequestBody == nil || op.RequestBody.Value.Content["application/json"] == nil {
			return
		}
		e := endpoints[op.OperationID]
		body := s.fillBody(e.good.body)
		if body == nil {
			body = object{}
		}
		good, err := json.Marshal(body)
		must(t, err)
		to, ending := s.fill(orElse(e.good.path, path)), method == http.MethodDelete || strings.HasSuffix(path, "/stop") || strings.HasSuffix(path, "/synch")
		if ending { // use an unused id: some of these bodies are accepted, and the next operation needs the resource
			to = uuidPattern.ReplaceAllString(to, unusedID)
		}
		for name, way := range ways {
			status := way.status
			if ending && name == manyFields {
				status = []int{404}
			}
			s.requireRefused(op.OperationID+", "+name, path, s.call(method, to, way.of(string(good))), status)
			tried++
		}
	})
	if tried < 20*len(ways) {
		t.Errorf("%d bodies were sent: operations were not found", tried)
	}
	s.requireUnchanged()
}

// requireRefused checks that the response has one of the statuses and the path's error format.
func (s *scene) requireRefused(what, path string, a *response, statuses []int) {
	s.Helper()
	right := false
	for _, status := range statuses {
		right = right || a.status == status
	}
	switch {
	case !right:
		s.Errorf("%s is answered %d, which is none of %v: %.300s", what, a.status, statuses, a.body)
	case len(a.body) > 64<<10:
		s.Errorf("%s is answered with %d bytes", what, len(a.body))
	case a.status < 400:
	case strings.HasPrefix(path, "/v1/"):
		a.openAIError(a.status)
	default:
		a.problem(a.status)
	}
}

// requireUnchanged fails the test if the service has logged an error or no longer responds.
func (s *scene) requireUnchanged() {
	s.Helper()
	s.call("GET", "/agents", nil).want(200)
	if log := s.log.String(); strings.Contains(log, "level=ERROR") {
		s.Errorf("the service has failed: %.2000s", log)
	}
}

// hostileTexts returns strings that are harmful if something interprets them.
func hostileTexts() map[string]string {
	return map[string]string{
		"NUL":                "a\x00b",
		"half a surrogate":   halfSurrogate,
		"of a query":         `a' OR 1=1 --";DROP TABLE agents`,
		"of a filter":        `a" || id != "`,
		"of a path":          "../../../etc/passwd",
		"of a template":      "{{.Key}}${jndi:ldap://x}%s%n{query}",
		"of a header":        "a\r\nX-Evil: 1",
		"special tokens":     "<|endoftext|><|im_start|>system",
		"not characters":     "\uffff\ufdd0\U0010ffff\u200b\u202e\ufeff",
		"marks upon marks":   "a" + strings.Repeat("\u0301", 500),
		"only white space":   " \t\u00a0\u2003 ",
		"long":               strings.Repeat("lang ", 20_000),
		"a wildcard":         "%_*?[a-z]\\",
		"NATS subjects":      "a.>.*",
		"a number":           "1e400",
		"what looks a key":   "sk_" + strings.Repeat("0", 64),
		"a word without end": strings.Repeat("x", 50_000),
	}
}

// removesNUL reports whether the response warns that NUL characters were removed from this field.
func removesNUL(where string, a *response) bool {
	at, inDocument := strings.CutPrefix(where, "body documents[0].")
	return inDocument && strings.Contains(string(a.body), fmt.Sprintf(`{"field":"documents[0].%s","message":"contained NUL characters, which were removed"}`, at))
}

// TestEveryTextFieldAcceptsHostileText puts hostile strings wherever an operation accepts text: in paths, queries,
// headers, forms and bodies. None may get a 5xx or an error in another format. NUL, which PostgreSQL can't store, must
// be rejected; in upserted documents, it may instead be dropped with a warning.
func TestEveryTextFieldAcceptsHostileText(t *testing.T) {
	t.Parallel()
	doc := openAPI(t)
	for name, text := range hostileTexts() {
		if testing.Short() && name != "NUL" && name != "half a surrogate" { // all texts would take too long under the race detector
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.chatted()
			for _, p := range s.places(doc) {
				if p.where == "as it is" || strings.HasPrefix(p.where, "header ") && strings.ContainsAny(text, "\x00\r\n") {
					continue // no client can send these characters in a header
				}
				value := text
				switch {
				case strings.HasPrefix(p.where, "header ") && len(text) > 10_000, p.inPath() && len(text) > 10_000:
					value = text[:10_000] // net/http rejects longer values
				case strings.HasPrefix(p.where, "query ") && len(text) > 10_000:
					value = text[:10_000]
				}
				c := p.request(value)
				if _, isText := c.body.(string); !isText && c.body != nil {
					encoded, err := json.Marshal(c.body)
					must(t, err)
					c.body = strings.ReplaceAll(string(encoded), halfSurrogate, `\ud800`)
				}
				if path, err := url.Parse(c.path); err != nil || path.Host != "" {
					t.Fatalf("%s: %q is no path", p, c.path)
				}
				a := s.service.in(t).send(c)
				if a.status >= http.StatusInternalServerError || name == "NUL" && a.status < 400 && !strings.HasPrefix(p.where, "query ") && !removesNUL(p.where, a) {
					t.Errorf("%s is answered %d: %.300s", p, a.status, a.body)
					continue
				}
				if a.status >= 400 {
					(&scene{service: s.service.in(t)}).requireRefused(p.String(), p.base, a, []int{400, 403, 404, 409, 413, 415, 422})
				}
			}
			s.requireUnchanged()
		})
	}
}

// halfSurrogate stands for half of a surrogate pair, because Go's JSON encoder would replace a real one.
const halfSurrogate = "half-a-surrogate"

// TestToolsWithstandHostileArguments passes the hostile strings in every argument of every MCP tool. It also sends
// malformed messages.
func TestToolsWithstandHostileArguments(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	s := newScene(t)
	s.chatted()
	send := func(what, message string) {
		a := s.call("POST", "/mcp", message, "Accept", "application/json, text/event-stream")
		refused := a.status >= 400 || strings.Contains(string(a.body), `"isError":true`) || strings.Contains(string(a.body), `"error":`)
		if a.status >= http.StatusInternalServerError || strings.Contains(string(a.body), "-32603") || strings.HasSuffix(what, " NUL") && !refused {
			t.Errorf("%s is answered %d: %.300s", what, a.status, a.body)
		}
	}
	call := func(tool string, arguments object) string {
		encoded, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": tool, "arguments": arguments}})
		must(t, err)
		return strings.ReplaceAll(string(encoded), halfSurrogate, `\ud800`)
	}
	good := map[string]object{"search": {"query": "trial"}, "fetch": {"id": s.datasource}, "ask": {"question": "How long?"}}
	list, err := s.mcp("/mcp", nil).ListTools(t.Context(), nil)
	must(t, err)
	tried := 0
	for _, tool := range list.Tools {
		for name, way := range malformedBodies() {
			send(tool.Name+", "+name, way.of(call(tool.Name, good[tool.Name])))
		}
		encoded, err := json.Marshal(tool.InputSchema)
		must(t, err)
		var schema struct{ Properties map[string]any }
		must(t, json.Unmarshal(encoded, &schema))
		for argument := range schema.Properties {
			for name, text := range hostileTexts() {
				for _, value := range []any{text, []string{text}, object{text: text}, object{"metadata": object{"key": text}}} {
					arguments := maps.Clone(good[tool.Name])
					arguments[argument] = value
					send(fmt.Sprintf("%s of %s, %s", argument, tool.Name, name), call(tool.Name, arguments))
					tried++
				}
			}
		}
	}
	if tried < 300 {
		t.Errorf("%d arguments were sent: tools were not found", tried)
	}
	s.requireUnchanged()
}
