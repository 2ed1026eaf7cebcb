package format

import (
	"unicode"
)

// Plural returns `one` if n is 1, and `many` otherwise.
func Plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// DisplayWidth returns the approximate width of a text in terminal columns. East Asian characters take two columns.
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

// Spaceless reports whether a character belongs to a script without spaces between words.
func Spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) ||
		r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef
}
