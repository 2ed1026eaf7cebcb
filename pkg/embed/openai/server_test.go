package openai

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type wireRequest struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions"`
}

// server is an embedding server that implements the real protocol. The direction of a text's vector depends on the
// text's length in bytes.
type server struct {
	*httptest.Server
	// answer handles the n-th request, from 1. If it returns false, the server responds normally.
	answer func(n int, w http.ResponseWriter, r *http.Request, body wireRequest) bool

	mu       sync.Mutex
	requests []wireRequest
	headers  []http.Header
}

func newServer(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request, body wireRequest) bool) *server {
	t.Helper()
	s := &server{answer: answer}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body wireRequest
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.URL.Path != "/v1/embeddings" || r.Method != http.MethodPost {
		http.Error(w, "not an embeddings request", http.StatusTeapot)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, body)
	s.headers = append(s.headers, r.Header.Clone())
	n := len(s.requests)
	s.mu.Unlock()
	if s.answer != nil && s.answer(n, w, r, body) {
		return
	}
	writeVectors(w, body)
}

func (s *server) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

func (s *server) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, request := range s.requests {
		all = append(all, request.Input...)
	}
	return all
}

// vectorOf returns a text's vector. The vector isn't of unit length, so that tests detect a client that does not
// normalise it.
func vectorOf(text string) []float32 {
	return []float32{3 * float32(math.Cos(float64(len(text)))), 3 * float32(math.Sin(float64(len(text)))), 0}
}

// writeVectors responds like OpenAI but in reverse order, so that tests detect a client that ignores the index.
func writeVectors(w http.ResponseWriter, body wireRequest) {
	data := make([]map[string]any, 0, len(body.Input))
	for i := len(body.Input) - 1; i >= 0; i-- {
		var embedding any = vectorOf(body.Input[i])
		if body.EncodingFormat == "base64" {
			raw, err := binary.Append(nil, binary.LittleEndian, embedding)
			if err != nil {
				panic(err)
			}
			embedding = base64.StdEncoding.EncodeToString(raw)
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": embedding})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": body.Model,
		"usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1}})
}

// refuse responds with an error in OpenAI's format.
func refuse(w http.ResponseWriter, status int, message string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"message": message, "type": "invalid_request_error", "param": nil, "code": nil}})
	return true
}

// pauses records the pauses between attempts instead of waiting.
type pauses struct {
	mu   sync.Mutex
	list []time.Duration
}

func (p *pauses) pause(ctx context.Context, d time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, d)
	return ctx.Err()
}

// newEmbedder returns an embedder for the server. Instead of pausing between attempts, it records the pauses.
func newEmbedder(t *testing.T, s *server, change func(*Config)) (*Embedder, *pauses) {
	t.Helper()
	transport := http.DefaultTransport.(*http.Transport).Clone()
	t.Cleanup(transport.CloseIdleConnections)
	config := Config{BaseURL: s.URL + "/v1", APIKey: "sk-very-secret", Model: "test-model",
		HTTPClient: &http.Client{Transport: transport}}
	if change != nil {
		change(&config)
	}
	e, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	recorded := new(pauses)
	e.pause = recorded.pause
	return e, recorded
}

func repeat(text string, n int) []string {
	return strings.Split(strings.TrimSuffix(strings.Repeat(text+"\n", n), "\n"), "\n")
}
