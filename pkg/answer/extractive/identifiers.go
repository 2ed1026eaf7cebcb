package extractive

import (
	"strings"
	"unicode"
)

// partedIdentifiers parts the words of which identifiers are written, as columns of exports are called by them: price_eur,
// unitPrice and UNIT_PRICE become price eur, unit Price and UNIT PRICE. A lone letter before a capital is no word, but the prefix
// of a unit: kWh, hPa.
func partedIdentifiers(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == '_' || unicode.IsUpper(r) }) {
		return text
	}
	var out strings.Builder
	out.Grow(len(text))
	lower := 0 // lower-case letters right before
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
