package remote

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Limits on tool calls in one response.
const (
	maxToolCalls     = 128
	maxToolCallBytes = 1 << 20
)

type toolCalls struct {
	offered bool // whether the request has tools; otherwise calls are dropped
	calls   []*toolCall
	at      map[int]*toolCall // calls by the server's index
	bytes   int
	started int // number of calls passed to onCall
}

type toolCall struct {
	id, name    string
	arguments   strings.Builder
	sent        int  // bytes of the arguments passed to onCall
	generatedID bool // whether id was generated because the server sent none with the first delta
	number      int  // number among the calls passed to onCall, from 1; 0 if not passed yet
}

// Call records a tool call delta. As in OpenAI's API, a call's first delta has its id and name. If a server omits the
// index, each new id starts a new call.
func (r *Reply) Call(index int, id, name, arguments string) error {
	r.stallTimer.Reset(r.next)
	t := &r.calls
	if !t.offered {
		return nil
	}
	call := t.at[index]
	if call == nil || id != "" && call.id != "" && id != call.id && !call.generatedID {
		if len(t.calls) == maxToolCalls {
			return fmt.Errorf("tool calls: %w", bounded.ErrTooLarge)
		}
		if t.at == nil {
			t.at = make(map[int]*toolCall)
		}
		call = &toolCall{}
		t.at[index], t.calls = call, append(t.calls, call)
	}
	if t.bytes += len(id) + len(name) + len(arguments); t.bytes > maxToolCallBytes {
		return fmt.Errorf("arguments of tool calls: %w", bounded.ErrTooLarge)
	}
	if call.id == "" {
		call.id = id
	}
	if call.name == "" {
		call.name = name
	}
	call.arguments.WriteString(arguments)
	return r.passCall(call, false)
}

// passCall passes the new part of a call to onCall, once the tool's name is known. last means that the answer has
// ended; a call without arguments then gets an empty object.
func (r *Reply) passCall(call *toolCall, last bool) error {
	if r.onCall == nil || call.name == "" {
		return nil
	}
	arguments := call.arguments.String()[call.sent:]
	call.sent += len(arguments)
	if last && call.sent == 0 {
		arguments = noArguments
	}
	piece := chat.CallDelta{Index: call.number - 1, Arguments: arguments}
	if call.number == 0 {
		r.calls.started++
		call.number = r.calls.started
		if call.id == "" {
			call.id, call.generatedID = callID(call.number), true
		}
		piece.Index, piece.ID, piece.Name = call.number-1, call.id, call.name
	} else if arguments == "" {
		return nil
	}
	return r.deliver(arguments, func() error { return r.onCall(piece) })
}

// finishCalls passes everything left of the calls to onCall.
func (r *Reply) finishCalls() error {
	for _, call := range r.calls.calls {
		if err := r.passCall(call, true); err != nil {
			return err
		}
	}
	return nil
}

// noArguments are a call's arguments if the model wrote none.
const noArguments = "{}"

// callID returns the id of the n-th tool call (from 1) if the server sends none.
func callID(n int) string { return fmt.Sprintf("call_%d", n) }

// Called reports whether the response has tool calls.
func (r *Reply) Called() bool { return len(r.calls.calls) > 0 }

// complete returns the calls, adding ids to those without one.
func (t *toolCalls) complete() []chat.ToolCall {
	var out []chat.ToolCall
	for i, c := range t.calls {
		call := chat.ToolCall{ID: c.id, Name: c.name, Arguments: c.arguments.String()}
		if call.Name == "" {
			continue
		}
		if call.ID == "" {
			call.ID = callID(i + 1)
		}
		if call.Arguments == "" {
			call.Arguments = noArguments
		}
		out = append(out, call)
	}
	return out
}

// refusesTools matches errors from servers whose model does not support tools.
var refusesTools = lazyregexp.New(`(?i)\btools?\b|\btool[ _](?:choice|call)`)

// ToolError returns ErrNoTools if err means that the request was rejected because of its tools, and otherwise err.
func ToolError(err error, p chat.Prompt) error {
	var status *Status
	if len(p.Params.Tools) == 0 || !errors.As(err, &status) || !refusesTools().MatchString(status.Message) {
		return err
	}
	switch status.HTTP {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
		return fmt.Errorf("%w: %s", ErrNoTools, status.Error())
	}
	return err
}
