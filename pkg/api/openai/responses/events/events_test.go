package events_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/api/openai/responses/events"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/api/sse"
	"github.com/sluice/sluice/pkg/domain"
)

const id = object.ResponsePrefix + "0198c0de-0000-7000-8000-000000000001"

// final returns a finished response with a search, a message with a citation, and two function calls.
func final(background bool) object.Response {
	at := int64(20)
	out := func(kind string, i int) object.Item {
		return object.Item{Type: kind, ID: object.OutputID(kind, id, i), Status: object.ItemCompleted}
	}
	search, message := out(object.TypeFileSearchCall, 0), out(object.TypeMessage, 1)
	first, second := out(object.TypeFunctionCall, 2), out(object.TypeFunctionCall, 3)
	search.Queries, search.Results = []string{"warranty"}, []object.Result{{FileID: "file-1", Filename: "pump.pdf", Score: 0.5, Text: "Thirty months."}}
	message.Content = []object.Content{object.Text("Garantía: 30 months [1].", []object.Annotation{{Type: "file_citation", Index: 20, FileID: "file-1", Filename: "pump.pdf"}})}
	first.CallID, first.Name, first.Arguments = "call_1", "weather", `{"place":"Oslo"}`
	second.CallID, second.Name, second.Arguments = "call_2", "now", `{}`
	return object.Response{
		ID: id, Object: "response", CreatedAt: 10, CompletedAt: &at, Status: domain.ResponseCompleted, Background: background,
		Model: "m", Output: []object.Item{search, message, first, second}, Usage: object.NewUsage(3, 4), Tools: []json.RawMessage{},
		Text: json.RawMessage(`{}`), ToolChoice: json.RawMessage(`"auto"`),
	}
}

// live returns the steps for streaming the response r. It calls `size` to get the size of each piece of output.
func live(r object.Response, size func() int) []events.Step {
	params := r
	params.Status = domain.ResponseInProgress
	steps := []events.Step{{Kind: events.Created, Response: &params}}
	if r.Background {
		params.Status = domain.ResponseQueued
		steps = append(steps, events.Step{Kind: events.Queued})
	}
	steps = append(steps, events.Step{Kind: events.InProgress}, events.Step{Kind: events.Searching}, events.Step{Kind: events.Searched, Item: &r.Output[0]})
	for rest := r.Output[1].Content[0].Text; rest != ""; {
		n := min(size(), len(rest))
		steps = append(steps, events.Step{Kind: events.Text, Text: rest[:n]})
		rest = rest[n:]
	}
	for i, item := range r.Output[2:] {
		d := chat.CallDelta{Index: i, ID: item.CallID, Name: item.Name}
		for rest := item.Arguments; rest != ""; d.ID, d.Name = "", "" {
			n := min(size(), len(rest))
			d.Arguments, rest = rest[:n], rest[n:]
			steps = append(steps, events.Step{Kind: events.Call, Call: d})
		}
	}
	return append(steps, events.Step{Kind: events.Ended, Response: &r})
}

