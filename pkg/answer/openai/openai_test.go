package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/remote"
	"github.com/sluice/sluice/pkg/domain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "sk-very-secret-key"

// server answers each request with the next step, repeating the last one, and records the bodies.
type server struct {
	mu     sync.Mutex
	bodies []map[string]any
	auth   []string
	steps  []http.HandlerFunc
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	s.mu.Lock()
	step := s.steps[min(len(s.bodies), len(s.steps)-1)]
	s.bodies = append(s.bodies, body)
	s.auth = append(s.auth, r.Header.Get("Authorization"))
	s.mu.Unlock()
	if r.URL.Path != "/v1/chat/completions" {
		http.Error(w, "wrong path "+r.URL.Path, http.StatusTeapot)
		return
	}
	step(w, r)
}

// requests returns a copy of the bodies, because a handler may still be running after its client has given up.
func (s *server) requests() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

// started starts a server with these steps and returns it with a provider and the recorded pauses between requests.
func started(t *testing.T, mod func(*Options), steps ...http.HandlerFunc) (*Provider, *server, *[]time.Duration) {
	t.Helper()
	s := &server{steps: steps}
	srv := httptest.NewServer(s)
	client := srv.Client()
	t.Cleanup(func() { client.CloseIdleConnections(); srv.Close() })
	var waits []time.Duration
	opts := Options{BaseURL: srv.URL + "/v1", APIKey: secret, HTTPClient: client, Limits: remote.Limits{
		Wait: func(ctx context.Context, d time.Duration) error { waits = append(waits, d); return ctx.Err() },
	}}
	if mod != nil {
		mod(&opts)
	}
	p, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return p, s, &waits
}

// events returns a handler that sends the data as server-sent events.
func events(data ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, d := range data {
			fmt.Fprintf(w, "data: %s\n\n", d)
			w.(http.Flusher).Flush()
		}
	}
}

func delta(text string) string {
	raw, _ := json.Marshal(map[string]any{
		"id": "x", "object": "chat.completion.chunk", "model": "large-2026",
		"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": text}, "finish_reason": nil}},
	})
	return string(raw)
}

const (
	stop  = `{"id":"x","object":"chat.completion.chunk","model":"large-2026","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	usage = `{"id":"x","object":"chat.completion.chunk","model":"large-2026","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13}}`
)

func status(code int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

func prompt() chat.Prompt {
	return chat.Prompt{
		Model: "large", Stream: true, System: "Be brief.",
		Messages: []chat.Turn{{Role: domain.RoleUser, Text: "Hi"}, {Role: domain.RoleAssistant, Text: "Hello"}, {Role: domain.RoleUser, Text: "When?"}},
	}
}

func complete(t *testing.T, p *Provider, in chat.Prompt) (pieces []string, c chat.Completion, err error) {
	t.Helper()
	c, err = p.Complete(t.Context(), in, func(s string) error { pieces = append(pieces, s); return nil })
	return pieces, c, err
}

func TestCompleteStreams(t *testing.T) {
	t.Parallel()
	want := []string{"Line one\n", "\n\"quoted\" ", "👨‍👩‍👧 ", "水闸", " [1]"}
	steps := []string{`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`}
	for _, s := range want {
		steps = append(steps, delta(s))
	}
	p, s, _ := started(t, nil, events(append(steps, stop, usage, "[DONE]")...))
	got, c, err := complete(t, p, prompt())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(chat.Completion{Model: "large-2026", PromptTokens: 9, CompletionTokens: 4}, c); diff != "" {
		t.Error(diff)
	}
	wantBody := map[string]any{
		"model": "large", "stream": true, "stream_options": map[string]any{"include_usage": true},
		"messages": []any{
			map[string]any{"role": "system", "content": "Be brief."},
			map[string]any{"role": "user", "content": "Hi"},
			map[string]any{"role": "assistant", "content": "Hello"},
			map[string]any{"role": "user", "content": "When?"},
		},
	}
	if diff := cmp.Diff(wantBody, s.requests()[0]); diff != "" {
		t.Error(diff)
	}
	if s.auth[0] != "Bearer "+secret {
		t.Errorf("authorised by %q", s.auth[0])
	}
}

func TestCompletePassesParametersOn(t *testing.T) {
	t.Parallel()
	p, s, _ := started(t, func(o *Options) { o.APIKey = "" }, status(200, `{"model":"small-1","choices":[{"message":{"role":"assistant","content":"At six."}}]}`))
	f := func(v float64) *float64 { return &v }
	n := 77
	in := prompt()
	in.Stream, in.Model, in.Messages, in.System = false, "small", in.Messages[2:], ""
	in.Params = chat.Params{Temperature: f(0), TopP: f(0.1), PresencePenalty: f(-2), FrequencyPenalty: f(2), MaxTokens: &n}
	got, c, err := complete(t, p, in)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"At six."}, got); diff != "" {
		t.Error(diff)
	}
	want := map[string]any{
		"model": "small", "messages": []any{map[string]any{"role": "user", "content": "When?"}},
		"stream": true, "stream_options": map[string]any{"include_usage": true}, "temperature": 0.0, "top_p": 0.1, "presence_penalty": -2.0, "frequency_penalty": 2.0, "max_tokens": 77.0,
	}
	if diff := cmp.Diff(want, s.requests()[0]); diff != "" {
		t.Error(diff)
	}
	if c.Model != "small-1" || c.PromptTokens != 10 || !c.Estimated || c.CompletionTokens != 3 {
		t.Errorf("without usage the tokens are estimated: got %+v", c)
	}
	if s.auth[0] != "" {
		t.Errorf("authorised by %q without a key", s.auth[0])
	}
}

