package analysis

import "unicode"

// runeClass is a character's role in tokenising.
type runeClass uint8

const (
	classOther    runeClass = iota // separates words
	classWord                      // part of a word
	classUnspaced                  // character in a script without spaces between words
	classMark                      // combining mark; belongs to the preceding character
	classIgnored                   // invisible (joiner, variation selector, soft hyphen), tatweel, or Arabic or Hebrew vowel point
)

// Scripts without spaces between words. Hangul has spaces, but pairs of characters match inflected Korean words better
// than a stemmer would.
var unspacedScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

func classOf(r rune) runeClass {
	if r < 0x80 {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return classWord
		}
		return classOther
	}
	switch {
	case r == 0x00AD || r == 0x0640 || (r >= 0x200B && r <= 0x200F) || (r >= 0x2060 && r <= 0x2064) || r == 0xFEFF || r == 0x034F || r == 0x061C:
		return classIgnored
	case r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF || r >= 0x180B && r <= 0x180D: // variation selectors
		return classIgnored
	case (r >= 0x0591 && r <= 0x05C7 || r >= 0x064B && r <= 0x065F || r == 0x0670) && unicode.Is(unicode.Mn, r):
		return classIgnored
	case unicode.Is(unicode.M, r):
		return classMark
	case r == 0x30FC: // the kana length mark belongs to no script
		return classUnspaced
	case r < 0x0E00 || !unicode.In(r, unspacedScripts...):
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return classWord
		}
		return classOther
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return classUnspaced
	}
	return classOther
}
