package eval

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// ContainsAnswer reports whether text contains the answer's words and numbers in the same order. It ignores case, white
// space and punctuation. An answer without words or numbers is never contained.
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

// ContainsAnyAnswer reports whether text contains at least one of the answers.
func ContainsAnyAnswer(text string, answers []string) bool {
	return slices.ContainsFunc(answers, func(a string) bool { return ContainsAnswer(text, a) })
}

// normalizeWords returns the words and numbers in text, in lower case and separated by single spaces.
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

// Words returns the words and numbers in text, in lower case.
func Words(text string) []string { return strings.Fields(normalizeWords(text)) }

// Unspaced reports whether r belongs to a script without spaces between words.
func Unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
