package anthropic

import (
	"bytes"
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

const secret = "sk-ant-very-secret"

// server answers each request with the next step, repeating the last one, and records the bodies.
type server struct {
	mu      sync.Mutex
	bodies  []map[string]any
	headers []http.Header
	steps   []http.HandlerFunc
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(raw))
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	s.mu.Lock()
	step := s.steps[min(len(s.bodies), len(s.steps)-1)]
	s.bodies, s.headers = append(s.bodies, body), append(s.headers, r.Header)
	s.mu.Unlock()
	if r.URL.Path != "/v1/messages" {
		http.Error(w, "wrong path "+r.URL.Path, http.StatusTeapot)
		return
	}
	step(w, r)
}

func (s *server) requests() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

func started(t *testing.T, mod func(*Options), steps ...http.HandlerFunc) (*Provider, *server) {
	t.Helper()
	s := &server{steps: steps}
	srv := httptest.NewServer(s)
	client := srv.Client()
	t.Cleanup(func() { client.CloseIdleConnections(); srv.Close() })
	opts := Options{BaseURL: srv.URL, APIKey: secret, HTTPClient: client, Limits: remote.Limits{
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}}
	if mod != nil {
		mod(&opts)
	}
	p, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return p, s
}

// Events as sent by the API.
const (
	start = `message_start {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-x-1","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":20,"cache_read_input_tokens":5,"output_tokens":1}}}`
	block = `content_block_start {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	ping  = `ping {"type":"ping"}`
	close = `content_block_stop {"type":"content_block_stop","index":0}`
	stop  = `message_stop {"type":"message_stop"}`
)

func delta(text string) string {
	raw, _ := json.Marshal(text)
	return `content_block_delta {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + string(raw) + `}}`
}

func ending(reason string) string {
	return `message_delta {"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":7}}`
}

// events returns a handler that sends events. Each argument is a name and data, separated by a space.
func events(all ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, e := range all {
			name, data, _ := strings.Cut(e, " ")
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
			w.(http.Flusher).Flush()
		}
	}
}

func status(code int, kind, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, message)
	}
}

func prompt() chat.Prompt {
	return chat.Prompt{
		Model: "claude-x", Stream: true, System: "Be brief.",
		Messages: []chat.Turn{{Role: domain.RoleUser, Text: "Hi"}, {Role: domain.RoleAssistant, Text: "Hello"}, {Role: domain.RoleUser, Text: "When?"}},
	}
}

func complete(t *testing.T, p *Provider, in chat.Prompt) (string, chat.Completion, error) {
	t.Helper()
	var text strings.Builder
	c, err := p.Complete(t.Context(), in, func(s string) error { text.WriteString(s); return nil })
	return text.String(), c, err
}

func number(v float64) *float64 { return &v }

func count(n int) *int { return &n }

func TestCompleteStreams(t *testing.T) {
	t.Parallel()
	p, s := started(t, nil, events(start, ping, block, delta("Six\n\n"), delta("\"水闸\" 👨‍👩‍👧 [1]"), close, ending("end_turn"), stop))
	in := prompt()
	in.Params = chat.Params{Temperature: number(0.3), MaxTokens: count(99)}
	got, c, err := complete(t, p, in)
	if err != nil || got != "Six\n\n\"水闸\" 👨‍👩‍👧 [1]" {
		t.Fatalf("got %q, %v", got, err)
	}
	if diff := cmp.Diff(chat.Completion{Model: "claude-x-1", PromptTokens: 25, CompletionTokens: 7}, c); diff != "" {
		t.Error(diff)
	}
	text := func(role, text string) any {
		return map[string]any{"role": role, "content": []any{map[string]any{"type": "text", "text": text}}}
	}
	want := map[string]any{
		"model": "claude-x", "stream": true, "max_tokens": 99.0, "temperature": 0.3,
		"system":   []any{map[string]any{"type": "text", "text": "Be brief."}},
		"messages": []any{text("user", "Hi"), text("assistant", "Hello"), text("user", "When?")},
	}
	if diff := cmp.Diff(want, s.requests()[0]); diff != "" {
		t.Error(diff)
	}
	h := s.headers[0]
	if h.Get("X-Api-Key") != secret || h.Get("Authorization") != "" || h.Get("Anthropic-Version") == "" {
		t.Errorf("headers %v", h)
	}
}

