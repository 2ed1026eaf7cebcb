package app

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestTheKeyOfTheOperatorIsNotDisclosed uses keys without a recognisable format and sends them in every part of a
// request where they don't belong. They must not appear in any response or log line.
func TestTheKeyOfTheOperatorIsNotDisclosed(t *testing.T) {
	t.Parallel()
	const key, admin, model = "correct-horse-battery-staple", "another-secret-of-the-operator", "a-key-of-the-model-server"
	p := newProgram(t, "SLUICE_API_KEY="+key, "SLUICE_ADMIN_KEY="+admin, "SLUICE_LOG_LEVEL=debug", "OPENAI_BASE_URL=http://127.0.0.1:1/v1", "OPENAI_API_KEY="+model)
	p.start()
	ask := func(method, path, body string, header http.Header) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.addr+path, strings.NewReader(body))
		p.must(err)
		req.Header = header
		res, err := http.DefaultClient.Do(req)
		p.must(err)
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		p.must(err)
		for name, values := range res.Header {
			answer = append(answer, name+": "+strings.Join(values, ", ")...)
		}
		for _, secret := range []string{key, admin, model} {
			if strings.Contains(string(answer), secret) {
				t.Errorf("%s %s shows %s: %s", method, path, secret, answer)
			}
		}
	}
	with := func(name, value string) http.Header {
		h := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + key}}
		h.Set(name, value)
		return h
	}
	for _, secret := range []string{key, admin, model} {
		ask("GET", "/agents/"+secret, "", with("X-Request-Id", secret))
		ask("GET", "/"+secret, "", with("Authorization", "Bearer "+secret+"x"))
		ask("GET", "/datasources?status="+secret+"&"+secret+"=1", "", with("Authorization", "Basic "+secret))
		ask("POST", "/datastores/"+secret+"/query", `{"query":"`+secret+`","`+secret+`":1}`, with("Content-Encoding", secret))
		ask("POST", "/agents", `{"name":"a","datastoreIds":["`+secret+`"],"temperature":"`+secret+`"}`, with("Idempotency-Key", secret))
		ask("POST", "/v1/chat/completions", `{"model":"`+secret+`","messages":[{"role":"user","content":"x"}]}`, with("Authorization", "Bearer "+secret))
		ask(strings.ToUpper(secret), "/agents", "", with("Origin", "https://"+secret+".example"))
	}
	p.must(p.terminate())
	for _, secret := range []string{key, admin, model} {
		if log := p.stderr.String(); strings.Contains(log, secret) {
			t.Errorf("the log has %s: %s", secret, log[strings.Index(log, secret)-min(300, strings.Index(log, secret)):][:400])
		}
	}
}
