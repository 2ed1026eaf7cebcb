package extractive

import (
	"strings"
	"unicode"
)

// partedIdentifiers splits identifiers into words, because exported tables often use identifiers as column names:
// price_eur, unitPrice and UNIT_PRICE become price eur, unit Price and UNIT PRICE. A single letter before a capital is
// a unit's prefix and is not split off: kWh, hPa.
func partedIdentifiers(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == '_' || unicode.IsUpper(r) }) {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	lower := 0 // lower-case letters directly before the current character
	for _, r := range text {
		switch {
		case r == '_':
			r = ' '
		case unicode.IsUpper(r) && lower > 1:
			out.WriteByte(' ')
		}
		if lower++; !unicode.IsLower(r) {
			lower = 0
		}
		out.WriteRune(r)
	}
	return out.String()
}
