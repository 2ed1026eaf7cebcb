package format

import (
	"strings"
	"unicode"
)

// WordSet is a set of the words, which spaces part.
func WordSet(s string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(s) {
		set[w] = true
	}
	return set
}

// Plural chooses between the forms of a word for one and for many.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// DisplayWidth counts columns of a terminal, roughly: characters of East Asian scripts take two.
func DisplayWidth(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r >= 0x2e80 && r < 0xfb00 || r >= 0xff00 && r < 0xff61 {
			n++
		}
	}
	return n
}

// Spaceless reports whether a character is of a script that puts no spaces between words.
func Spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef
}
