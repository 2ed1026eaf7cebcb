package openai

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

func TestRequestsToAzure(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ version, path string }{
		"by its dated interface": {"2024-10-21", "/openai/deployments/my%2Fgpt/chat/completions?api-version=2024-10-21"},
		"by its v1 interface":    {"", "/openai/v1/chat/completions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var path, key, bearer string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				path, key, bearer = r.RequestURI, r.Header.Get("Api-Key"), r.Header.Get("Authorization")
				mu.Unlock()
				// Azure's first event has only its content filters' results, and no choices.
				events(`{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}`, delta("Six."), stop, "[DONE]")(w, r)
			}))
			client := srv.Client()
			t.Cleanup(func() { client.CloseIdleConnections(); srv.Close() })
			p, err := New(Options{BaseURL: srv.URL, APIKey: secret, Azure: true, AzureVersion: test.version, HTTPClient: client})
			if err != nil {
				t.Fatal(err)
			}
			in := prompt()
			in.Model = "my/gpt"
			got, _, err := complete(t, p, in)
			if err != nil || strings.Join(got, "") != "Six." {
				t.Fatalf("%q, %v", got, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if path != test.path || key != secret || bearer != "" {
				t.Errorf("asked %s with the key %q and bearer %q", path, key, bearer)
			}
		})
	}
}

func TestCompleteLearnsRejectedParameters(t *testing.T) {
	t.Parallel()
	refuse := func(param, message string) http.HandlerFunc {
		return status(400, fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error","param":%q,"code":"unsupported_value"}}`, message, param))
	}
	p, s, waits := started(t, nil,
		refuse("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
		refuse("temperature", "Unsupported value: 'temperature' does not support 0.3 with this model."),
		refuse("presence_penalty", "Unsupported parameter"),
		refuse("max_completion_tokens", "max_completion_tokens is too large: 100000. This model supports at most 65536 completion tokens"),
		events(delta("Six."), stop, "[DONE]"),
	)
	warm, n := 0.3, 100_000
	in := prompt()
	in.Params = chat.Params{Temperature: &warm, PresencePenalty: &warm, FrequencyPenalty: &warm, MaxTokens: &n}
	for range 2 {
		got, c, err := complete(t, p, in)
		if err != nil || strings.Join(got, "") != "Six." || !slices.Equal(c.Ignored, []string{"temperature", "presencePenalty", "maxTokens"}) {
			t.Fatalf("got %q, ignored %q: %v", got, c.Ignored, err)
		}
	}
	all := s.requests()
	if len(all) != 6 || len(*waits) != 0 {
		t.Fatalf("%d requests with waits of %v", len(all), *waits)
	}
	last := all[5]
	delete(last, "messages")
	want := map[string]any{
		"model": "large", "stream": true, "stream_options": map[string]any{"include_usage": true}, "frequency_penalty": 0.3, "max_completion_tokens": 65536.0,
	}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Error(diff)
	}
}

func TestCompleteReadsStreamsOfAllServers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		step http.HandlerFunc
		cut  bool
	}{
		"an answer in one piece": {status(200, `{"model":"m","choices":[{"message":{"content":"Six."},"finish_reason":"stop"}]}`), false},
		"the model's refusal":    {events(`{"choices":[{"delta":{"refusal":"Six."}}]}`, stop), false},
		"thoughts before":        {events(`{"choices":[{"delta":{"reasoning_content":"Hm."}}]}`, delta("Six."), stop), false},
		"content that is null":   {events(`{"choices":[{"delta":{"content":null}}]}`, delta("Six."), stop), false},
		"other choices":          {events(`{"choices":[{"index":1,"delta":{"content":"Ten."},"finish_reason":"stop"}]}`, delta("Six."), stop), false},
		"no mark at the end":     {events(delta("Six."), stop), false},
		"no reason for the end":  {events(delta("Six."), "[DONE]"), false},
		"content in parts":       {events(`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"Six"}]}}]}`, delta("."), stop), false},
		"parts in one piece":     {status(200, `{"choices":[{"message":{"content":[{"type":"text","text":"Six."}]}}]}`), false},
		"lines that end with CR": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "\ufeffdata: %s\r\rdata: %s\r\rdata: [DONE]\r\r", delta("Six."), stop)
		}, false},
		"comments and names": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, ": OPENROUTER PROCESSING\n\nevent: x\ndata:%s\n\ndata: %s\n\ndata: [DONE]\n\n", delta("Six."), stop)
		}, false},
		"no end of the last event": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n", delta("Six."))
		}, false},
		"errors that are null":  {events(`{"error":null,"choices":[{"delta":{"content":"Six."}}]}`, stop), false},
		"an event without data": {events("", delta("Six."), stop), false},
		"an end for its length": {events(delta("Six."), `{"choices":[{"delta":{},"finish_reason":"length"}]}`), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _, _ := started(t, nil, test.step)
			got, c, err := complete(t, p, prompt())
			if err != nil || strings.Join(got, "") != "Six." || c.Cut != test.cut {
				t.Fatalf("got %q, %+v, %v", got, c, err)
			}
		})
	}
}

