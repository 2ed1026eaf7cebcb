package pdffont

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// glyphName returns the text for a glyph name according to the Adobe Glyph List Specification, or "" for unknown names.
func glyphName(name string) string {
	if s, ok := adobeGlyphs()[name]; ok {
		return s
	}
	base, _, _ := strings.Cut(name, ".") // the suffix is a variant, such as small capitals or old style figures
	var out strings.Builder
	for part := range strings.SplitSeq(base, "_") {
		text := glyphPart(part)
		if text == "" {
			return ""
		}
		out.WriteString(text)
	}
	return out.String()
}

func glyphPart(name string) string {
	if s, ok := adobeGlyphs()[name]; ok {
		return s
	}
	if hex, ok := strings.CutPrefix(name, "uni"); ok && len(hex) >= 4 && len(hex)%4 == 0 && len(hex) <= 64 {
		if text := hexUnits(hex); text != "" {
			return text
		}
	}
	if hex, ok := strings.CutPrefix(name, "u"); ok && len(hex) >= 4 && len(hex) <= 6 {
		if v, err := strconv.ParseUint(hex, 16, 32); err == nil && v > 0 && v <= utf8.MaxRune && !utf16.IsSurrogate(rune(v)) {
			return string(rune(v))
		}
	}
	if s, ok := texNames[name]; ok {
		return s
	}
	// TeX appends the size to the names of brackets and operators.
	for _, suffix := range []string{"bigg", "Bigg", "big", "Big", "display", "text"} {
		if short, ok := strings.CutSuffix(name, suffix); ok && short != "" {
			if s, ok := adobeGlyphs()[short]; ok {
				return s
			}
		}
	}
	return ""
}

func hexUnits(hex string) string {
	units := make([]uint16, 0, len(hex)/4)
	for i := 0; i < len(hex); i += 4 {
		v, err := strconv.ParseUint(hex[i:i+4], 16, 16)
		if err != nil || v == 0 {
			return ""
		}
		units = append(units, uint16(v))
	}
	return string(utf16.Decode(units))
}

// texNames are glyph names that TeX's fonts and other programs use but Adobe's list lacks.
var texNames = map[string]string{
	"nbspace": " ", "visiblespace": "␣", "mapsto": "↦", "negationslash": "̸", "arrowparrright": "⇀", "owner": "∋", "follows": "≻",
	"precedes": "≺", "lscript": "ℓ", "epsilon1": "ϵ", "vector": "⃗", "perpendicular": "⊥", "slurabove": "⌢", "slurbelow": "⌣",
	"floorleft": "⌊", "floorright": "⌋", "ceilingleft": "⌈", "ceilingright": "⌉", "angbracketleft": "⟨", "angbracketright": "⟩",
	"bardbl": "‖", "wreathproduct": "≀", "nabla": "∇", "unionsq": "⊔", "intersectionsq": "⊓", "turnstileleft": "⊢",
	"turnstileright": "⊣", "Rfractur": "ℜ", "Ifractur": "ℑ", "asteriskmath": "∗", "openbullet": "∘", "circlecopyrt": "◯",
	"similarequal": "≃", "greatermuch": "≫", "lessmuch": "≪", "dblarrowleft": "⇔", "latticetop": "⊤", "triangleinv": "▽",
	"propersubset": "⊂", "propersuperset": "⊃", "shortmid": "∣", "divides": "∣", "logicalnot1": "¬", "prime1": "′",
	"prime": "′", "minusplus": "∓", "circledivide": "⊘", "circledot": "⊙", "circleminus": "⊖", "equivasymptotic": "≍",
	"reflexsubset": "⊆", "reflexsuperset": "⊇", "precedesequal": "⪯", "followsequal": "⪰", "arrownortheast": "↗",
	"arrowsoutheast": "↘", "arrownorthwest": "↖", "arrowsouthwest": "↙", "triangle": "△", "emptyset": "∅", "unionmulti": "⊎",
	"arrowbothv": "↕", "arrowdblbothv": "⇕", "coproduct": "∐", "subsetsqequal": "⊑", "supersetsqequal": "⊒", "diamondmath": "⋄",
	"pi1": "ϖ", "rho1": "ϱ", "arrowlefttophalf": "↼", "arrowleftbothalf": "↽", "arrowrighttophalf": "⇀", "arrowrightbothalf": "⇁",
	"arrowhookleft": "↪", "arrowhookright": "↩", "triangleright": "▷", "triangleleft": "◁", "star": "⋆", "flat": "♭",
	"natural": "♮", "sharp": "♯", "vextendsingle": "|", "vextenddouble": "‖", "square": "□", "squaresolid": "■",
	"blacktriangle": "▲", "diamond": "◇", "diamondsolid": "◆", "circle": "○", "box": "□", "check": "✓", "defines": "≜",
	"planckover2pi1": "ℏ", "planckover2pi": "ℏ", "lessorequalslant": "⩽", "greaterorequalslant": "⩾", "subsetnoteql": "⊊",
	"bracehtipdownleft": " ", "bracehtipdownright": " ", "bracehtipupleft": " ", "bracehtipupright": " ", // parts of a horizontal brace
	"hatwide": "^", "hatwider": "^", "hatwidest": "^", "tildewide": "~", "tildewider": "~", "tildewidest": "~",
	"hyphenchar": "-", "tie": "⁀", "compwordmark": "", "sfthyphen": "-", "ell": "ℓ",
}