func sent(t *testing.T, after int, steps ...events.Step) (all []sse.Event) {
	t.Helper()
	w := &events.Writer{Results: true, After: after, Send: func(some []sse.Event) error { all = append(all, some...); return nil }}
	for _, s := range steps {
		if err := w.Apply(s); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func names(all []sse.Event) (out []string) {
	for _, e := range all {
		out = append(out, strings.TrimPrefix(e.Name, "response."))
	}
	return out
}

func traced(steps []events.Step) events.Trace {
	var t events.Tracer
	for _, s := range steps {
		t.Add(s)
	}
	return t.Trace
}

func TestEventsComeInTheDocumentedOrder(t *testing.T) {
	t.Parallel()
	all := sent(t, -1, live(final(true), func() int { return 10 })...)
	want := []string{
		"created", "queued", "in_progress",
		"output_item.added", "file_search_call.in_progress", "file_search_call.searching", "file_search_call.completed", "output_item.done",
		"output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.delta",
		"output_item.added", "function_call_arguments.delta", "function_call_arguments.delta",
		"output_item.added", "function_call_arguments.delta",
		"output_text.annotation.added", "output_text.done", "content_part.done", "output_item.done",
		"function_call_arguments.done", "output_item.done", "function_call_arguments.done", "output_item.done", "completed",
	}
	if diff := cmp.Diff(want, names(all)); diff != "" {
		t.Error(diff)
	}
	for i, e := range all {
		var v struct {
			Type     string
			Sequence int `json:"sequence_number"`
		}
		if err := json.Unmarshal([]byte(e.Data), &v); err != nil || v.Sequence != i || v.Type != e.Name {
			t.Errorf("event %d: %s %v", i, e.Data, err)
		}
	}
}

// A replay must have the same events as the first stream, no matter which event it starts from.
func TestAReplayEqualsTheFirstStream(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		r := final(random.IntN(2) == 0)
		steps := live(r, func() int { return 1 + random.IntN(7) })
		// Go encodes an incomplete character as U+FFFD, but providers never split one between pieces.
		for i, s := range steps {
			if s.Kind == events.Text && strings.ToValidUTF8(s.Text, "") != s.Text {
				steps[i].Text += steps[i+1].Text
				steps = slices.Delete(steps, i+1, i+2)
				break
			}
		}
		all := sent(t, -1, steps...)
		again := sent(t, -1, events.Replay(r, traced(steps))...)
		if diff := cmp.Diff(all, again); diff != "" {
			t.Fatal(diff)
		}
		after := random.IntN(len(all) - 1)
		if diff := cmp.Diff(all[after+1:], sent(t, after, events.Replay(r, traced(steps))...)); diff != "" {
			t.Fatal(diff)
		}
	}
}

// A crash may lose events that a client has already received. The client then asks for events after a number that the
// stored response never reaches. It must still get the last event.
func TestTheLastEventIsAlwaysSent(t *testing.T) {
	t.Parallel()
	r := final(true)
	r.Status, r.Output, r.CompletedAt = domain.ResponseFailed, nil, nil
	all := sent(t, 40, events.Replay(r, events.Trace{})...)
	if len(all) != 1 || all[0].Name != "response.failed" || !strings.Contains(all[0].Data, `"sequence_number":41`) {
		t.Errorf("%v", all)
	}
}

func TestResultsAreLeftOutUnlessRequested(t *testing.T) {
	t.Parallel()
	r := final(false)
	var text strings.Builder
	w := &events.Writer{After: -1, Send: func(some []sse.Event) error {
		for _, e := range some {
			text.WriteString(e.Data)
		}
		return nil
	}}
	if err := w.Apply(live(r, func() int { return 5 })...); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "Thirty months.") || r.Output[0].Results == nil {
		t.Error(text.String())
	}
}

// If an answer has too many pieces, the log joins some of them. Clients that read the log must see the same events as
// clients that get a replay.
func TestALogBoundsTheNumberOfPieces(t *testing.T) {
	t.Parallel()
	r := final(true)
	r.Output[1].Content[0] = object.Text(strings.Repeat("x", events.MaxPieces+5000), nil)
	log := events.NewLog()
	read := make(chan []events.Step)
	go func() {
		var all []events.Step
		for ended := false; !ended; {
			var some []events.Step
			var err error
			if some, ended, err = log.Read(context.Background(), len(all)); err != nil {
				t.Error(err)
			}
			all = append(all, some...)
		}
		read <- all
	}()
	for _, s := range live(r, func() int { return 1 }) {
		log.Add(s)
	}
	steps := <-read
	if n := len(steps); n > events.MaxPieces+10 {
		t.Errorf("%d steps", n)
	}
	all := sent(t, -1, steps...)
	if diff := cmp.Diff(all, sent(t, -1, events.Replay(r, log.Traced().Trace)...)); diff != "" {
		t.Error(diff[:min(len(diff), 2000)])
	}
}

func TestReadingALogEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := events.NewLog().Read(ctx, 0); err == nil {
		t.Error("it returned without an error")
	}
}

// A stored trace that doesn't match the response must be harmless.
func FuzzReplay(f *testing.F) {
	f.Add(1, 3, 2, 100)
	f.Add(-1, 3, 9, -5)
	f.Fuzz(func(t *testing.T, a, b, c, d int) {
		r := final(a%2 == 0)
		all := sent(t, -1, events.Replay(r, events.Trace{Started: true, Pieces: [][2]int{{a, b}, {c, d}, {a, d}}})...)
		var text strings.Builder
		for _, e := range all {
			var v struct {
				Type, Delta string
			}
			if err := json.Unmarshal([]byte(e.Data), &v); err != nil {
				t.Fatal(err)
			}
			if v.Type == "response.function_call_arguments.delta" {
				text.WriteString(v.Delta)
			}
		}
		if got := len(text.String()); got != len(r.Output[2].Arguments)+len(r.Output[3].Arguments) {
			t.Errorf("%q", text.String())
		}
	})
}
