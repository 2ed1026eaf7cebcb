package api_test

import (
	"strings"
	"testing"
)

func TestExtraSlashesInAPathAreIgnored(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent, store := s.newAgent(), s.newDatastore()
	for _, path := range []string{
		"//agents", "/api//agents", "//api/agents/", "/agents//" + agent, "/agents/" + agent + "//", "/v1//models", "//v1/models", "/api//v1//models/" + agent,
		"/%61gents/" + agent, "//healthz", "/docs//api", "//",
	} {
		s.call("GET", path, nil).want(200)
		s.call("HEAD", path, nil).want(200)
	}
	question := object{"model": agent, "messages": []any{says("user", "q")}}
	for _, path := range []string{"/v1//chat/completions", "//v1/chat/completions", "/api/v1//chat//completions/"} {
		s.call("POST", path, question).want(200)
	}
	for _, path := range []string{"//agents/" + agent + "/query", "/agents//query//" + agent, "/datastores//" + store + "//query", "/datastores//query/" + store} {
		s.call("POST", path, object{"query": "q"}).want(200)
	}
	s.call("POST", "//datastores/upsert//"+store, object{"documents": []any{object{"text": "The pump is blue."}}}).want(200)
	s.call("POST", "//mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "Accept", "application/json, text/event-stream").want(200)
	s.call("DELETE", "//agents//"+agent, nil).want(200)
}

func TestAPathWithoutAnIDMatchesNoOtherEndpoint(t *testing.T) {
	t.Parallel()
	s := newService(t)
	for path, method := range map[string]string{
		"/agents//": "DELETE", "/datastores//query": "POST", "/agents//query": "POST", "/datasources//resync": "POST", "/keys//limits": "PUT",
		"/conversations//": "DELETE", "/datastores//resync": "POST", "/datastores/upsert//": "POST",
	} {
		a := s.call(method, path, object{})
		if a.status != 404 && a.status != 405 {
			t.Errorf("%s %s: %d %s", method, path, a.status, a.body)
		}
	}
	// Errors for unknown paths have the format expected by the path's clients.
	if got := s.call("POST", "//v1//images", object{}).openAIError(404); got.Code != "not_found" || !strings.Contains(got.Message, "/v1/images") {
		t.Errorf("got %+v", got)
	}
}
