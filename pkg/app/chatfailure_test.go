package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Time-outs for the failing providers. They are short because many tests wait for them.
const (
	chatStart = 2 * time.Second
	chatStall = 2 * time.Second
	chatGrace = 5 * time.Second // allowance for everything but the time-out on a busy machine
)

// failure describes how a provider fails and the error the client must get.
type failure struct {
	play   scenario
	midway bool // whether it fails after the first word, so that a stream reports the error in an event
	status int  // expected status if no event reports the failure
	says   string
	after  string // expected Retry-After
}

// failures returns all the ways a provider may fail.
func failures() map[string]failure {
	opening := func(then func(*wire)) scenario {
		return func(w *wire) { w.text("It opens"); then(w) }
	}
	return map[string]failure{
		"stalls before the first token": {play: (*wire).hang, status: 503, says: "did not start to answer within 2s"},
		"stalls behind its header":      {play: func(w *wire) { w.begin(); w.hang() }, status: 503, says: "did not start to answer within 2s"},
		"stalls after the first token":  {play: opening((*wire).hang), midway: true, status: 503, says: "sent nothing for 2s"},
		"breaks off at once":            {play: (*wire).cut, status: 503, says: "cannot be reached"},
		"breaks off":                    {play: opening((*wire).cut), midway: true, status: 503, says: "broke in the middle"},
		"ends too soon":                 {play: opening(func(*wire) {}), midway: true, status: 503, says: "broke in the middle"},
		"sends malformed first":         {play: (*wire).malformed, status: 503, says: "an invalid response"},
		"sends malformed chunks":        {play: opening((*wire).malformed), midway: true, status: 503, says: "an invalid response"},
		"sends an empty stream":         {play: func(w *wire) { w.end("stop", "end_turn") }, status: 503, says: "sent an empty answer"},
		"sends no stream at all":        {play: func(w *wire) { w.w.Header().Set("Content-Type", "text/event-stream") }, status: 503, says: "ended the response without an answer"},
		"is asked too much":             {play: func(w *wire) { w.refuse(429, "rate_limit_error", "slow down") }, status: 503, says: "is overloaded"},
		"is asked too much for long":    {play: func(w *wire) { w.refuse(429, "rate_limit_error", "slow down", "Retry-After", "77") }, status: 503, says: "is overloaded", after: "77"},
		"refuses the key":               {play: func(w *wire) { w.refuse(401, "authentication_error", "bad key sk-of-the-server") }, status: 503, says: "_API_KEY"},
		"forbids":                       {play: func(w *wire) { w.refuse(403, "permission_error", "not you") }, status: 503, says: "_API_KEY"},
		"does not know the model":       {play: func(w *wire) { w.refuse(404, "not_found_error", "model: x") }, status: 503, says: "HTTP 404"},
		"fails":                         {play: func(w *wire) { w.refuse(500, "api_error", "boom") }, status: 503, says: "HTTP 500"},
		"shows a proxy's error page":    {play: func(w *wire) { w.page(502) }, status: 503, says: "HTTP 502"},
		"shows a web page":              {play: func(w *wire) { w.page(200) }, status: 503, says: "_BASE_URL"},
		"filters the answer":            {play: func(w *wire) { w.end("content_filter", "refusal") }, status: 400, says: "content filter"},
		"filters the rest":              {play: opening(func(w *wire) { w.end("content_filter", "refusal") }), midway: true, status: 400, says: "content filter"},
		"finds it too long":             {play: func(w *wire) { w.refuse(400, "context_length_exceeded", "prompt is too long: 9 tokens > 8 maximum") }, status: 400, says: "too long for the model"},
		"sends a huge line":             {play: opening(func(w *wire) { w.text(strings.Repeat("x", 3<<20)) }), midway: true, status: 503, says: "a message that is too large"},
		"sends without end": {play: opening(func(w *wire) {
			for range 64 {
				w.text(strings.Repeat("x", 32<<10))
			}
		}), midway: true, status: 503, says: "longer than"},
	}
}

