package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Conventional replacements for letters that Unicode does not decompose: the letter without its stroke, or two letters.
var letterFolds = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'ł': "l", 'ħ': "h", 'ŧ': "t", 'þ': "th", 'ı': "i",
	'ŋ': "n", 'ə': "e", 'ɓ': "b", 'ɗ': "d", 'ƙ': "k",
}

// fold removes diacritics from Latin and Greek letters in a lower-case word and replaces ё with е. In other scripts, it
// keeps combining marks, because they distinguish words.
func fold(word string) string {
	ascii := true
	for i := 0; i < len(word); i++ {
		if word[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if ascii {
		return word
	}
	var b strings.Builder
	b.Grow(len(word))
	latin := false
	for _, r := range norm.NFD.String(word) {
		switch s, ok := letterFolds[r]; {
		case unicode.Is(unicode.Mn, r) && latin:
		case ok:
			b.WriteString(s)
			latin = true
		default:
			b.WriteRune(r)
			if !unicode.Is(unicode.M, r) {
				latin = unicode.In(r, unicode.Latin, unicode.Greek) || r == 'е'
			}
		}
	}
	return norm.NFC.String(b.String())
}