func TestAnEmojiSplitBetweenEventsIsJoined(t *testing.T) {
	t.Parallel()
	p, _, _ := started(t, nil, events(`{"choices":[{"delta":{"content":"Six \ud83d"}}]}`, `{"choices":[{"delta":{"content":"\ude00"}}]}`, stop))
	if got, _, err := complete(t, p, prompt()); err != nil || strings.Join(got, "") != "Six 😀" {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestInstructionsGoIntoTheQuestionWhereTheSystemRoleIsRefused(t *testing.T) {
	t.Parallel()
	refuse := func(code int, message string) http.HandlerFunc {
		return status(code, fmt.Sprintf(`{"error":{"message":%q}}`, message))
	}
	for name, step := range map[string]http.HandlerFunc{
		"of vLLM":      refuse(400, "System role not supported"),
		"of llama.cpp": refuse(500, "System role not supported at row 1, column 60"),
		"of Mistral's": refuse(400, "Conversation roles must alternate user/assistant/user/assistant/..."),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s, waits := started(t, nil, step, events(delta("Six."), stop, "[DONE]"))
			for range 2 {
				if got, c, err := complete(t, p, prompt()); err != nil || strings.Join(got, "") != "Six." || len(c.Ignored) > 0 {
					t.Fatalf("got %q, ignored %q: %v", got, c.Ignored, err)
				}
			}
			all := s.requests()
			if len(all) != 3 || len(*waits) != 0 {
				t.Fatalf("%d requests with waits of %v", len(all), *waits)
			}
			want := []any{
				map[string]any{"role": "user", "content": "Be brief.\n\nHi"},
				map[string]any{"role": "assistant", "content": "Hello"},
				map[string]any{"role": "user", "content": "When?"},
			}
			if diff := cmp.Diff(want, all[2]["messages"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTurnsOfOneRoleBecomeOneMessage(t *testing.T) {
	t.Parallel()
	p, s, _ := started(t, nil, events(delta("Six."), stop, "[DONE]"))
	in := prompt()
	in.Messages = []chat.Turn{{Role: domain.RoleUser, Text: "Hi"}, {Role: domain.RoleUser, Text: "When?"}}
	if _, _, err := complete(t, p, in); err != nil {
		t.Fatal(err)
	}
	want := []any{map[string]any{"role": "system", "content": "Be brief."}, map[string]any{"role": "user", "content": "Hi\n\nWhen?"}}
	if diff := cmp.Diff(want, s.requests()[0]["messages"]); diff != "" {
		t.Error(diff)
	}
	if in.Messages[0].Text != "Hi" {
		t.Errorf("the prompt was changed: %q", in.Messages)
	}
}

func TestAToolCallIsNoAnswer(t *testing.T) {
	t.Parallel()
	call := `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"t","type":"function","function":{"name":"search","arguments":"{}"}}]}}]}`
	called := `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`
	p, s, _ := started(t, nil, events(call, called, "[DONE]"))
	_, _, err := complete(t, p, prompt())
	if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "called a tool instead of answering") || len(s.requests()) != 3 {
		t.Fatalf("after %d requests: %v", len(s.requests()), err)
	}
	p, _, _ = started(t, nil, events(delta("Six."), call, called, "[DONE]"))
	if got, _, err := complete(t, p, prompt()); err != nil || strings.Join(got, "") != "Six." {
		t.Fatalf("an answer before it: %q, %v", got, err)
	}
}

func TestAContentFilterIsAnErrorWithoutARetry(t *testing.T) {
	t.Parallel()
	filtered := `{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`
	for name, test := range map[string]struct {
		step http.HandlerFunc
		got  string
	}{
		"before the first word":     {events(filtered, "[DONE]"), ""},
		"in the middle":             {events(delta("It opens"), filtered, "[DONE]"), "It opens"},
		"of what is asked":          {status(400, `{"error":{"code":"content_filter","message":"filtered"}}`), ""},
		"of an answer in one piece": {status(200, `{"choices":[{"message":{"content":""},"finish_reason":"content_filter"}]}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s, _ := started(t, nil, test.step)
			got, _, err := complete(t, p, prompt())
			if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "content filter") || strings.Join(got, "") != test.got || len(s.requests()) != 1 {
				t.Fatalf("got %q after %d requests: %v", got, len(s.requests()), err)
			}
		})
	}
}

func TestAQueryInTheBaseAddressStays(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"/v1":             "/v1/chat/completions",
		"/v1/":            "/v1/chat/completions",
		"":                "/chat/completions",
		"/a%2Fb?key=some": "/a%2Fb/chat/completions?key=some",
	} {
		p, err := New(Options{BaseURL: "http://localhost" + base})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.address("m"); got != "http://localhost"+want {
			t.Errorf("%s: %s", base, got)
		}
	}
	p, err := New(Options{BaseURL: "http://localhost/gateway?key=some", Azure: true, AzureVersion: "v"})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.address("m/../n"); got != "http://localhost/gateway/openai/deployments/m%2F..%2Fn/chat/completions?api-version=v&key=some" {
		t.Error(got)
	}
}

func TestAnAnswerInOnePieceIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxWholeBytes)
	p, s, _ := started(t, nil, status(200, `{"choices":[{"message":{"content":"`+long+`"}}]}`))
	_, _, err := complete(t, p, prompt())
	if err == nil || !strings.Contains(err.Error(), "too large") || len(s.requests()) != 1 {
		t.Fatalf("got %v after %d requests", err, len(s.requests()))
	}
}

func TestKeysAreNotSentAlongRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := make(chan string, 1)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere <- r.Header.Get("Api-Key") }))
	defer other.Close()
	srv := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer srv.Close()
	p, err := New(Options{BaseURL: srv.URL, APIKey: secret, Azure: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.options.HTTPClient.CloseIdleConnections()
	_, err = p.Complete(context.Background(), prompt(), func(string) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "redirects requests (HTTP 307)") || len(elsewhere) != 0 {
		t.Fatalf("got %v, and %d came there", err, len(elsewhere))
	}
}
