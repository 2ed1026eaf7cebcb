package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/analysis"
)

// Minimum length in characters for a line to count as wrapped. Text files and PDFs break lines within sentences, so a
// line of at least this length continues on the next line unless it ends a sentence. A shorter line may be a list item.
// Scripts without spaces need fewer characters for the same content.
const (
	wrappedCharacters         = 40
	wrappedCharactersUnspaced = 20
)

// Sentences splits a text into sentences. Unlike analysis.Sentences, it joins lines that were wrapped within a sentence
// and keeps the number of a list item or table of contents entry with the text that follows. It runs in linear time.
func Sentences(text string) []analysis.Span {
	var out []analysis.Span
	lineStart := 0 // start of the last line of the last sentence in `out`
	for _, s := range analysis.Sentences(text) {
		n := len(out)
		if n > 0 && (isWrapped(text[lineStart:out[n-1].End], text[out[n-1].End:s.Start], text[s.Start:s.End]) ||
			isItemNumber(text[lineStart:out[n-1].End], text[out[n-1].End:s.Start])) {
			out[n-1].End = s.End
		} else {
			out = append(out, s)
		}
		lineStart = s.Start
	}
	return out
}

// isWrapped reports whether the sentence in line continues after the gap, in next.
func isWrapped(line, gap, next string) bool {
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

// isItemNumber reports whether label is just a list item's number, such as "5." or "(a)", followed after the gap by the
// item's text on the same line.
func isItemNumber(label, gap string) bool {
	const longest = 12 // bytes
	label = strings.TrimSpace(label)
	if len(label) < 2 || len(label) > longest || strings.Contains(gap, "\n") {
		return false
	}
	word := strings.Trim(label, "()[].")
	if last := label[len(label)-1]; word == "" || last != '.' && last != ')' && last != ']' {
		return false
	}
	if strings.Trim(word, "0123456789.") == "" {
		return true
	}
	return len(word) == 1 && unicode.IsLetter(rune(word[0])) || strings.Trim(strings.ToLower(word), "ivxl") == ""
}
