package rtf

import (
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/sluice/sluice/pkg/extract/charset"
)

// symbolFont is the pseudo-encoding of symbol fonts.
const symbolFont = "symbol"

// charsetName returns a font's encoding by its character set, or "" if the document's encoding applies.
func charsetName(set int) string {
	switch set {
	case 2:
		return symbolFont
	case 77:
		return "macintosh"
	case 128:
		return "shift_jis"
	case 129, 130:
		return "euc-kr"
	case 134:
		return "gb18030"
	case 136:
		return "big5"
	case 161:
		return "windows-1253"
	case 162:
		return "windows-1254"
	case 163:
		return "windows-1258"
	case 177:
		return "windows-1255"
	case 178:
		return "windows-1256"
	case 186:
		return "windows-1257"
	case 204:
		return "windows-1251"
	case 222:
		return "windows-874"
	case 238:
		return "windows-1250"
	case 254:
		return "cp437"
	case 255:
		return "cp850"
	}
	return ""
}

// maxPending is the maximum number of bytes collected before decoding.
const maxPending = 4096

// byte adds one byte of text in the current font's encoding.
func (r *reader) byte(c byte) error {
	if r.fallback > 0 {
		r.fallback--
		return nil
	}
	g := r.group()
	g.begun = true
	if g.to == skipped {
		return nil
	}
	encoding := r.fonts[g.font]
	if encoding == "" {
		encoding = r.codePage
	}
	if encoding != r.encoding || len(r.pending) >= maxPending && c < 0x80 {
		if err := r.decode(); err != nil {
			return err
		}
		r.encoding = encoding
	}
	r.pending = append(r.pending, c)
	return nil
}

// decode adds the pending bytes to the text.
func (r *reader) decode() error {
	if len(r.pending) == 0 {
		return nil
	}
	bytes := r.pending
	r.pending = r.pending[:0]
	if r.encoding == symbolFont {
		var b strings.Builder
		for _, c := range bytes {
			b.WriteString(symbolText(c))
		}
		return r.put(b.String())
	}
	if charset.IsASCII(bytes) {
		return r.put(string(bytes))
	}
	text, _ := charset.DecodeWith(bytes, r.encoding)
	return r.put(text)
}

// symbolText decodes a byte in the Symbol font or a similar one. Letters become Greek, and non-ASCII bytes become
// bullets.
func symbolText(c byte) string {
	const upper, lower = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
	switch {
	case c >= 'A' && c <= 'Z':
		return string([]rune(upper)[c-'A'])
	case c >= 'a' && c <= 'z':
		return string([]rune(lower)[c-'a'])
	case c >= 0x80:
		return "•"
	}
	return string(rune(c))
}

// unicode adds a character by code and skips the replacement for older readers.
func (r *reader) unicode(number int) error {
	if err := r.decode(); err != nil {
		return err
	}
	g := r.group()
	r.fallback = g.unicodeFallback
	if number < 0 {
		number += 1 << 16
	}
	c := rune(number)
	switch {
	case number < 0 || number > unicode.MaxRune:
		return nil
	case c >= 0xf000 && c <= 0xf0ff: // a symbol font's character
		return r.put(symbolText(byte(c)))
	case utf16.IsSurrogate(c):
		if r.high != 0 {
			c, r.high = utf16.DecodeRune(r.high, c), 0
			return r.put(string(c))
		}
		r.high = c
		return nil
	}
	r.high = 0
	return r.put(string(c))
}

func (r *reader) text(s string) error {
	if err := r.decode(); err != nil {
		return err
	}
	return r.put(s)
}

// maxCollected is the maximum size, in bytes, of text that is collected but not part of the document's visible text,
// such as a title.
const maxCollected = 8 << 10

// put adds decoded text to the current group's destination.
func (r *reader) put(s string) error {
	g := r.group()
	switch g.to {
	case visible:
		if g.hidden || g.deleted {
			return nil
		}
		f := r.flow
		f.text.WriteString(s)
		f.plain = f.plain || !g.bold && strings.TrimSpace(s) != ""
		if f.text.Len() > maxParagraph {
			return r.endParagraph()
		}
	case styleSheet:
		r.named(s)
	case instruction, label, property:
		if g.collected.Len() < maxCollected {
			g.collected.WriteString(s)
		}
	}
	return nil
}

// maxParagraph is the maximum size of a paragraph in bytes. Longer paragraphs are split.
const maxParagraph = 1 << 20