func TestCompleteTriesAgainBeforeTheFirstPiece(t *testing.T) {
	t.Parallel()
	ok := events(delta("Six."), stop, "[DONE]")
	tests := map[string]struct {
		first http.HandlerFunc
		want  []time.Duration
	}{
		"after a server's failure":                             {status(500, `{"error":{"message":"boom"}}`), []time.Duration{time.Second / 2}},
		"after too many requests, as long as asked":            {status(429, `{"error":{"message":"slow down"}}`, "Retry-After", "2"), []time.Duration{2 * time.Second}},
		"after a stream that ends at once":                     {events(), []time.Duration{time.Second / 2}},
		"after an error sent as the first event":               {events(`{"error":{"message":"overloaded"}}`), []time.Duration{time.Second / 2}},
		"after an event that is no JSON":                       {events(`{"choices":`), []time.Duration{time.Second / 2}},
		"at once without stream_options when they are refused": {status(400, `{"error":{"message":"unknown field stream_options"}}`), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s, waits := started(t, nil, test.first, ok)
			got, _, err := complete(t, p, prompt())
			if err != nil || strings.Join(got, "") != "Six." || len(s.requests()) != 2 {
				t.Fatalf("got %q after %d requests: %v", got, len(s.requests()), err)
			}
			if diff := cmp.Diff(test.want, *waits); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestCompleteFails(t *testing.T) {
	t.Parallel()
	hang := func(pieces ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			events(pieces...)(w, r)
			<-r.Context().Done()
		}
	}
	cut := func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		writeChunked(rw, "data: "+delta("It opens")+"\n\n")
		conn.Close()
	}
	tests := map[string]struct {
		step   http.HandlerFunc
		mod    func(*Options)
		says   string
		tries  int
		pieces []string
	}{
		"naming the key's setting when the key is refused": {step: status(401, `{"error":{"message":"Incorrect API key provided: `+secret+`"}}`), says: "OPENAI_API_KEY", tries: 1},
		"naming the address when the model is unknown":     {step: status(404, `{"error":{"message":"no such model"}}`), says: "OPENAI_BASE_URL", tries: 1},
		"at once when the request is refused":              {step: status(400, `{"error":{"message":"context too long"}}`), says: "HTTP 400", tries: 1},
		"at once when a web page answers":                  {step: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html><body>Sign in</body></html>") }, says: "OPENAI_BASE_URL", tries: 1},
		"at once when something else answers in JSON":      {step: status(200, `{"hello":"world"}`), says: "OPENAI_BASE_URL", tries: 1},
		"after three web pages of a proxy": {step: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
			fmt.Fprint(w, "<html>")
		}, says: "HTTP 502", tries: 3},
		"once when a line is longer than can be an answer": {step: events(delta("It opens"), delta(strings.Repeat("x", 2<<20))), says: "too large", tries: 1, pieces: []string{"It opens"}},
		"at once when the quota is used up":                {step: status(429, `{"error":{"message":"pay","code":"insufficient_quota"}}`), says: "quota", tries: 1},
		"at once when it is to wait for long":              {step: status(429, `{}`, "Retry-After", "3600"), says: "HTTP 429", tries: 1},
		"after three failures of the server":               {step: status(503, `oops`), says: "HTTP 503", tries: 3},
		"after three answers without a word":               {step: events(stop, "[DONE]"), says: "sent an empty answer", tries: 3},
		"when the first piece does not come": {
			step: hang(), mod: func(o *Options) { o.Limits.FirstToken = time.Second }, says: "within 1s", tries: 1,
		},
		"once when the next piece does not come": {
			step: hang(delta("It opens")), mod: func(o *Options) { o.Limits.NextToken = 20 * time.Millisecond }, says: "nothing for 20ms", tries: 1, pieces: []string{"It opens"},
		},
		"once when the stream breaks in the middle": {step: cut, says: "broke in the middle", tries: 1, pieces: []string{"It opens"}},
		"once when the stream ends too soon":        {step: events(delta("It opens")), says: "broke in the middle", tries: 1, pieces: []string{"It opens"}},
		"once when an error comes in the middle":    {step: events(delta("It opens"), `{"error":{"message":"boom"}}`), says: "reported an error", tries: 1, pieces: []string{"It opens"}},
		"after three answers without a body":        {step: func(http.ResponseWriter, *http.Request) {}, says: "ended the response without an answer", tries: 3},
		"after three answers of status 204":         {step: status(204, ""), says: "ended the response without an answer", tries: 3},
		"after three answers that are no event":     {step: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, delta("It opens")) }, says: "ended the response without an answer", tries: 3},
		"once when an event is an error by its name": {step: func(w http.ResponseWriter, r *http.Request) {
			events(delta("It opens"))(w, r)
			fmt.Fprint(w, "event: error\ndata: {\"message\":\"boom\"}\n\n")
		}, says: "reported an error", tries: 1, pieces: []string{"It opens"}},
		"once when such an event is no JSON": {step: func(w http.ResponseWriter, r *http.Request) {
			events(delta("It opens"))(w, r)
			fmt.Fprint(w, "event: error\ndata: boom\n\n")
		}, says: "reported an error", tries: 1, pieces: []string{"It opens"}},
		"once when a piece is no JSON": {step: events(delta("It opens"), `{"choices":`), says: "an invalid response", tries: 1, pieces: []string{"It opens"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s, _ := started(t, test.mod, test.step)
			got, _, err := complete(t, p, prompt())
			var typed *domain.Error
			if !errors.As(err, &typed) || typed.Code != domain.CodeUnavailable || !strings.Contains(typed.Message, test.says) {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(err.Error(), secret) {
				t.Fatalf("the key is shown: %v", err)
			}
			if diff := cmp.Diff(test.pieces, got); diff != "" {
				t.Error(diff)
			}
			if len(s.requests()) != test.tries {
				t.Errorf("asked %d times, want %d", len(s.requests()), test.tries)
			}
		})
	}
}

