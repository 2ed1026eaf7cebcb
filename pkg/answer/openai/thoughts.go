package openai

import "strings"

const (
	thoughtsBegin = "<think>"
	thoughtsEnd   = "</think>"

	// Maximum number of white-space bytes before the reasoning. They are held back until the next character is known.
	maxBlanks = 1024
)

// thoughts removes the reasoning that a model writes before its answer. Servers without a parser for the model's format
// send it as the beginning of the answer.
type thoughts struct {
	where whereThoughts
	held  string // text not yet classified
}

type whereThoughts int

const (
	beforeThoughts whereThoughts = iota
	withinThoughts
	afterThoughts // in the white space between reasoning and answer
	withinAnswer
)

// write processes a piece. It returns the part that belongs to the answer, and whether the piece contains reasoning.
func (t *thoughts) write(piece string) (text string, thought bool) {
	if t.where == withinAnswer {
		return piece, false
	}
	t.held += piece
	if t.where == beforeThoughts {
		begun := strings.TrimLeft(t.held, " \t\r\n")
		switch {
		case strings.HasPrefix(begun, thoughtsBegin):
			t.where, t.held = withinThoughts, begun[len(thoughtsBegin):]
		case strings.HasPrefix(thoughtsBegin, begun) && len(t.held) <= maxBlanks: // possibly nothing yet
			return "", false
		default:
			return t.answer(t.held), false
		}
	}
	if t.where == withinThoughts {
		end := strings.Index(t.held, thoughtsEnd)
		if end < 0 {
			t.held = t.held[max(0, len(t.held)-len(thoughtsEnd)+1):] // the end mark may be split
			return "", true
		}
		t.where, t.held = afterThoughts, t.held[end+len(thoughtsEnd):]
	}
	if rest := strings.TrimLeft(t.held, " \t\r\n"); rest != "" {
		return t.answer(rest), true
	}
	t.held = ""
	return "", true
}

// close returns held-back text that is not reasoning.
func (t *thoughts) close() string {
	if t.where == beforeThoughts {
		return t.answer(t.held)
	}
	return ""
}

func (t *thoughts) answer(text string) string {
	t.where, t.held = withinAnswer, ""
	return text
}
