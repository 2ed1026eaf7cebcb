// Package events streams a response as Responses API events.
//
// A response is a sequence of steps, such as some text arriving or the search ending. A Writer converts steps to
// events. The same steps always give the same events with the same sequence numbers. That makes it possible to replay a
// stored response from the lengths of its pieces (see Replay), and to stream a response in progress to several clients
// (see Log).
package events

import (
	"encoding/json"
	"fmt"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/api/sse"
	"github.com/sluice/sluice/pkg/domain"
)

// Kind is a kind of step.
type Kind int

// Kinds of steps, in order. Searching and Searched occur only if there is a search.
const (
	Created    Kind = iota // the response has been accepted; Response has the parameters
	Queued                 // the response is waiting to be answered; only in the background
	InProgress             // the response is being answered
	Searching              // the search has begun
	Searched               // the search has ended; Item is the search
	Text                   // more text
	Call                   // more of a function call
	Ended                  // the response has ended; Response is the result
)

// Step is one step of a response.
type Step struct {
	Kind     Kind
	Response *object.Response
	Item     *object.Item
	Text     string
	Call     chat.CallDelta
}

// Writer converts steps to events.
type Writer struct {
	Send    func(events []sse.Event) error
	Results bool // whether the client has requested file search results
	After   int  // skip events up to this sequence number; -1 means none

	sequence int
	response object.Response // the response's parameters
	status   domain.ResponseStatus
	output   []output
	pending  []sse.Event
}

// output is an output item that has begun.
type output struct {
	kind, id string
	call     int // the function call's number
}

// Apply sends all of the steps' events at once.
func (w *Writer) Apply(steps ...Step) error {
	w.pending = w.pending[:0]
	for _, s := range steps {
		if err := w.apply(s); err != nil {
			return err
		}
	}
	if len(w.pending) == 0 {
		return nil
	}
	return w.Send(w.pending)
}

func (w *Writer) apply(s Step) error {
	switch s.Kind {
	case Created:
		w.response = *s.Response
		w.status = s.Response.Status
		return w.state("response.created")
	case Queued:
		return w.state("response.queued")
	case InProgress:
		w.status = domain.ResponseInProgress
		return w.state("response.in_progress")
	case Searching:
		return w.searching()
	case Searched:
		return w.searched(*s.Item)
	case Text:
		return w.text(s.Text)
	case Call:
		return w.call(s.Call)
	default:
		return w.end(*s.Response)
	}
}

// header is common to all events.
type header struct {
	Type     string `json:"type"`
	Sequence int    `json:"sequence_number"`
}

// event queues one event. `data` returns the event's content with the given header. Events numbered w.After or lower
// are skipped, because the client has asked to start after that event.
func (w *Writer) event(name string, data func(header) any) error {
	h := header{name, w.sequence}
	w.sequence++
	if h.Sequence <= w.After {
		return nil
	}
	encoded, err := json.Marshal(data(h))
	if err != nil {
		return fmt.Errorf("encoding the event %s: %w", name, err)
	}
	w.pending = append(w.pending, sse.Event{Name: name, Data: string(encoded)})
	return nil
}

type responseEvent struct {
	header
	Response object.Response `json:"response"`
}

// state queues an event with the response as it was before the answer began.
func (w *Writer) state(name string) error {
	r := w.response
	r.Status = w.status
	r.CompletedAt, r.Error, r.IncompleteDetails, r.Usage = nil, nil, nil, nil
	r.Output, r.Sources, r.Sentences, r.Grounded = []object.Item{}, nil, nil, nil
	return w.event(name, func(h header) any { return responseEvent{h, r} })
}

// at locates an event within the output.
type at struct {
	ItemID      string `json:"item_id"`
	OutputIndex int    `json:"output_index"`
}

type itemEvent struct {
	header
	OutputIndex int         `json:"output_index"`
	Item        object.Item `json:"item"`
}

type placeEvent struct {
	header
	at
}

// begin queues the event for a new output item and returns the item's index.
func (w *Writer) begin(item object.Item, call int) (index int, err error) {
	index = len(w.output)
	item.ID = object.OutputID(item.Type, w.response.ID, index)
	w.output = append(w.output, output{item.Type, item.ID, call})
	return index, w.event("response.output_item.added", func(h header) any { return itemEvent{h, index, item} })
}

// find returns an output item's index, or -1 if the item doesn't exist yet. `kind` is the item's type. `call` is a
// function call's position among all function calls; it is 0 for other types.
func (w *Writer) find(kind string, call int) int {
	for i, o := range w.output {
		if o.kind == kind && o.call == call {
			return i
		}
	}
	return -1
}

func (w *Writer) place(index int) at { return at{w.output[index].id, index} }

func (w *Writer) searching() error {
	index, err := w.begin(object.Item{Type: object.TypeFileSearchCall, Status: object.ItemInProgress}, 0)
	for _, name := range []string{"response.file_search_call.in_progress", "response.file_search_call.searching"} {
		if err == nil {
			err = w.event(name, func(h header) any { return placeEvent{h, w.place(index)} })
		}
	}
	return err
}

func (w *Writer) searched(item object.Item) error {
	index := w.find(object.TypeFileSearchCall, 0)
	if index < 0 {
		return nil
	}
	err := w.event("response.file_search_call.completed", func(h header) any { return placeEvent{h, w.place(index)} })
	if err == nil {
		err = w.done(index, item)
	}
	return err
}

func (w *Writer) done(index int, item object.Item) error {
	if !w.Results {
		item.Results = nil
	}
	return w.event("response.output_item.done", func(h header) any { return itemEvent{h, index, item} })
}

type partEvent struct {
	header
	at
	ContentIndex int            `json:"content_index"`
	Part         object.Content `json:"part"`
}

type textEvent struct {
	header
	at
	ContentIndex int      `json:"content_index"`
	Delta        string   `json:"delta"`
	Logprobs     []string `json:"logprobs"`
}

// text queues the events for more of the message's text.
func (w *Writer) text(piece string) error {
	index := w.find(object.TypeMessage, 0)
	if index < 0 {
		var err error
		if index, err = w.begin(object.Item{Type: object.TypeMessage, Status: object.ItemInProgress}, 0); err != nil {
			return err
		}
		err = w.event("response.content_part.added", func(h header) any { return partEvent{h, w.place(index), 0, object.Text("", nil)} })
		if err != nil {
			return err
		}
	}
	return w.event("response.output_text.delta", func(h header) any { return textEvent{h, w.place(index), 0, piece, []string{}} })
}

type argumentsEvent struct {
	header
	at
	Delta string `json:"delta"`
}

// call queues the events for more of a function call.
func (w *Writer) call(d chat.CallDelta) error {
	index := w.find(object.TypeFunctionCall, d.Index)
	if index < 0 {
		var err error
		item := object.Item{Type: object.TypeFunctionCall, Status: object.ItemInProgress, CallID: d.ID, Name: d.Name}
		if index, err = w.begin(item, d.Index); err != nil {
			return err
		}
	}
	if d.Arguments == "" {
		return nil
	}
	return w.event("response.function_call_arguments.delta", func(h header) any { return argumentsEvent{h, w.place(index), d.Arguments} })
}