func TestEventsWithoutNamesAreKnownByTheirTypes(t *testing.T) {
	t.Parallel()
	unnamed := func(all ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for _, e := range all {
				_, data, _ := strings.Cut(e, " ")
				fmt.Fprintf(w, "data: %s\n\n", data)
			}
		}
	}
	p, _ := started(t, nil, unnamed(start, ping, block, delta("Six."), close, ending("end_turn"), stop))
	if got, c, err := complete(t, p, prompt()); err != nil || got != "Six." || c.Model != "claude-x-1" {
		t.Errorf("got %q, %+v, %v", got, c, err)
	}
	p, _ = started(t, nil, unnamed(start, delta("Six."), `error {"type":"error","error":{"type":"overloaded_error","message":"busy"}}`))
	if _, _, err := complete(t, p, prompt()); err == nil || !strings.Contains(err.Error(), "reported an error") {
		t.Errorf("got %v", err)
	}
}

func TestCompleteNamesIgnoredParameters(t *testing.T) {
	t.Parallel()
	ok := events(start, block, delta("Six."), close, ending("end_turn"), stop)
	tests := map[string]struct {
		params  chat.Params
		steps   []http.HandlerFunc
		ignored []string
		sent    map[string]any
	}{
		"penalties are unknown": {
			params:  chat.Params{PresencePenalty: number(1), FrequencyPenalty: number(-1), TopP: number(0.1)},
			ignored: []string{"presencePenalty", "frequencyPenalty"}, sent: map[string]any{"top_p": 0.1, "max_tokens": 4096.0},
		},
		"of temperature and topP the first counts": {
			params: chat.Params{Temperature: number(0), TopP: number(0.1)}, ignored: []string{"topP"}, sent: map[string]any{"temperature": 0.0, "max_tokens": 4096.0},
		},
		"a model that refuses the temperature is asked without": {
			params:  chat.Params{Temperature: number(0.3)},
			steps:   []http.HandlerFunc{status(400, "invalid_request_error", "temperature: is not supported by this model")},
			ignored: []string{"temperature"}, sent: map[string]any{"max_tokens": 4096.0},
		},
		"a model that writes less is asked for that": {
			params:  chat.Params{MaxTokens: count(100_000)},
			steps:   []http.HandlerFunc{status(400, "invalid_request_error", "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-x")},
			ignored: []string{"maxTokens"}, sent: map[string]any{"max_tokens": 8192.0},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := started(t, nil, append(test.steps, ok)...)
			in := prompt()
			in.Params = test.params
			for range 2 { // by the second time, the provider knows which parameters the server rejects
				if _, c, err := complete(t, p, in); err != nil || !slices.Equal(c.Ignored, test.ignored) {
					t.Fatalf("ignored %q, %v", c.Ignored, err)
				}
			}
			all := s.requests()
			last := all[len(all)-1]
			for _, other := range []string{"model", "stream", "system", "messages"} {
				delete(last, other)
			}
			if diff := cmp.Diff(test.sent, last); diff != "" || len(all) != len(test.steps)+2 {
				t.Errorf("%d requests, the last with %s", len(all), diff)
			}
		})
	}
}

