package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
)

// A line at least this long that does not end a sentence was wrapped by a text file or a PDF; a shorter one may be an
// entry of a list. Lines of scripts without spaces hold more in fewer characters.
const (
	wrappedCharacters         = 40
	wrappedCharactersUnspaced = 20
)

// maxGap is the longest run of characters other than letters and digits, in runes, that is shown to the sentence
// splitter. Sentence rules look back over closing marks and spaces, so that a file of a hundred thousand brackets
// takes half a minute; a longer run ends its sentence without asking.
const maxGap = 64

// Sentences returns the sentences of a text as analysis.Sentences does, but sees through lines that were wrapped inside
// a sentence, and takes time in proportion to the text whatever is in it.
func Sentences(text string) []analysis.Span {
	var out []analysis.Span
	forEachSpan(text, func(from, to, _ int) {
		out = appendUnwrapped(out, text, from, analysis.Sentences(text[from:to]))
	})
	return out
}

// appendUnwrapped appends the spans, which count from base, and joins those that a wrapped line has parted.
func appendUnwrapped(out []analysis.Span, text string, base int, spans []analysis.Span) []analysis.Span {
	lineStart := 0 // of the last line of the last sentence
	for i, s := range spans {
		s.Start, s.End = s.Start+base, s.End+base
		if n := len(out); i > 0 && wrapped(text[lineStart:out[n-1].End], text[out[n-1].End:s.Start], text[s.Start:s.End]) {
			out[n-1].End = s.End
		} else {
			out = append(out, s)
		}
		lineStart = s.Start
	}
	return out
}

// forEachSpan calls f for the stretches of text between runs longer than maxGap of characters other than letters
// and digits: text[from:to] with the first maxGap characters of the run, the run reaching to next.
func forEachSpan(text string, f func(from, to, next int)) {
	from, gap, enough, length := 0, 0, 0, 0
	for i, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			switch length {
			case 0:
				gap = i
			case maxGap:
				enough = i
			}
			length++
			continue
		}
		if length > maxGap {
			// Marks belong to what is before them, so that a letter begins a grapheme unless one of these few is prefixed.
			next := gap + len(strings.TrimRightFunc(text[gap:i], prefixed))
			f(from, min(enough, next), next)
			from = next
		}
		length = 0
	}
	if length > maxGap {
		f(from, enough, len(text))
	} else {
		f(from, len(text), len(text))
	}
}

func prefixed(r rune) bool { return unicode.Is(unicode.Prepended_Concatenation_Mark, r) }

// wrapped reports whether the line goes on after the gap.
func wrapped(line, gap, next string) bool {
	if strings.Count(gap, "\n") != 1 {
		return false
	}
	last, _ := utf8.DecodeLastRuneInString(line)
	if unicode.Is(unicode.STerm, last) || last == ':' {
		return false
	}
	first, _ := utf8.DecodeRuneInString(next)
	if unicode.IsLower(first) {
		return true
	}
	enough := wrappedCharacters
	if unspaced(last) {
		enough = wrappedCharactersUnspaced
	}
	return unicode.IsLetter(first) && utf8.RuneCountInString(line) >= enough
}
