package chunk

import (
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/clipperhouse/uax29/v2/words"

	"github.com/sluice/sluice/pkg/domain"
)

// Maximum size of a piece in bytes. It is low enough that domain.MaxChunkBytes leaves space for several pieces, their
// separators and a repeated table header. A grapheme, such as a letter with thousands of combining marks, is split only
// if it exceeds this size by itself.
const maxPieceBytes = domain.MaxChunkBytes / 8

// piece is a part of a block that is not split further.
type piece struct {
	start, end int // byte offsets in the block's text
	tokens     int
}

// splitProse splits a text into sentences. Sentences that exceed the limits are split between words.
func (o Options) splitProse(text string) []piece {
	var out []piece
	start := 0
	cut := func(end int) {
		if end > start {
			out = o.appendFitting(out, text, start, end)
			start = end
		}
	}
	for i, s := range o.Sentences(text) {
		if i > 0 {
			cut(s.Start) // text between two sentences belongs to the earlier one
		}
	}
	cut(len(text))
	return out
}

// splitLines splits a text into lines. Lines that exceed the limits are split between words.
func (o Options) splitLines(text string) []piece {
	var out []piece
	start := 0
	for start < len(text) {
		end := len(text)
		if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
			end = start + i + 1
		}
		out = o.appendFitting(out, text, start, end)
		start = end
	}
	return out
}

// appendFitting appends text[start:end] as one piece if it is within the limits, or else as several pieces of roughly
// equal size.
func (o Options) appendFitting(out []piece, text string, start, end int) []piece {
	tokens := Tokens(text[start:end])
	if tokens <= o.MaxTokens && end-start <= maxPieceBytes {
		return append(out, piece{start, end, tokens})
	}
	parts := (tokens + o.TargetTokens - 1) / o.TargetTokens
	goal := (tokens + parts - 1) / max(parts, 1)
	cur := piece{start: start, end: start}
	atoms(text[start:end], o.MaxTokens, func(from, to int) {
		n := Tokens(text[start+from : start+to])
		full := cur.tokens+n > goal && cur.tokens > 0
		if full || (start+to-cur.start > maxPieceBytes && cur.end > cur.start) {
			out = append(out, cur)
			cur = piece{start: cur.end, end: cur.end}
		}
		cur.end = start + to
		cur.tokens += n
	})
	if cur.end > cur.start {
		out = append(out, cur)
	}
	return out
}

// atoms calls f for each part of the text that must not be split, usually a word with the punctuation and space after
// it. Words beyond the limit are split into graphemes, and graphemes beyond maxPieceBytes are split as well.
func atoms(text string, maxTokens int, f func(from, to int)) {
	for w := words.FromString(text); w.Next(); {
		from, to := w.Start(), w.End()
		if to-from <= maxPieceBytes && Tokens(text[from:to]) <= maxTokens {
			f(from, to)
			continue
		}
		for g := graphemes.FromString(text[from:to]); g.Next(); {
			start, end := from+g.Start(), from+g.End()
			for end-start > maxPieceBytes {
				cut := runeStart(text, start+maxPieceBytes)
				f(start, cut)
				start = cut
			}
			f(start, end)
		}
	}
}

// runeStart returns the start of the rune that contains byte i.
func runeStart(s string, i int) int {
	for back := 0; back < utf8.UTFMax-1 && i > 0 && !utf8.RuneStart(s[i]); back++ {
		i--
	}
	return i
}