// writeChunked writes the start of a chunked response. The caller then closes the connection.
func writeChunked(rw *bufio.ReadWriter, chunk string) {
	fmt.Fprint(rw, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	fmt.Fprintf(rw, "%x\r\n%s\r\n", len(chunk), chunk)
	rw.Flush()
}

func TestCompleteFailsWithoutAServer(t *testing.T) {
	t.Parallel()
	p, _, waits := started(t, func(o *Options) { o.BaseURL = "http://127.0.0.1:1" }, events())
	_, _, err := complete(t, p, prompt())
	if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "cannot be reached") || len(*waits) != 2 {
		t.Fatalf("got %v after %v", err, *waits)
	}
}

func TestCompleteStopsWhenTheReaderLeaves(t *testing.T) {
	t.Parallel()
	t.Run("by its error", func(t *testing.T) {
		t.Parallel()
		gone := errors.New("gone")
		p, s, _ := started(t, nil, events(delta("a"), delta("b"), stop))
		if _, err := p.Complete(t.Context(), prompt(), func(string) error { return gone }); !errors.Is(err, gone) || len(s.requests()) != 1 {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("by its context, and the server sees it", func(t *testing.T) {
		t.Parallel()
		left := make(chan struct{})
		p, _, _ := started(t, nil, func(w http.ResponseWriter, r *http.Request) {
			events(delta("a"))(w, r)
			<-r.Context().Done()
			close(left)
		})
		ctx, cancel := context.WithCancel(t.Context())
		_, err := p.Complete(ctx, prompt(), func(string) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		<-left
	})
}

func TestNewRejectsInvalidOptions(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]Options{
		"an Azure without address": {Azure: true},
		"no address":               {BaseURL: "localhost"},
		"a scheme of its own":      {BaseURL: "ftp://localhost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := New(opts); err == nil {
				t.Fatal("accepted")
			}
		})
	}
}