func TestAFailedProviderIsReportedAndKeepsTheConversation(t *testing.T) {
	t.Parallel()
	scenarios := map[string]scenario{"answers": func(w *wire) { w.text("It opens"); w.text(" at six."); w.end("stop", "end_turn") }}
	all := failures()
	for name, f := range all {
		scenarios[name] = f.play
	}
	server := newChatServer(t, scenarios)
	p := newProgram(t, server.settings("SLUICE_CHAT_START_TIMEOUT="+chatStart.String(), "SLUICE_CHAT_STALL_TIMEOUT="+chatStall.String(), "SLUICE_CHAT_ATTEMPTS=2")...)
	p.start()
	agent := p.newChatAgent()
	t.Run("group", func(t *testing.T) {
		for name, f := range all {
			for _, model := range []string{"llm_3_5_turbo", "llm_4"} {
				for _, streaming := range []bool{true, false} {
					t.Run(name+" "+model+map[bool]string{true: " streaming", false: ""}[streaming], func(t *testing.T) {
						t.Parallel()
						conversation := domain.NewID()
						f.check(t, p.ask(t, agent, name, model, conversation, streaming), streaming)
						if kept := p.messages(t, conversation); len(kept) != 0 {
							t.Fatalf("the conversation holds %q", kept)
						}
						again := p.ask(t, agent, "answers", model, conversation, streaming)
						if again.status != 200 || again.answer != "It opens at six." || again.failed != "" {
							t.Fatalf("put again it is answered with %+v", again)
						}
						if kept := p.messages(t, conversation); len(kept) != 2 || kept[1] != "It opens at six." {
							t.Fatalf("the conversation holds %q", kept)
						}
					})
				}
			}
		}
	})
	if strings.Contains(p.stderr.String(), "sk-of-the-server") {
		t.Error("the server's key is in the log")
	}
}

// check compares the client's result with the expected error.
func (f failure) check(t *testing.T, got received, streaming bool) {
	t.Helper()
	if limit := chatStart + chatStall + chatGrace; got.took > limit {
		t.Errorf("the response took %s, more than %s", got.took, limit)
	}
	if f.midway && streaming {
		if got.status != 200 || !strings.HasPrefix("It opens", got.answer[:min(8, len(got.answer))]) || !strings.HasPrefix(got.failed, "[ERROR] ") || !strings.Contains(got.failed, f.says) || got.done {
			t.Fatalf("got %s, want %q", got, f.says)
		}
		return
	}
	if got.status != f.status || got.answer != "" || !strings.Contains(got.problem.Detail, f.says) || got.problem.Status != f.status || got.problem.Error == "" || got.problem.Instance == "" {
		t.Fatalf("got %s, want status %d and %q", got, f.status, f.says)
	}
	if f.after != "" && got.after != f.after {
		t.Errorf("Retry-After is %q", got.after)
	}
	if strings.Contains(got.problem.Detail, "sk-of-the-server") {
		t.Errorf("the server's key is shown: %s", got.problem.Detail)
	}
}

// received is a response as the client sees it.
type received struct {
	status  int
	answer  string
	done    bool
	failed  string // data from the stream's error event
	after   string
	took    time.Duration
	problem struct {
		Status                  int
		Detail, Error, Instance string
	}
}

func (r received) String() string {
	return fmt.Sprintf("status %d, answer %.100q of %d bytes, done %v, failed %q, problem %+v, after %s", r.status, r.answer, len(r.answer), r.done, r.failed, r.problem, r.took)
}

// newChatAgent creates an agent without datastores, so its answers come only from the model.
func (p *program) newChatAgent() string {
	p.t.Helper()
	var agent struct{ ID string }
	p.must(p.post("/agents", map[string]any{"name": "chat"}, &agent))
	return agent.ID
}

// ask asks the agent a question that makes chatServer play the named scenario.
func (p *program) ask(t testing.TB, agent, name, model, conversation string, streaming bool) received {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": "<" + name + ">", "modelName": model, "conversationId": conversation, "visitorId": "v", "streaming": streaming})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.addr+"/agents/"+agent+"/query", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+testKey)
	req.Header.Set("Content-Type", "application/json")
	began := time.Now()
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	got := received{status: res.StatusCode, after: res.Header.Get("Retry-After"), took: time.Since(began)}
	switch {
	case res.StatusCode != http.StatusOK:
		err = json.Unmarshal(raw, &got.problem)
	case streaming:
		got.read(string(raw))
	default:
		var whole struct{ Answer string }
		err = json.Unmarshal(raw, &whole)
		got.answer = whole.Answer
	}
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return got
}

func (a *received) read(stream string) {
	for block := range strings.SplitSeq(stream, "\n\n") {
		name, data := "", []string{}
		for line := range strings.SplitSeq(block, "\n") {
			if v, ok := strings.CutPrefix(line, "event: "); ok {
				name = v
			}
			if v, ok := strings.CutPrefix(line, "data: "); ok {
				data = append(data, v)
			}
		}
		text := strings.Join(data, "\n")
		switch {
		case name == "answer":
			a.answer += text
		case text == "[DONE]":
			a.done = true
		case strings.HasPrefix(text, "[ERROR]"):
			a.failed = text
		}
	}
}

