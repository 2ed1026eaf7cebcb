package chunk

import "unicode"

// lettersPerToken is how many letters of an alphabetic word sub-word tokenisers take together on average. A word
// of up to this length counts one token, longer ones in proportion.
const lettersPerToken = 6

// Tokens estimates how many tokens a language model's tokeniser makes of the text: one per character of scripts
// written without spaces (Han, kana, Hangul, Thai and its neighbours), one per lettersPerToken letters or digits
// of a word elsewhere, one per punctuation mark or symbol. White space and joiners are free.
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

// unspaced reports whether r belongs to a script in which words are not parted by spaces, or to Hangul, whose
// syllables tokenisers take one by one.
func unspaced(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && !unicode.IsMark(r)
}
