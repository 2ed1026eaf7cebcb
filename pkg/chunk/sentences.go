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

// Sentences returns the sentences of a text as analysis.Sentences does, but sees through lines that were wrapped inside
// a sentence. It takes time in proportion to the text, whatever is in it.
func Sentences(text string) []analysis.Span {
	var out []analysis.Span
	lineStart := 0 // of the last line of the last sentence
	for _, s := range analysis.Sentences(text) {
		if n := len(out); n > 0 && wrapped(text[lineStart:out[n-1].End], text[out[n-1].End:s.Start], text[s.Start:s.End]) {
			out[n-1].End = s.End
		} else {
			out = append(out, s)
		}
		lineStart = s.Start
	}
	return out
}

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
