package html

import (
	"strings"
	"unicode/utf8"
)

// Maximum lengths, in bytes, of a superscript and of the text around it. They bound the cost, because each conversion
// copies the text.
const (
	maxRaisedText = 8 << 10
	maxRaised     = 12
)

// raisedForms maps characters to their superscript forms.
var raisedForms = map[rune]rune{
	'0': '⁰', '1': '¹', '2': '²', '3': '³', '4': '⁴', '5': '⁵', '6': '⁶', '7': '⁷', '8': '⁸', '9': '⁹', '+': '⁺', '-': '⁻', '−': '⁻',
	'b': 'ᵇ', 'c': 'ᶜ', 'f': 'ᶠ', 'g': 'ᵍ', 'i': 'ⁱ', 'j': 'ʲ', 'k': 'ᵏ', 'l': 'ˡ', 'm': 'ᵐ', 'n': 'ⁿ', 'p': 'ᵖ', 's': 'ˢ', 't': 'ᵗ', 'u': 'ᵘ', 'v': 'ᵛ', 'w': 'ʷ', 'x': 'ˣ', 'y': 'ʸ', 'z': 'ᶻ',
}

// raise keeps a superscript after a digit from looking like part of the number: 12.5 with exponent or note 2 becomes
// "12.5²", and 1,234 with note (2) becomes "1,234 (2)". The superscript starts at offset `from` in b. Other
// superscripts, such as ordinal endings, stay as they are.
func raise(b *strings.Builder, from int) {
	text := b.String()
	if from <= 0 || len(text) <= from || len(text) > maxRaisedText || len(text)-from > maxRaised {
		return
	}
	before, raised := text[:from], strings.TrimSpace(text[from:])
	last := before[len(before)-1]
	if (last < '0' || last > '9') && last != '%' && last != ')' || raised == "" {
		return
	}
	switch first, size := utf8.DecodeRuneInString(raised); {
	case first == '(' || first == '[':
		raised = " " + raised
	case size < len(raised) && raised[0] >= 'a' && raised[0] <= 'z': // the "st" in 1st
		return
	default:
		mapped := strings.Map(func(r rune) rune {
			if r, ok := raisedForms[r]; ok {
				return r
			}
			return -1
		}, raised)
		if utf8.RuneCountInString(mapped) != utf8.RuneCountInString(raised) {
			return
		}
		raised = mapped
	}
	b.Reset()
	b.WriteString(before + raised)
}
