package answer

import (
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/domain"
)

// promptDraft is a prompt before a model is chosen.
type promptDraft struct {
	prompt       chat.Prompt // without System and Messages
	style        promptStyle
	instructions string // the caller's instructions, which follow all others
	history      []chat.Turn
	continuation []chat.Turn                // tool calls after the question, and their results
	whole        bool                       // as in Request.Whole
	drops        bool                       // whether to remove unsupported sentences from the answer
	declined     bool                       // whether to skip the model because nothing relevant was found
	embedTokens  int64                      // estimated tokens embedded for the searches
	onCall       func(chat.CallDelta) error // as in Request.OnCall
	ignored      func([]string)             // receives the names of parameters the model does not support
	rewriting    chat.Completion            // usage of the model that rewrote the query
}

func (d promptDraft) write(fragments []domain.Fragment, history []chat.Turn) chat.Prompt {
	p := d.prompt
	p.Fragments, p.Earlier = fragments, d.history
	p.System, p.Messages = d.style.prompt(materials{question: p.Question, fragments: fragments, history: history, searched: !d.prompt.NoDatastores})
	p.Messages = append(p.Messages, d.continuation...)
	if len(p.Params.Tools) > 0 {
		p.System = join(p.System, toolInstructions)
	}
	p.System = join(p.System, d.instructions)
	return p
}

// Fraction of the context window to use, in tenths. The margin is needed because token counts are estimates, and
// tokenisers differ for code, numbers and rare scripts.
const usableTenths = 9

// pack composes a prompt that fits the context window together with the answer. If it is too long, pack first drops the
// history except for the last exchange, then all fragments but the best, starting with the least relevant, and finally
// the last exchange. If that isn't enough, the error wraps chat.ErrTooLong.
func (d promptDraft) pack(m chat.Model, window int) (chat.Prompt, error) {
	fragments, history := d.prompt.Fragments, d.history
	p := d.write(fragments, history)
	if window <= 0 {
		return p, nil
	}
	budget := window*usableTenths/10 - d.answerTokens(m, window)
	for p.Tokens() > budget {
		switch {
		case d.whole && len(history) > 0:
			return p, &domain.Error{Code: domain.CodeInvalid, Err: chat.ErrTooLong, Message: fmt.Sprintf(
				"the input has about %d tokens, but only %d of the %d tokens in the model's context window are available for it: shorten the input, or allow earlier messages to be dropped",
				p.Tokens(), max(budget, 0), window)}
		case len(history) > 2:
			history = withoutOldest(history)
		case len(fragments) > 1:
			fragments = fragments[:len(fragments)-1]
		case len(history) > 0:
			history = nil
		default:
			return p, &domain.Error{Code: domain.CodeInvalid, Err: chat.ErrTooLong, Message: fmt.Sprintf(
				"the prompts and the question have about %d tokens, but only %d of the %d tokens in the model's context window are available for them (the rest is reserved for the answer): shorten systemPrompt, userPrompt or query, or lower maxTokens",
				p.Tokens(), max(budget, 0), window)}
		}
		p = d.write(fragments, history)
	}
	if n := p.Params.MaxTokens; n != nil {
		fits := max(1, min(*n, window-p.Tokens()*10/usableTenths))
		p.Params.MaxTokens = &fits
	}
	return p, nil
}

// answerTokens returns the number of tokens to reserve for the answer: the request's limit, up to half of the context
// window, or else the model's default, up to a quarter of the window.
func (d promptDraft) answerTokens(m chat.Model, window int) int {
	if n := d.prompt.Params.MaxTokens; n != nil {
		return min(*n, window/2)
	}
	return min(m.Answer, window/4)
}

// withoutOldest removes the first exchange, so that the remaining history starts with a question.
func withoutOldest(history []chat.Turn) []chat.Turn {
	rest := history[1:]
	i := slices.IndexFunc(rest, func(t chat.Turn) bool { return t.Role == domain.RoleUser })
	if i < 0 {
		return nil
	}
	return rest[i:]
}