func TestCompleteFails(t *testing.T) {
	t.Parallel()
	hang := func(first ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			events(first...)(w, r)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}
	}
	overloaded := `error {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	tests := map[string]struct {
		step  http.HandlerFunc
		says  string
		code  domain.Code
		tries int
		got   string
	}{
		"naming the key's setting when it is refused":      {step: status(401, "authentication_error", "invalid x-api-key "+secret), says: "ANTHROPIC_API_KEY", tries: 1},
		"naming the address when the model is unknown":     {step: status(404, "not_found_error", "model: claude-x"), says: "HTTP 404", tries: 1},
		"after three times too busy":                       {step: status(529, "overloaded_error", "Overloaded"), says: "HTTP 529", tries: 3},
		"after three errors as the first event":            {step: events(overloaded), says: "reported an error", tries: 3},
		"at once when the prompt is too long":              {step: status(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), says: "too long", code: domain.CodeInvalid, tries: 1},
		"at once when the model refuses to answer":         {step: events(start, ending("refusal"), stop), says: "content filter", code: domain.CodeInvalid, tries: 1},
		"at once when all tokens are spent on thought":     {step: events(start, ending("max_tokens"), stop), says: "raise maxTokens", code: domain.CodeInvalid, tries: 1},
		"after three answers without a word":               {step: events(start, ending("end_turn"), stop), says: "sent an empty answer", tries: 3},
		"at once when a web page answers":                  {step: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }, says: "ANTHROPIC_BASE_URL", tries: 1},
		"when the first piece does not come":               {step: hang(start, ping), says: "did not start", tries: 1},
		"once when the next piece does not come":           {step: hang(start, block, delta("It ")), says: "in the middle", tries: 1, got: "It "},
		"once when the stream ends too soon":               {step: events(start, block, delta("It ")), says: "broke in the middle", tries: 1, got: "It "},
		"once when an error comes in the middle":           {step: events(start, block, delta("It "), overloaded), says: "reported an error", tries: 1, got: "It "},
		"once when an event is no JSON":                    {step: events(start, block, delta("It "), `content_block_delta {"type":`), says: "an invalid response", tries: 1, got: "It "},
		"once when the filter breaks the answer off":       {step: events(start, block, delta("It "), ending("refusal"), stop), says: "content filter", code: domain.CodeInvalid, tries: 1, got: "It "},
		"once when a line is longer than can be an answer": {step: events(start, block, delta("It "), delta(strings.Repeat("x", 2<<20))), says: "too large", tries: 1, got: "It "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := started(t, func(o *Options) {
				o.Limits.FirstToken, o.Limits.NextToken = 10*time.Second, 10*time.Second
				if strings.HasPrefix(name, "when the first") {
					o.Limits.FirstToken = time.Second // includes sending the request
				}
				if strings.HasSuffix(name, "does not come") {
					o.Limits.NextToken = 50 * time.Millisecond
				}
			}, test.step)
			got, c, err := complete(t, p, prompt())
			var typed *domain.Error
			if test.code == "" {
				test.code = domain.CodeUnavailable
			}
			if !errors.As(err, &typed) || typed.Code != test.code || !strings.Contains(typed.Message, test.says) {
				t.Fatalf("got %v", err)
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the key is shown: %v", err)
			}
			if got != test.got || len(s.requests()) != test.tries {
				t.Errorf("got %q after %d requests", got, len(s.requests()))
			}
			if test.got == "" && strings.Contains(test.says, "HTTP") && c.PromptTokens+c.CompletionTokens != 0 {
				t.Errorf("a refusal is counted: %+v", c)
			}
			if test.got != "" && (c.PromptTokens != 25 || c.CompletionTokens == 0) {
				t.Errorf("the output tokens are not counted: %+v", c)
			}
			if tooLong := strings.Contains(test.says, "too long"); errors.Is(err, chat.ErrTooLong) != tooLong {
				t.Errorf("too long is %v", !tooLong)
			}
		})
	}
}

func TestCompleteIsCutAtMaxTokens(t *testing.T) {
	t.Parallel()
	p, _ := started(t, nil, events(start, block, delta("It opens"), close, ending("max_tokens"), stop))
	if got, c, err := complete(t, p, prompt()); err != nil || !c.Cut || got != "It opens" {
		t.Fatalf("%q, %+v, %v", got, c, err)
	}
}

func TestADisconnectCancelsTheRequest(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	p, _ := started(t, nil, func(w http.ResponseWriter, r *http.Request) {
		events(start, block, delta("It"))(w, r)
		<-r.Context().Done()
		left <- struct{}{}
	})
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := p.Complete(ctx, prompt(), func(string) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	<-left
}

func TestTheEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-somebody")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	p, s := started(t, func(o *Options) { o.APIKey = "" }, events(start, block, delta("Six."), ending("end_turn"), stop))
	if _, _, err := complete(t, p, prompt()); err != nil {
		t.Fatal(err)
	}
	if key := s.headers[0].Get("X-Api-Key"); key != "" {
		t.Errorf("the key %q was sent", key)
	}
}

func TestNewRejectsInvalidAddresses(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"localhost", "ftp://localhost", "http://"} {
		if _, err := New(Options{BaseURL: base}); err == nil {
			t.Errorf("%q accepted", base)
		}
	}
}
