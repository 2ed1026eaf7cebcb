package analysis

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalised returns the NFKC form of a text. NFKC turns superscripts into ordinary digits, which would turn 12.5² into
// 12.52 and 10⁶ into 106. So normalised inserts a space before a superscript that follows a digit.
func normalised(text string) string {
	if norm.NFKC.IsNormalString(text) {
		return text
	}
	start := 0
	var out strings.Builder
	for i, r := range text {
		if i > 0 && isRaised(r) && text[i-1] >= '0' && text[i-1] <= '9' {
			out.WriteString(text[start:i])
			out.WriteByte(' ')
			start = i
		}
	}
	if start > 0 {
		out.WriteString(text[start:])
		text = out.String()
	}
	return norm.NFKC.String(text)
}

func isRaised(r rune) bool {
	switch {
	case r < 0xB2:
		return false
	case r == '²', r == '³', r == '¹', r >= 0x2070 && r <= 0x207F, r >= 0x2B0 && r <= 0x2B8, r >= 0x1D2C && r <= 0x1D61:
		return true
	}
	return false
}

// NormalLength returns the number of characters in a text after Analyzer's Unicode normalisation (NFKC), which can make
// it longer: U+FDFA alone becomes 18 characters. Counting may stop above `limit`, so a result above that is a lower
// bound.
func NormalLength(text string, limit int) int {
	n, _ := normal(text, limit)
	return n
}

// NormalPrefix returns the longest prefix of a text with at most `limit` characters after normalisation.
func NormalPrefix(text string, limit int) string {
	_, end := normal(text, limit)
	return text[:end]
}

// normal returns the number of characters in the normalised text (n), and the length in bytes of the longest prefix
// with at most `limit` characters after normalisation (end). Counting may stop once n exceeds the limit.
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