// messages returns the texts in a conversation, or none if it does not exist.
func (p *program) messages(t testing.TB, conversation string) []string {
	t.Helper()
	var talk struct{ Messages []struct{ Text string } }
	if err := p.get("/conversations/"+conversation, &talk); err != nil && !refusedWith(err, http.StatusNotFound) {
		t.Fatal(err)
	}
	var out []string
	for _, m := range talk.Messages {
		out = append(out, m.Text)
	}
	return out
}

func TestABusyProviderIsRetriedAfterItsDelay(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	server := newChatServer(t, map[string]scenario{"busy once": func(w *wire) {
		if tries.Add(1)%2 == 1 {
			w.refuse(429, "rate_limit_error", "slow down", "Retry-After", "1")
			return
		}
		w.text("At six.")
		w.end("stop", "end_turn")
	}})
	p := newProgram(t, server.settings()...)
	p.start()
	agent := p.newChatAgent()
	for _, model := range []string{"llm_3_5_turbo", "llm_4"} {
		got := p.ask(t, agent, "busy once", model, domain.NewID(), true)
		if got.status != 200 || got.answer != "At six." || got.took < time.Second || !got.done {
			t.Errorf("%s: %+v", model, got)
		}
	}
}

func TestTheFallbackAnswersIfTheModelFailsBeforeItsFirstToken(t *testing.T) {
	t.Parallel()
	var stalled atomic.Int64
	server := newChatServer(t, map[string]scenario{
		"down": func(w *wire) {
			if w.anthropic {
				w.text("Of the fallback.")
				w.end("stop", "end_turn")
				return
			}
			w.refuse(503, "overloaded", "down")
		},
		"stalls": func(w *wire) {
			if w.anthropic {
				w.text("Of the fallback.")
				w.end("stop", "end_turn")
				return
			}
			w.hang()
			stalled.Add(1)
		},
		"breaks": func(w *wire) {
			if w.anthropic {
				w.text("Of the fallback.")
				w.end("stop", "end_turn")
				return
			}
			w.text("Of the first")
			w.cut()
		},
	})
	p := newProgram(t, server.settings("SLUICE_MODEL_LLM_4=", "SLUICE_CHAT_FALLBACK=anthropic:a", "SLUICE_CHAT_START_TIMEOUT=1s", "SLUICE_CHAT_ATTEMPTS=1")...)
	p.start()
	agent := p.newChatAgent()
	for _, name := range []string{"down", "stalls"} {
		if got := p.ask(t, agent, name, "llm_3_5_turbo", domain.NewID(), true); got.status != 200 || got.answer != "Of the fallback." || !got.done {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if stalled.Load() != 1 {
		t.Error("the model that stalled was not left")
	}
	if got := p.ask(t, agent, "breaks", "llm_3_5_turbo", domain.NewID(), true); got.answer != "Of the first" || got.failed == "" {
		t.Errorf("after the first word: %+v", got)
	}
	if !strings.Contains(p.stderr.String(), "using the fallback model") {
		t.Error("the log does not tell")
	}
}

func TestDisconnectedClientsLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	const clients = 50
	var open atomic.Int64
	begun := make(chan struct{}, clients)
	server := newChatServer(t, map[string]scenario{"goes on": func(w *wire) {
		open.Add(1)
		defer open.Add(-1)
		w.text("It opens")
		begun <- struct{}{}
		w.hang()
	}})
	p := newProgram(t, server.settings()...)
	p.start()
	agent := p.newChatAgent()
	before := p.idleGoroutines(t, &open)
	for _, model := range []string{"llm_3_5_turbo", "llm_4"} {
		ctx, vanish := context.WithCancel(t.Context())
		client := &http.Client{Transport: &http.Transport{}}
		for range clients {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.addr+"/agents/"+agent+"/query",
				strings.NewReader(`{"query":"<goes on>","streaming":true,"modelName":"`+model+`"}`))
			p.must(err)
			req.Header.Set("Authorization", "Bearer "+testKey)
			req.Header.Set("Content-Type", "application/json")
			res, err := client.Do(req) // returns when the first token arrives
			p.must(err)
			defer res.Body.Close()
			<-begun
		}
		vanish()
		p.waitForGoroutines(t, before, &open)
		client.CloseIdleConnections()
	}
}
