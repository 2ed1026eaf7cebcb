package analysis

import (
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// NormalLength returns the number of characters of a text after the Unicode normalisation (NFKC) that Analyzer applies.
// Normalisation may make a text longer: U+FDFA alone becomes 18 characters. Counting ends at about the limit.
func NormalLength(text string, limit int) int {
	n, _ := normal(text, limit)
	return n
}

// NormalPrefix returns the longest beginning of a text that has at most that many characters after normalisation.
func NormalPrefix(text string, limit int) string {
	_, end := normal(text, limit)
	return text[:end]
}

// normal counts the characters of the normalised text until there are more than the limit. end is the length in bytes
// of the part of the text that is within the limit.
func normal(text string, limit int) (n, end int) {
	if norm.NFKC.IsNormalString(text) {
		for i := range text {
			if n == limit {
				return n + utf8.RuneCountInString(text[i:]), i
			}
			n++
		}
		return n, len(text)
	}
	var it norm.Iter
	for it.InitString(norm.NFKC, text); !it.Done(); end = it.Pos() {
		if n += utf8.RuneCount(it.Next()); n > limit {
			return n, end
		}
	}
	return n, end
}
