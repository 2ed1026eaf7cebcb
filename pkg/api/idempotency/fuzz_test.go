package idempotency

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/api/transfer"
)

// FuzzFingerprint checks the fingerprints that tie idempotency keys to requests. A request's fingerprint must be the
// same under both base paths. It must differ from that of any request with another path, query or body.
func FuzzFingerprint(f *testing.F) {
	f.Add("agents", "", `{"name":"a"}`, "datastores", "", `{"name":"a"}`)
	f.Add("agents", "explain=true", "{}", "agents", "", "explain=true{}")
	f.Add("a?b", "c", "", "a", "b?c", "")
	f.Add("api/agents", "", "x", "agents", "", "x")
	f.Fuzz(func(t *testing.T, path, query, body, path2, query2, body2 string) {
		of := func(base, path, query, body string) string {
			r := httptest.NewRequest(http.MethodPost, "/", nil)
			r.URL.Path, r.URL.RawQuery = base+"/"+path, query
			r.Body = &transfer.Checked{Reader: strings.NewReader(body), Raw: []byte(body)}
			return fingerprint(r)
		}
		for _, p := range []string{path, path2} {
			if strings.HasPrefix(p, "api") || strings.ContainsAny(p, "?\n") { // no operation has such a path
				return
			}
		}
		if strings.Contains(query+query2, "\n") { // validated queries contain no line breaks
			return
		}
		first := of("", path, query, body)
		if under := of("/api", path, query, body); under != first {
			t.Errorf("the bases make a difference: %s, %s", first, under)
		}
		same := path == path2 && query == query2 && body == body2
		if other := of("", path2, query2, body2); (other == first) != same {
			encoded, _ := json.Marshal([]string{path, query, body, path2, query2, body2})
			t.Errorf("%s: equal %v, want %v", encoded, other == first, same)
		}
	})
}
