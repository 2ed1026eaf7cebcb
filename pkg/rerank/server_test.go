package rerank

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server supports all wire formats and rejects whatever the real servers would reject. A text's score is the number it
// starts with.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []request
	// If `before` is set, it is called first for each request, and returns true if it has handled the request. `count` is
	// the request's number, starting at 1.
	before func(w http.ResponseWriter, r *http.Request, count int) bool
}

type request struct {
	path, key string
	body      map[string]any
}

func newServer(t *testing.T, paths ...string) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		req := request{path: r.URL.Path, key: r.Header.Get("Authorization"), body: map[string]any{}}
		if err := json.Unmarshal(raw, &req.body); err != nil || r.Method != http.MethodPost {
			t.Errorf("%s %s: %v", r.Method, raw, err)
		}
		s.mu.Lock()
		s.requests = append(s.requests, req)
		count := len(s.requests)
		s.mu.Unlock()
		if s.before != nil && s.before(w, r, count) {
			return
		}
		for _, p := range paths {
			if p == r.URL.Path {
				s.answer(w, req)
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) answer(w http.ResponseWriter, r request) {
	w.Header().Set("Content-Type", "application/json")
	refuse := func(status int, body string) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
	switch r.path {
	case "/rerank": // TEI
		texts, ok := r.body["texts"].([]any)
		switch {
		case !ok:
			refuse(422, "Failed to deserialize the JSON body into the target type: missing field `texts`")
			return
		case len(texts) > 32:
			refuse(413, fmt.Sprintf(`{"error":"batch size %d > maximum allowed batch size 32","error_type":"Validation"}`, len(texts)))
			return
		case r.body["truncate"] != true:
			refuse(413, `{"error":"inputs must have less than 512 tokens","error_type":"Validation"}`)
			return
		}
		out := []map[string]any{}
		for i, text := range texts {
			out = append(out, map[string]any{"index": i, "score": number(text)})
		}
		_ = json.NewEncoder(w).Encode(out)
	default: // Cohere, Jina
		documents, ok := r.body["documents"].([]any)
		_, returns := r.body["return_documents"]
		if !ok || r.path == "/v2/rerank" && returns || r.path == "/v1/rerank" && r.body["return_documents"] != false {
			refuse(422, `{"message":"invalid request: unknown or missing field"}`)
			return
		}
		results := []map[string]any{}
		for i := len(documents) - 1; i >= 0; i-- {
			results = append(results, map[string]any{"index": i, "relevance_score": number(documents[i])})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "x", "results": results, "meta": map[string]any{"api_version": map[string]any{"version": "2"}}})
	}
}

// number returns the number at the start of a text.
func number(text any) float64 {
	var n float64
	_, _ = fmt.Sscan(strings.Fields(text.(string) + " 0")[0], &n)
	return n
}

// client returns a client for the server that records waits between attempts instead of waiting.
func (s *server) client(t *testing.T, path string, adjust ...func(*Config)) (*Client, *[]time.Duration) {
	t.Helper()
	config := Config{URL: s.URL + path, APIKey: "sesame", Model: "cross", Transport: &http.Transport{}}
	for _, f := range adjust {
		f(&config)
	}
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	var pauses []time.Duration
	c.wait = func(ctx context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return ctx.Err()
	}
	return c, &pauses
}
