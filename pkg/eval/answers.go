package eval

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// ContainsAnswer reports whether a text contains the answer: the same words and numbers in the same order. Case, white
// space and punctuation do not matter. A text never contains an answer without words or numbers.
func ContainsAnswer(text, answer string) bool {
	a := normalizeWords(answer)
	switch {
	case a == "":
		return false
	case strings.ContainsFunc(a, Unspaced): // words have no visible boundaries
		return strings.Contains(normalizeWords(text), a)
	}
	return strings.Contains(" "+normalizeWords(text)+" ", " "+a+" ")
}

// ContainsAnyAnswer reports whether a text contains one of the answers.
func ContainsAnyAnswer(text string, answers []string) bool {
	return slices.ContainsFunc(answers, func(a string) bool { return ContainsAnswer(text, a) })
}

// normalizeWords returns a text's words and numbers in lower case, separated by single spaces.
func normalizeWords(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKC.String(text) {
		if !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Number) {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte(' ')
		}
		gap = false
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Words returns a text's words and numbers in lower case.
func Words(text string) []string { return strings.Fields(normalizeWords(text)) }

// Unspaced reports whether r belongs to a script without spaces between words.
func Unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
