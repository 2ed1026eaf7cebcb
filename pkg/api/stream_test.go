package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares the text with a file in testdata, after replacing any ids in the text.
func golden(t *testing.T, name string, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		must(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("differs from %s (-want +got):\n%s", file, diff)
	}
}

func (s *service) stream(agent string, pieces ...string) *response {
	s.Helper()
	s.answerer.answer = tokens(pieces...)
	return s.call("POST", "/agents/"+agent+"/query", object{"query": "q", "streaming": true, "conversationId": newConversation, "visitorId": "v-1"}, "Accept", "text/event-stream").want(200)
}

func TestStreamTranscripts(t *testing.T) {
	t.Parallel()
	for name, pieces := range map[string][]string{
		"plain":      {"The trial", " lasts", " 30 days [1]."},
		"line-ends":  {"One:\n", "\n", "- a\r\n- b\r", "\n\n", "  done\n"},
		"marks":      {"[DONE]", "[ERROR] is what the log says"},
		"characters": {"日本語", "👩‍👩‍👧", " \"quoted\" é"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			a := s.stream(s.newAgent(), pieces...)
			if got := a.header.Values("Content-Type"); len(got) != 1 || got[0] != "text/event-stream; charset=utf-8" {
				t.Errorf("Content-Type is %q", got)
			}
			golden(t, "stream-"+name+".txt", string(a.body))
		})
	}
}

func TestClientsGetTheAnswerCharacterByCharacter(t *testing.T) {
	t.Parallel()
	for name, pieces := range map[string][]string{
		"leading spaces of tokens":            {"a", " b", "  c", " ", " ", "d"},
		"a line break alone":                  {"a", "\n", "b"},
		"several line breaks alone":           {"a", "\n", "\n", "\n\n", "b"},
		"a line break, then a space":          {"a\n", " b", "\n ", "c"},
		"a line break at the end":             {"a", "\n"},
		"CRLF in one token":                   {"a\r\nb"},
		"CRLF in two tokens":                  {"a\r", "\nb"},
		"CR alone":                            {"a\rb\r", "c"},
		"CR CRLF LF":                          {"a\r\r\n\nb"},
		"emoji and CJK":                       {"日", "本語", "👩‍👩‍👧", "한국어"},
		"a character in two tokens":           {"\xe6\x97", "\xa5\xe6", "\x9c\xac"},
		"bytes that are no character":         {"a\xffb", "\xe6"},
		"byte order marks":                    {"\ufeffa", "\ufeff", "b\n\ufeffc"},
		"what looks like the end":             {"[DONE]", "[DONE]", "x"},
		"what looks like an error":            {"[ERROR]", " x\n[ERROR] y"},
		"colons and field names":              {":", "data: x\n", "event: y\n\n", "id: 1"},
		"line breaks first":                   {"\n", "\n\nanswer"},
		"empty tokens":                        {"", "a", "", "b", ""},
		"other separators that are not lines": {"a\u2028b\u0085c\vd\fe"},
		"nothing at all":                      {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			a := s.stream(s.newAgent(), pieces...)
			want := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\ufeff", "").Replace(strings.ToValidUTF8(strings.Join(pieces, ""), "\ufffd"))
			want = strings.TrimLeft(want, "\n")
			for _, chunk := range []int{1, 2, 7, len(a.body)} {
				var client conversationClient
				client.take(parseStream(a.body, chunk))
				if client.answer != want || !client.done || client.err != "" {
					t.Errorf("chunks of %d: the client has %q (done %v, error %q), want %q", chunk, client.answer, client.done, client.err, want)
				}
				var response struct {
					Answer, ConversationID, VisitorID string
					Sources                           []any
				}
				must(t, json.Unmarshal([]byte(client.response), &response))
				if response.Answer != want || response.ConversationID != newConversation || response.VisitorID != "v-1" || len(response.Sources) != 1 {
					t.Errorf("the response is %s", client.response)
				}
			}
		})
	}
}

func TestOtherClientsGetEachPieceUnchanged(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.answerer.answer = tokens("One", ":", "\n", "\n- a", "[DONE]")
	a := s.call("POST", "/agents/"+s.newAgent()+"/query", object{"query": "q", "streaming": true}).want(200)
	const want = "event: answer\ndata: One\n\nevent: answer\ndata: :\n\nevent: answer\ndata: \ndata: \n\nevent: answer\ndata: \ndata: - a\n\n" +
		"event: answer\ndata: [\n\nevent: answer\ndata: DONE]\n\n"
	if !strings.HasPrefix(string(a.body), want) {
		t.Errorf("got %q", a.body)
	}
}

func TestALongResponseComesInPieces(t *testing.T) {
	t.Parallel()
	s := newService(t)
	long := strings.Repeat("日本語[ERROR]", 20_000)
	a := s.stream(s.newAgent(), long)
	var client conversationClient
	client.take(parseStream(a.body, 4096))
	var response struct{ Answer string }
	must(t, json.Unmarshal([]byte(client.response), &response))
	if response.Answer != long || client.answer != long || !client.done {
		t.Errorf("the answer did not come whole: %d and %d of %d bytes", len(response.Answer), len(client.answer), len(long))
	}
}

func TestTokensAreSentAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	more := make(chan struct{})
	s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		if err := emit("first "); err != nil {
			return answer.Answer{}, err
		}
		select {
		case <-more:
		case <-ctx.Done():
		}
		return tokens("second")(ctx, r, emit)
	}
	res := s.open("POST", "/agents/"+s.newAgent()+"/query", `{"query":"q","streaming":true}`)
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: first") {
	}
	close(more) // the first token arrived while the answerer was still waiting
	rest, err := io.ReadAll(res.Body)
	must(t, err)
	if !strings.Contains(string(rest), "[DONE]") {
		t.Errorf("the stream did not end: %s", rest)
	}
}

// open sends a request. The response's body stays open until the test ends.
func (s *service) open(method, path, body string) *http.Response {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body))
	must(s.T, err)
	req.Header.Set("Authorization", "Bearer "+s.key)
	res, err := http.DefaultTransport.RoundTrip(req)
	must(s.T, err)
	s.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func TestASilentStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.Heartbeat = 5 * time.Millisecond })
	go_ := make(chan struct{})
	s.answerer.answer = func(ctx context.Context, r answer.Request, emit func(string) error) (answer.Answer, error) {
		select {
		case <-go_:
		case <-ctx.Done():
		}
		return tokens("late")(ctx, r, emit)
	}
	res := s.open("POST", "/agents/"+s.newAgent()+"/query", `{"query":"q","streaming":true}`)
	lines := bufio.NewScanner(res.Body)
	for comments := 0; comments < 3 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), ":") {
			comments++
		}
	}
	close(go_)
	for lines.Scan() {
		if lines.Text() == "data: [DONE]" {
			return
		}
	}
	t.Error("the stream did not end with [DONE]")
}

func TestAnErrorBeforeTheFirstTokenIsAPlainError(t *testing.T) {
	t.Parallel()
	s := newService(t)
	agent := s.newAgent()
	s.answerer.answer = func(context.Context, answer.Request, func(string) error) (answer.Answer, error) {
		return answer.Answer{}, &domain.Error{Code: domain.CodeUnavailable, Message: "the model server is down", RetryAfter: 1500 * time.Millisecond, Err: errors.New("dial tcp 10.0.0.1")}
	}
	for _, streaming := range []bool{true, false} {
		a := s.call("POST", "/agents/"+agent+"/query", object{"query": "q", "streaming": streaming})
		p := a.problem(503)
		if p.Detail != "the model server is down" || a.header.Get("Retry-After") != "2" {
			t.Errorf("streaming %v: %s, Retry-After %q", streaming, a.body, a.header.Get("Retry-After"))
		}
	}
}

func TestAnErrorAfterTheFirstTokenEndsTheStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"one that may be shown":   {domain.Errorf(domain.CodeUnavailable, "the model server\nis gone"), "[ERROR] the model server is gone"},
		"one that stays internal": {errors.New("secret of the house"), "[ERROR] internal error; the service's log has the cause under request r-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t)
			s.answerer.answer = func(_ context.Context, _ answer.Request, emit func(string) error) (answer.Answer, error) {
				return answer.Answer{}, errors.Join(emit("Half an ans"), c.err)
			}
			a := s.call("POST", "/agents/"+s.newAgent()+"/query", object{"query": "q", "streaming": true}, "X-Request-Id", "r-1").want(200)
			var client conversationClient
			client.take(parseStream(a.body, 3))
			if client.done || client.answer != "Half an ans" || client.err != c.want {
				t.Errorf("the client has %+v", client)
			}
			if !strings.HasSuffix(string(a.body), "data: "+c.want+"\n\n") {
				t.Errorf("the stream goes on after its error: %s", a.body)
			}
		})
	}
}

func TestADisconnectCancelsTheAnswer(t *testing.T) {
	t.Parallel()
	s := newService(t)
	stopped := make(chan error, 1)
	s.answerer.answer = func(ctx context.Context, _ answer.Request, emit func(string) error) (answer.Answer, error) {
		if err := emit("first token"); err != nil {
			return answer.Answer{}, err
		}
		<-ctx.Done()
		stopped <- ctx.Err()
		return answer.Answer{}, ctx.Err()
	}
	agent := s.newAgent()
	res := s.open("POST", "/agents/"+agent+"/query", `{"query":"q","streaming":true}`)
	if _, err := res.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	must(t, res.Body.Close())
	select {
	case err := <-stopped:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("stopped by %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the answerer was not told")
	}
}

func TestAClientThatStopsReadingIsDisconnected(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.WriteTimeout = 100 * time.Millisecond })
	stopped := make(chan int, 1)
	s.answerer.answer = func(ctx context.Context, _ answer.Request, emit func(string) error) (answer.Answer, error) {
		piece := strings.Repeat("x", 16<<10)
		for sent := 0; ; sent += len(piece) {
			if err := emit(piece); err != nil {
				stopped <- sent
				return answer.Answer{}, err
			}
		}
	}
	s.open("POST", "/agents/"+s.newAgent()+"/query", `{"query":"q","streaming":true}`)
	select {
	case sent := <-stopped:
		if limit := 32 << 20; sent > limit { // roughly what fits into the buffers at both ends of the connection
			t.Errorf("%d bytes were taken from the answerer", sent)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the answerer goes on")
	}
}
