package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// modelServer implements OpenAI's protocol. Its embeddings count letters, and its chat model "chatty" always gives the
// same answer.
type modelServer struct {
	*httptest.Server
	requests, texts atomic.Int64 // embedding requests and the texts in them
	delay           atomic.Int64 // how long an embedding request takes, in nanoseconds
	refuse          atomic.Bool  // whether to reject embedding requests permanently
	gate            sync.RWMutex // embedding requests wait while it is locked
}

func newModelServer(t testing.TB) *modelServer {
	t.Helper()
	m := &modelServer{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, r *http.Request) {
		var req struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		m.gate.RLock()
		m.gate.RUnlock() //nolint:staticcheck // to have passed is all that is wanted
		m.requests.Add(1)
		m.texts.Add(int64(len(req.Input)))
		if m.refuse.Load() {
			http.Error(w, `{"error":{"message":"refused: the model is not to be used"}}`, http.StatusBadRequest)
			return
		}
		if d := m.delay.Load(); d > 0 {
			timer := time.NewTimer(time.Duration(d))
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-r.Context().Done():
				return
			}
		}
		type item struct {
			Object    string    `json:"object"`
			Index     int       `json:"index"`
			Embedding []float64 `json:"embedding"`
		}
		data := make([]item, len(req.Input))
		for i, text := range req.Input {
			v := make([]float64, 26)
			for _, c := range strings.ToLower(text) {
				if c >= 'a' && c <= 'z' {
					v[c-'a']++
				}
			}
			v[0]++
			data[i] = item{"embedding", i, v}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": "letters", "usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1}})
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Model  string
			Stream bool
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Model != "chatty" {
			http.Error(w, `{"error":{"message":"no such model"}}`, http.StatusNotFound)
			return
		}
		pieces := []string{"Zeile \"eins\"\n", "\n  zwei 🐨 ", "日本語", " [", "1", "]."}
		if !req.Stream {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"id": "1", "object": "chat.completion", "model": "chatty", "choices": []any{
				map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": strings.Join(pieces, "")}},
			}, "usage": map[string]int{"prompt_tokens": 10, "completion_tokens": 6, "total_tokens": 16}})
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range pieces {
			chunk, _ := json.Marshal(map[string]any{"id": "1", "object": "chat.completion.chunk", "model": "chatty", "choices": []any{
				map[string]any{"index": 0, "delta": map[string]string{"content": piece}},
			}})
			fmt.Fprintf(w, "data: %s\n\n", chunk)
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","model":"chatty","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "\n\ndata: [DONE]\n\n")
	})
	m.Server = httptest.NewServer(mux)
	t.Cleanup(m.Close)
	return m
}
