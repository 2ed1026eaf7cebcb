package chunk

import "unicode"

// Average number of letters per token in alphabetic scripts. A word up to this length is one token; a longer word has
// proportionally more.
const lettersPerToken = 6

// Tokens estimates a text's number of tokens for a language model. In scripts without spaces (Han, kana, Hangul, Thai
// and the like), each character is one token. In others, a word has one token per lettersPerToken letters or digits.
// Each punctuation mark or symbol is one token. White space and joiners don't count.
func Tokens(text string) int {
	n, word := 0, 0
	for _, r := range text {
		switch {
		case r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'):
			if word%lettersPerToken == 0 {
				n++
			}
			word++
		case unspaced(r):
			n++
			word = 0
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			if word%lettersPerToken == 0 {
				n++
			}
			word++
		case unicode.IsSpace(r), unicode.Is(unicode.Cf, r):
			word = 0
		default:
			n++
			word = 0
		}
	}
	return n
}

// unspaced reports whether r belongs to a script without spaces between words, or to Hangul, in which each syllable is
// a token.
func unspaced(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && !unicode.IsMark(r)
}