// numberedName splits a name such as "g123", "cid00123" or "glyph12" into prefix and glyph number. `ok` is false for
// other names.
func numberedName(name string) (prefix string, digits string, ok bool) {
	i := len(name)
	for i > 0 && (name[i-1] >= '0' && name[i-1] <= '9' || name[i-1] >= 'A' && name[i-1] <= 'F' && i > 1) {
		i--
	}
	if i == len(name) || i > 6 {
		return "", "", false
	}
	return name[:i], name[i:], true
}

// codeName returns the text for a name that repeats the character code in decimal or hexadecimal, such as "c65", "a65"
// and "G41" for A. It returns "" for other names.
func codeName(name string, code int) string {
	_, digits, ok := numberedName(name)
	if !ok || code < 0x20 || code == 0x7f {
		return ""
	}
	if v, err := strconv.ParseUint(digits, 10, 16); err == nil && int(v) == code {
		return winAnsi()[code]
	}
	if v, err := strconv.ParseUint(digits, 16, 16); err == nil && int(v) == code {
		return winAnsi()[code]
	}
	return ""
}

// Readable replaces characters that differ only in appearance: ligatures and presentation forms become letters, and
// special spaces become plain spaces.
func Readable(text string) string { return readable(text, "") }

// readable is like Readable, but the font's name may determine what private-use characters mean.
func readable(text, fontName string) string {
	plain := true
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf || text[i] < 0x20 {
			plain = false
			break
		}
	}
	if plain {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case r >= 0xfb00 && r <= 0xfb17, r >= 0xfb50 && r <= 0xfdff && r != 0xfdf0 && r != 0xfdfc, r >= 0xfe70 && r < 0xfeff,
			r >= 0xfb1d && r <= 0xfb4f, r >= 0x2f00 && r <= 0x2fdf:
			out.WriteString(norm.NFKC.String(string(r)))
		case r >= 0xe000 && r <= 0xf8ff:
			out.WriteRune(privateRune(r, fontName))
		case r == 0xad:
			out.WriteByte('-')
		case r == 0xfeff || r >= 0x200b && r <= 0x200d && r != 0x200c && r != 0x200d:
		case r == 0xa0 || r >= 0x2000 && r <= 0x200a || r == 0x202f || r == 0x3000 || r == '\t' || r == '\n' || r == '\r':
			out.WriteByte(' ')
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// privateRune returns what a private-use character means, or the character itself if that is unknown.
func privateRune(r rune, fontName string) rune {
	switch {
	case r >= 0xf730 && r <= 0xf739: // old style figures
		return r - 0xf730 + '0'
	case r >= 0xf761 && r <= 0xf77a: // small capitals
		return r - 0xf761 + 'A'
	case r == 0xf6be:
		return 'ȷ'
	case r == 0xf6d9:
		return '©'
	case r == 0xf6da:
		return '®'
	case r == 0xf6db:
		return '™'
	case r >= 0xf8e5 && r <= 0xf8fe: // parts of tall brackets
		return []rune("‾⏐⎯®©™⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪⎮⎞⎟⎠⎤⎥⎦⎫⎬⎭")[r-0xf8e5]
	case r >= 0xf020 && r <= 0xf0ff: // a symbol font's codes
		c := byte(r)
		name := strings.ToLower(fontName)
		switch {
		case strings.Contains(name, "wingdings"):
			if s := wingdings[c]; s != 0 {
				return s
			}
		case strings.Contains(name, "dingbats"):
			if s := dingbat(c); s != 0 {
				return s
			}
		case strings.Contains(name, "symbol"):
			if i := strings.IndexByte(symbolLetters, c); i >= 0 {
				return symbolGreek[i]
			}
			if s := symbolSigns[c]; s != 0 {
				return s
			}
			if c < 0x7f {
				return rune(c)
			}
		default:
			switch c { // word processors' list markers, whose font is not always named
			case 0xb7:
				return '•'
			case 0xa7:
				return '▪'
			case 0xd8:
				return '➢'
			case 0xfc:
				return '✓'
			case 0xa8:
				return '□'
			case 0x6f:
				return '○'
			case 0x20:
				return ' '
			}
		}
	}
	return r
}
