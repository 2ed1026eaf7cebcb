package pdfmatch

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word in a passage, or part of one.
type token struct {
	from, to int // byte range in the passage
	runes    []rune
	line     int  // line in the passage, counted from the first token
	label    bool // it is part of a label, which may be a column name
}

// maxLabel is the maximum length of a label in bytes.
const maxLabel = 120

// tokens splits passage[from:to] into words, i.e. sequences of letters and digits.
func tokens(passage string, from, to int) []token {
	var all []token
	line := 0
	for start := from; start < to; line++ {
		end := to
		if i := strings.IndexByte(passage[start:to], '\n'); i >= 0 {
			end = start + i
		}
		labels := labelsOf(passage, start, end)
		var open *token
		for i := start; i < end; {
			r, n := utf8.DecodeRuneInString(passage[i:end])
			folded := fold(nil, r)
			switch {
			case len(folded) > 0 && open == nil:
				for len(labels) > 0 && labels[0][1] <= i {
					labels = labels[1:]
				}
				all = append(all, token{from: i, to: i + n, runes: folded, line: line, label: len(labels) > 0 && i >= labels[0][0]})
				open = &all[len(all)-1]
			case len(folded) > 0:
				open.to, open.runes = i+n, append(open.runes, folded...)
			case unicode.Is(unicode.Mn, r) && open != nil: // an accent; accents are not compared
				open.to = i + n
			default:
				open = nil
			}
			i += n
		}
		start = end + 1
	}
	return all
}

// labelsOf returns the byte ranges of the labels in a line like "label: value; label: value".
func labelsOf(passage string, from, to int) (labels [][2]int) {
	for from < to {
		part := passage[from:to]
		next := to
		if i := strings.Index(part, "; "); i >= 0 {
			part, next = part[:i], from+i+len("; ")
		}
		if i := strings.Index(part, ": "); i > 0 && i <= maxLabel {
			labels = append(labels, [2]int{from, from + i})
		}
		from = next
	}
	return labels
}

// split splits tokens that aren't on the pages into the longest parts that are on the pages. On a page, the parts of a
// word may be separated by other text, such as the next column.
func (t *Text) split(all []token) []token {
	const longest = 400 // maximum number of parts per token
	out := make([]token, 0, len(all))
	for _, tok := range all {
		for parts := 0; ; parts++ {
			n := t.longestPrefix(tok.runes)
			if n == len(tok.runes) || n == 0 || parts == longest {
				out = append(out, tok)
				break
			}
			head := tok
			head.runes, tok.runes = tok.runes[:n], tok.runes[n:]
			out = append(out, head)
		}
	}
	return out
}

// longestPrefix returns the length, in runes, of the longest prefix of the word that occurs on the pages.
func (t *Text) longestPrefix(word []rune) int {
	best := 0
	for _, at := range t.byRune[word[0]] {
		if n := t.commonPrefix(word, at); n > best {
			best = n
			if n == len(word) {
				break
			}
		}
	}
	return best
}

// commonPrefix returns how many runes at the start of `word` are equal to the runes in Text.core from index `at` on.
func (t *Text) commonPrefix(word []rune, at int32) int {
	n := 0
	for n < len(word) && int(at)+n < len(t.core) && t.core[int(at)+n].r == word[n] {
		n++
	}
	return n
}
