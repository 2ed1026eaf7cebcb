package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// chatServer implements the OpenAI and Anthropic protocols. It plays the scenario named in the question.
type chatServer struct {
	*httptest.Server
	scenarios map[string]scenario
}

// scenario writes one response.
type scenario func(w *wire)

func newChatServer(t testing.TB, scenarios map[string]scenario) *chatServer {
	t.Helper()
	s := &chatServer{scenarios: scenarios}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.play(&wire{w: w, r: r}) })
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) { s.play(&wire{w: w, r: r, anthropic: true}) })
	s.Server = httptest.NewServer(mux)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// settings makes a program use this server as llm_3_5_turbo with OpenAI's protocol, and as llm_4 with Anthropic's.
func (s *chatServer) settings(more ...string) []string {
	return append([]string{
		"OPENAI_BASE_URL=" + s.URL + "/v1", "OPENAI_API_KEY=sk-of-the-server", "ANTHROPIC_BASE_URL=" + s.URL, "ANTHROPIC_API_KEY=sk-of-the-server",
		"SLUICE_CHAT_MODEL=openai:o", "SLUICE_MODEL_LLM_4=anthropic:a",
	}, more...)
}

func (s *chatServer) play(w *wire) {
	var body struct {
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.NewDecoder(w.r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		http.Error(w.w, "no messages", http.StatusBadRequest)
		return
	}
	question := string(body.Messages[len(body.Messages)-1].Content)
	for name, play := range s.scenarios {
		if strings.Contains(question, "<"+name+">") || strings.Contains(question, `\u003c`+name+`\u003e`) {
			play(w)
			return
		}
	}
	http.Error(w.w, "no such scenario: "+question, http.StatusTeapot)
}

// wire writes a response in the protocol used by the request.
type wire struct {
	w         http.ResponseWriter
	r         *http.Request
	anthropic bool
	begun     bool
}

// event writes an event unchanged.
func (w *wire) event(name, data string) {
	if w.anthropic {
		fmt.Fprintf(w.w, "event: %s\n", name)
	}
	fmt.Fprintf(w.w, "data: %s\n\n", data)
	_ = http.NewResponseController(w.w).Flush() // the next write notices a disconnected client
}

func (w *wire) begin() {
	if w.begun {
		return
	}
	w.begun = true
	w.w.Header().Set("Content-Type", "text/event-stream")
	if w.anthropic {
		w.event("message_start", `{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"a-1","usage":{"input_tokens":10,"output_tokens":1}}}`)
		w.event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		return
	}
	w.event("", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"o-1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`)
}

// text sends the next part of the answer's text.
func (w *wire) text(piece string) {
	w.begin()
	quoted, _ := json.Marshal(piece)
	if w.anthropic {
		w.event("content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":`+string(quoted)+`}}`)
		return
	}
	w.event("", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"o-1","choices":[{"index":0,"delta":{"content":`+string(quoted)+`},"finish_reason":null}]}`)
}

// end ends the answer with the protocol's finish reason.
func (w *wire) end(openai, anthropic string) {
	w.begin()
	if w.anthropic {
		w.event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"`+anthropic+`"},"usage":{"output_tokens":6}}`)
		w.event("message_stop", `{"type":"message_stop"}`)
		return
	}
	w.event("", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"o-1","choices":[{"index":0,"delta":{},"finish_reason":"`+openai+`"}]}`)
	w.event("", `{"id":"c","object":"chat.completion.chunk","created":1,"model":"o-1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":6,"total_tokens":16}}`)
	w.event("", "[DONE]")
}

// hang sends nothing until the client disconnects.
func (w *wire) hang() {
	_ = http.NewResponseController(w.w).Flush()
	select {
	case <-w.r.Context().Done():
	case <-time.After(time.Minute):
	}
}

func (w *wire) cut() { panic(http.ErrAbortHandler) }

// refuse responds with a status and an error in the protocol's format.
func (w *wire) refuse(status int, code, message string, headers ...string) {
	w.w.Header().Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		w.w.Header().Set(headers[i], headers[i+1])
	}
	w.w.WriteHeader(status)
	if w.anthropic {
		fmt.Fprintf(w.w, `{"type":"error","error":{"type":%q,"message":%q}}`, code, message)
		return
	}
	fmt.Fprintf(w.w, `{"error":{"code":%q,"message":%q,"type":"error","param":null}}`, code, message)
}

// page responds with an HTML page.
func (w *wire) page(status int) {
	w.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.w.WriteHeader(status)
	fmt.Fprint(w.w, "<!DOCTYPE html>\n<html><title>Bad gateway</title></html>")
}

// malformed sends an event that violates the protocol.
func (w *wire) malformed() {
	w.begin()
	w.event("content_block_delta", `{"type":"content_block_delta","choices":[{"delta":`)
}
