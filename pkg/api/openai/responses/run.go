package responses

import (
	"context"
	"strings"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/answer/evidence"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/openai/responses/events"
	"github.com/sluice/sluice/pkg/api/openai/responses/object"
	"github.com/sluice/sluice/pkg/domain"
)

// run is a response's state from the request until the response has ended.
type run struct {
	service  *Service
	caller   access.Caller
	params   params
	response object.Response // as it was before the answer
	request  answer.Request
	ask      Ask
	searches bool // whether the output starts with a file search
}

// outcome is the result of generating a response.
type outcome struct {
	response object.Response
	trace    events.Trace
	err      error // why there is no answer
}

// progress collects a response's output while the response is being generated.
type progress struct {
	send   func(steps ...events.Step) error // if nil, nothing is sent
	tracer events.Tracer
	text   strings.Builder
	calls  []*call
	search *object.Item // nil if there is none
}

type call struct {
	id, name  string
	arguments strings.Builder
}

func (p *progress) add(steps ...events.Step) error {
	for _, s := range steps {
		p.tracer.Add(s)
		switch s.Kind {
		case events.Text:
			p.text.WriteString(s.Text)
		case events.Call:
			if s.Call.Index == len(p.calls) {
				p.calls = append(p.calls, &call{id: s.Call.ID, name: s.Call.Name})
			}
			p.calls[s.Call.Index].arguments.WriteString(s.Call.Arguments)
		case events.Searched:
			p.search = s.Item
		}
	}
	if p.send == nil {
		return nil
	}
	return p.send(steps...)
}

// searched records the end of the search. Only the first call has an effect.
func (p *progress) searched(r *run, query string, found []domain.Fragment) error {
	if p.search == nil || p.search.Status != object.ItemSearching {
		return nil
	}
	done := *p.search
	done.Status, done.Queries, done.Results = object.ItemCompleted, []string{query}, r.results(found)
	return p.add(events.Step{Kind: events.Searched, Item: &done})
}

// execute generates the response. `send` receives the steps from InProgress to the last piece of output. It is nil if
// the response isn't streamed.
func (r *run) execute(ctx context.Context, send func(steps ...events.Step) error) outcome {
	p := &progress{send: send}
	begin := []events.Step{{Kind: events.InProgress}}
	if r.searches {
		begin = append(begin, events.Step{Kind: events.Searching})
		p.search = &object.Item{Type: object.TypeFileSearchCall, ID: object.OutputID(object.TypeFileSearchCall, r.response.ID, 0), Status: object.ItemSearching}
	}
	if err := p.add(begin...); err != nil {
		return r.end(ctx, p, answer.Answer{}, err)
	}
	r.request.OnSearch = func(query string, found []domain.Fragment) error { return p.searched(r, query, found) }
	var emit func(string) error
	if send != nil {
		emit = func(text string) error {
			if err := p.searched(r, r.request.Query, nil); err != nil { // nothing was searched
				return err
			}
			return p.add(events.Step{Kind: events.Text, Text: text})
		}
		r.request.OnCall = func(d chat.CallDelta) error {
			if d.Index > 0 && !r.params.parallel {
				return nil
			}
			return p.add(events.Step{Kind: events.Call, Call: d})
		}
	}
	a, err := r.ask(ctx, r.request, emit)
	if err == nil {
		err = p.searched(r, r.request.Query, nil)
	}
	if err == nil && send == nil {
		err = p.whole(a, r.params.parallel)
	}
	return r.end(ctx, p, a, err)
}

// whole records an answer that was not streamed.
func (p *progress) whole(a answer.Answer, parallel bool) error {
	if a.Text != "" {
		if err := p.add(events.Step{Kind: events.Text, Text: a.Text}); err != nil {
			return err
		}
	}
	for i, c := range a.ToolCalls {
		if i > 0 && !parallel {
			break
		}
		delta := chat.CallDelta{Index: i, ID: c.ID, Name: c.Name, Arguments: c.Arguments}
		if err := p.add(events.Step{Kind: events.Call, Call: delta}); err != nil {
			return err
		}
	}
	return nil
}

// end returns the response with its result.
func (r *run) end(ctx context.Context, p *progress, a answer.Answer, err error) outcome {
	out := r.response
	out.Status, out.Usage = domain.ResponseCompleted, object.NewUsage(a.PromptTokens, a.CompletionTokens)
	if a.Cut {
		out.Status, out.IncompleteDetails = domain.ResponseIncomplete, &object.IncompleteDetails{Reason: "max_output_tokens"}
	}
	status := object.ItemCompleted
	if err != nil || a.Cut {
		status = object.ItemIncomplete
	}
	for i, o := range p.tracer.Output {
		item := object.Item{Type: o.Kind, ID: object.OutputID(o.Kind, out.ID, i), Status: status}
		switch o.Kind {
		case object.TypeFileSearchCall:
			item = *p.search
			if item.Status != object.ItemCompleted {
				item.Status = object.ItemFailed
			}
		case object.TypeMessage:
			text := p.text.String()
			item.Content = []object.Content{object.Text(text, r.annotations(text, a))}
		default:
			c := p.calls[o.Call]
			item.CallID, item.Name, item.Arguments = c.id, c.name, c.arguments.String()
		}
		out.Output = append(out.Output, item)
	}
	done := outcome{response: out, trace: p.tracer.Trace, err: err}
	if err != nil {
		return r.failed(ctx, done, err)
	}
	completed := r.service.Now().Unix()
	done.response.CompletedAt = &completed
	grounded := len(a.Sources) > 0
	done.response.Grounded, done.response.Sentences = &grounded, evidence.Sentences(a.Text, a.Sources, a.Sentences)
	if done.response.Sources, err = r.service.Backend.Sources(a.Sources); err != nil {
		return r.failed(ctx, done, err)
	}
	return done
}

const (
	codeServer    = "server_error"
	codeRateLimit = "rate_limit_exceeded"
	codeInvalid   = "invalid_prompt"
)

// failed returns the outcome for a response that failed, or was cancelled because the client disconnected.
func (r *run) failed(ctx context.Context, done outcome, err error) outcome {
	done.err = err
	done.response.CompletedAt, done.response.IncompleteDetails = nil, nil
	if ctx.Err() != nil {
		done.response.Status = domain.ResponseCancelled
		return done
	}
	e := r.service.Backend.Explain(ctx, err)
	code := codeServer
	switch e.Code {
	case domain.CodeRateLimit, domain.CodeUsageLimit:
		code = codeRateLimit
	case domain.CodeInvalid, domain.CodeTooLarge:
		code = codeInvalid
	}
	done.response.Status, done.response.Error = domain.ResponseFailed, &object.Error{Code: code, Message: e.Message}
	return done
}
