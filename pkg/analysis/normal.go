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

// NormalPrefix returns the longest prefix of a text that has at most `limit` characters after normalisation.
func NormalPrefix(text string, limit int) string {
	_, end := normal(text, limit)
	return text[:end]
}

// normal returns n, the number of characters of the normalised text, and `end`, the length in bytes of the longest
// prefix of the text that stays within the limit. It may stop counting once n exceeds the limit.
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
