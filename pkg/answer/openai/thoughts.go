package openai

import "strings"

const (
	thoughtsBegin = "<think>"
	thoughtsEnd   = "</think>"

	// maxBlanks bounds the bytes that may stand before thoughts: what a server sends of them is held until more is known.
	maxBlanks = 1024
)

// thoughts takes out what a model thinks aloud before its answer, which servers without a parser for its form pass on as if it were
// the answer's beginning.
type thoughts struct {
	where whereThoughts
	held  string // that cannot be told yet
}

type whereThoughts int

const (
	beforeThoughts whereThoughts = iota
	withinThoughts
	afterThoughts // in the blanks between them and the answer
	withinAnswer
)

// write takes a piece and returns what of it is the answer's, and whether the model was thinking.
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
		case strings.HasPrefix(thoughtsBegin, begun) && len(t.held) <= maxBlanks: // or nothing yet
			return "", false
		default:
			return t.answer(t.held), false
		}
	}
	if t.where == withinThoughts {
		end := strings.Index(t.held, thoughtsEnd)
		if end < 0 {
			t.held = t.held[max(0, len(t.held)-len(thoughtsEnd)+1):] // the mark may be cut
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

// close returns what was held back and was no thought.
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
