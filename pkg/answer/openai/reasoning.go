package openai

import "strings"

const (
	reasoningBegin = "<think>"
	reasoningEnd   = "</think>"

	// Maximum number of bytes of white space before the reasoning. It is held back until it is clear whether reasoning
	// follows.
	maxBlanks = 1024
)

// reasoningFilter removes the reasoning before an answer. Servers that can't parse a model's format send it as part of
// the answer.
type reasoningFilter struct {
	state    reasoningState
	buffered string // text not yet classified
}

type reasoningState int

const (
	beforeReasoning reasoningState = iota
	inReasoning
	afterReasoning // in the white space between reasoning and answer
	inAnswer
)

// write processes more of the model's output. It returns the part that belongs to the answer, and whether there was
// reasoning.
func (t *reasoningFilter) write(piece string) (text string, thought bool) {
	if t.state == inAnswer {
		return piece, false
	}
	t.buffered += piece
	if t.state == beforeReasoning {
		begun := strings.TrimLeft(t.buffered, " \t\r\n")
		switch {
		case strings.HasPrefix(begun, reasoningBegin):
			t.state, t.buffered = inReasoning, begun[len(reasoningBegin):]
		case strings.HasPrefix(reasoningBegin, begun) && len(t.buffered) <= maxBlanks: // the begin marker may be incomplete
			return "", false
		default:
			return t.answer(t.buffered), false
		}
	}
	if t.state == inReasoning {
		end := strings.Index(t.buffered, reasoningEnd)
		if end < 0 {
			t.buffered = t.buffered[max(0, len(t.buffered)-len(reasoningEnd)+1):] // the end marker may be split
			return "", true
		}
		t.state, t.buffered = afterReasoning, t.buffered[end+len(reasoningEnd):]
	}
	if rest := strings.TrimLeft(t.buffered, " \t\r\n"); rest != "" {
		return t.answer(rest), true
	}
	t.buffered = ""
	return "", true
}

// close returns held-back text that is not reasoning.
func (t *reasoningFilter) close() string {
	if t.state == beforeReasoning {
		return t.answer(t.buffered)
	}
	return ""
}

func (t *reasoningFilter) answer(text string) string {
	t.state, t.buffered = inAnswer, ""
	return text
}
