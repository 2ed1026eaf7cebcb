package docx

import (
	"strconv"
	"strings"
)

// Private-use characters for symbol fonts: firstSymbol plus the symbol's code in the font.
const (
	firstSymbol = 0xf000
	lastSymbol  = 0xf0ff
)

// symbolFont lists the Symbol font's characters from code 0x20 on. A space means there is no Unicode equivalent.
const symbolFont = ` !∀#∃%&∋()∗+,−./0123456789:;<=>?` + `≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_` + `‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼`

// symbolFontHigh lists the Symbol font's characters from code 0xa0 on.
const symbolFontHigh = `€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵` + `ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓` + `◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪ 〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭ `

// wingdings maps codes in the Wingdings fonts to the ticks, boxes, bullets and arrows that documents use.
var wingdings = map[rune]string{
	0x22: "✂", 0x28: "☎", 0x2a: "✉", 0x4a: "☺", 0x4c: "☹", 0x6c: "●", 0x6e: "■", 0x6f: "□", 0x71: "❑", 0x75: "◆", 0x76: "❖", 0x77: "◆",
	0x9e: "·", 0x9f: "•", 0xa7: "▪", 0xa8: "☐", 0xaa: "✦", 0xd8: "➢", 0xdf: "←", 0xe0: "→", 0xe1: "↑", 0xe2: "↓", 0xe8: "➔", 0xf0: "⇨",
	0xfb: "✗", 0xfc: "✓", 0xfd: "☒", 0xfe: "☑", 0x50: "✓", 0x52: "☑", 0x4f: "✗", 0x51: "☒", 0xa3: "☐",
}

// symbol returns the character that a w:sym element displays, or "" if it is unknown.
func symbol(font, char string) string {
	n, err := strconv.ParseUint(char, 16, 32)
	if err != nil || n < 0x20 {
		return ""
	}
	r := rune(n)
	if r >= firstSymbol && r <= lastSymbol {
		r -= firstSymbol
	}
	font = strings.ToLower(font)
	switch {
	case strings.HasPrefix(font, "wingdings"), strings.HasPrefix(font, "webdings"):
		return wingdings[r]
	case font == "symbol" || n >= firstSymbol && n <= lastSymbol:
		return symbolSign(r)
	}
	return string(r)
}

// symbolSign returns the Unicode character for a code in the Symbol font.
func symbolSign(code rune) string {
	signs, at := []rune(symbolFont), int(code)-0x20
	if code >= 0xa0 {
		signs, at = []rune(symbolFontHigh), int(code)-0xa0
	}
	if at < 0 || at >= len(signs) || signs[at] == ' ' {
		return ""
	}
	return string(signs[at])
}

// symbolText replaces private-use characters with the characters that symbol fonts display for them.
func symbolText(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r >= firstSymbol && r <= lastSymbol }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if r >= firstSymbol && r <= lastSymbol {
			b.WriteString(symbolSign(r - firstSymbol))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
