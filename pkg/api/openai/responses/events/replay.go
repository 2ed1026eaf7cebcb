package events

import (
	"slices"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/domain"
)

// Trace records how a response was streamed, so that it can be streamed again in the same way.
type Trace struct {
	Started bool `json:"started"` // whether the InProgress step has occurred
	// Pieces holds, for each piece of output, its output item's index and its size in bytes.
	Pieces [][2]int `json:"pieces,omitempty"`
}

// MaxPieces is the maximum number of pieces in a trace. A Log joins any beyond it.
const MaxPieces = 20_000

// Output identifies an output item by its type and, for a function call, by its position among all function calls.
type Output struct {
	Kind string
	Call int
}

// outputOf returns the output item that a step adds to and the number of bytes it adds. `ok` is false for steps without
// output.
func outputOf(s Step) (o Output, bytes int, ok bool) {
	switch s.Kind {
	case Text:
		return Output{Kind: object.TypeMessage}, len(s.Text), true
	case Call:
		return Output{object.TypeFunctionCall, s.Call.Index}, len(s.Call.Arguments), true
	default:
		return Output{}, 0, false
	}
}

// Tracer records a response's trace and the order of its output items.
type Tracer struct {
	Trace  Trace
	Output []Output
}

// Add records a step. Pieces beyond MaxPieces are not recorded.
func (t *Tracer) Add(s Step) {
	switch s.Kind {
	case InProgress:
		t.Trace.Started = true
	case Searching:
		t.Output = append(t.Output, Output{Kind: object.TypeFileSearchCall})
	}
	o, bytes, ok := outputOf(s)
	if !ok {
		return
	}
	index := slices.Index(t.Output, o)
	if index < 0 {
		index = len(t.Output)
		t.Output = append(t.Output, o)
	}
	if len(t.Trace.Pieces) < MaxPieces {
		t.Trace.Pieces = append(t.Trace.Pieces, [2]int{index, bytes})
	}
}

// Replay returns the steps for streaming a finished response again. Text that the trace doesn't cover becomes one piece
// at the end of its output item.
func Replay(r object.Response, trace Trace) []Step {
	params := r
	params.Status = domain.ResponseInProgress
	steps := []Step{{Kind: Created, Response: &params}}
	if r.Background {
		params.Status = domain.ResponseQueued
		steps = append(steps, Step{Kind: Queued})
	}
	if trace.Started {
		steps = append(steps, Step{Kind: InProgress})
	}
	p := pieces{items: r.Output, sent: make([]int, len(r.Output)), calls: make([]int, len(r.Output)), begun: make([]bool, len(r.Output))}
	calls := 0
	for i, item := range r.Output {
		switch item.Type {
		case object.TypeFileSearchCall:
			steps = append(steps, Step{Kind: Searching})
			if item.Status == object.ItemCompleted {
				steps = append(steps, Step{Kind: Searched, Item: &item})
			}
		case object.TypeFunctionCall:
			p.calls[i] = calls
			calls++
		}
	}
	for _, piece := range trace.Pieces {
		steps = p.next(steps, piece[0], piece[1])
	}
	for i, item := range r.Output {
		if rest := len(contentOf(item)) - p.sent[i]; rest > 0 || !p.begun[i] {
			steps = p.next(steps, i, rest)
		}
	}
	return append(steps, Step{Kind: Ended, Response: &r})
}

// contentOf returns a message's text or a function call's arguments.
func contentOf(item object.Item) string {
	if item.Type == object.TypeFunctionCall {
		return item.Arguments
	}
	if len(item.Content) == 0 {
		return ""
	}
	return item.Content[0].Text
}

// pieces splits output items into pieces.
type pieces struct {
	items []object.Item
	sent  []int  // bytes per item in the steps so far
	calls []int  // each function call's number
	begun []bool // whether the steps so far contain a piece of the item
}

// next appends a step with the next `size` bytes of an output item. It ignores file searches and out-of-range indexes.
func (p *pieces) next(steps []Step, index, size int) []Step {
	if index < 0 || index >= len(p.items) || p.items[index].Type == object.TypeFileSearchCall {
		return steps
	}
	item := p.items[index]
	content := contentOf(item)
	from := p.sent[index]
	to := min(from+max(size, 0), len(content))
	first := !p.begun[index]
	p.sent[index], p.begun[index] = to, true
	if item.Type == object.TypeMessage {
		if from == to {
			return steps
		}
		return append(steps, Step{Kind: Text, Text: content[from:to]})
	}
	call := chat.CallDelta{Index: p.calls[index], Arguments: content[from:to]}
	if first {
		call.ID, call.Name = item.CallID, item.Name
	}
	return append(steps, Step{Kind: Call, Call: call})
}
