package api_test

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

func TestAnEncodedBodyIsRefused(t *testing.T) {
	t.Parallel()
	s := newService(t)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write([]byte(`{"name": "Handbooks"}`))
	must(t, err)
	must(t, w.Close())
	upload, contentType := form(part{name: "datastoreId", text: s.newDatastore()}, part{"file", "note.txt", "x"})
	for name, a := range map[string]*response{
		"gzip":               s.call("POST", "/datastores", zipped.String(), "Content-Encoding", "gzip"),
		"behind identity":    s.call("POST", "/datastores", zipped.String(), "Content-Encoding", "identity, GZIP"),
		"an upload":          s.call("POST", "/datasources", upload, "Content-Type", contentType, "Content-Encoding", "gzip"),
		"what is not zipped": s.call("POST", "/datastores", `{"name": "Handbooks"}`, "Content-Encoding", "gzip"),
	} {
		if p := a.problem(415); p.Error != "UNSUPPORTED_TYPE" || !strings.Contains(strings.ToLower(p.Detail), `the content-encoding "gzip"`) || !strings.Contains(p.Detail, "send the body unencoded") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	ping := s.call("POST", "/mcp", zipped.String(), "Accept", "application/json, text/event-stream", "Content-Encoding", "gzip")
	if ping.want(415); !strings.Contains(string(ping.body), "send the body unencoded") || !strings.Contains(string(ping.body), "-32600") {
		t.Errorf("a message: %s", ping.body)
	}
	if got := s.call("POST", "/v1/chat/completions", zipped.String(), "Content-Encoding", "gzip").openAIError(415); got.Type != "invalid_request_error" {
		t.Errorf("a chat: %+v", got)
	}
	s.call("POST", "/datastores", `{"name": "Handbooks"}`, "Content-Encoding", "Identity").want(201)
	s.call("GET", "/datastores", nil, "Content-Encoding", "gzip").want(200) // allowed because the request has no body
}
