package pdffont

import (
	"strings"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdffont/internal/adobe"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

// cidFont holds the additional properties of a composite font, whose codes can have several bytes and map to the glyph
// numbers (CIDs) of a character collection.
type cidFont struct {
	encoding       *cmap           // embedded or predefined CMap; nil if codes are CIDs or Unicode
	unicode        unicodeForm     // the predefined CMap's encoding form, if it is a Unicode encoding
	numbers        map[rune]uint32 // for a Unicode encoding: CIDs by character
	halfWidthASCII bool            // for a Unicode encoding: ASCII characters are half as wide

	widths    map[uint32]float64 // by CID, in thousandths of the font size
	width     float64            // width of all other CIDs
	heights   map[uint32]float64 // advances in vertical writing, where the pen moves down
	height    float64
	text      *adobe.Text       // text for the collection's CIDs, or nil
	glyphText map[uint32]string // text for the embedded font program's glyphs, by number
	glyphOf   func(cid uint32) uint32
}

// unicodeForm identifies the Unicode encoding, such as UTF-16, that a CMap stands for.
type unicodeForm byte

const (
	noUnicode unicodeForm = iota
	utf8Form
	utf16Form
	utf32Form
)

func (f *Font) loadComposite(v pdf.Value) {
	c := &cidFont{width: 1000, height: -1000, glyphOf: func(cid uint32) uint32 { return cid }}
	f.cid = c
	desc := v.Key("DescendantFonts").Index(0)
	if dw := desc.Key("DW"); dw.Kind() == pdf.Integer || dw.Kind() == pdf.Real {
		c.width = dw.Float64()
	}
	c.widths = cidMetrics(desc.Key("W"), 1)
	info := desc.Key("CIDSystemInfo")
	collection := info.Key("Registry").RawString() + "-" + info.Key("Ordering").RawString()
	enc := v.Key("Encoding")
	if enc.Kind() == pdf.Stream {
		if data, err := f.file.Stream(enc); err == nil {
			c.encoding = parseCMap(data)
			if base := enc.Key("UseCMap"); base.Kind() == pdf.Name && c.encoding.base == nil {
				c.encoding.base = predefinedCMap(base.Name())
			}
			f.Vertical = c.encoding.vertical
		}
	}
	f.predefined(enc.Name(), &collection)
	if f.Vertical {
		if dw2 := desc.Key("DW2"); dw2.Len() == 2 {
			c.height = dw2.Index(1).Float64()
		}
		c.heights = cidMetrics(desc.Key("W2"), 3)
	}
	c.text = collectionText(collection)
	if c.unicode != noUnicode {
		c.numbers = collectionCIDs(collection)
		return
	}
	if c.text == nil || collection == "Adobe-Identity" {
		c.loadGlyphs(f.file, desc)
	}
}

// predefined sets up the predefined CMap called `name`. It also determines the character collection if the font doesn't
// name one.
func (f *Font) predefined(name string, collection *string) {
	if name == "" {
		return
	}
	f.Vertical = f.Vertical || strings.HasSuffix(name, "-V") || name == "V"
	if strings.HasPrefix(name, "Uni") {
		switch {
		case strings.Contains(name, "UCS2"), strings.Contains(name, "UTF16"):
			f.cid.unicode = utf16Form
		case strings.Contains(name, "UTF8"):
			f.cid.unicode = utf8Form
		case strings.Contains(name, "UTF32"):
			f.cid.unicode = utf32Form
		}
		f.cid.halfWidthASCII = strings.Contains(name, "-HW-")
		for prefix, c := range map[string]string{"UniGB": "Adobe-GB1", "UniCNS": "Adobe-CNS1", "UniJIS": "Adobe-Japan1", "UniKS": "Adobe-Korea1", "UniAKR": "Adobe-KR"} {
			if strings.HasPrefix(name, prefix) {
				*collection = c
			}
		}
		return
	}
	if f.cid.encoding = predefinedCMap(name); f.cid.encoding != nil && collectionText(*collection) == nil {
		*collection = collectionOf(name)
	}
}

// collectionOf returns the character collection of a predefined CMap that is not a Unicode encoding.
func collectionOf(cmapName string) string {
	switch {
	case strings.HasPrefix(cmapName, "GB"):
		return "Adobe-GB1"
	case strings.HasPrefix(cmapName, "KSC"):
		return "Adobe-Korea1"
	case strings.Contains(cmapName, "B5"), strings.HasPrefix(cmapName, "CNS"):
		return "Adobe-CNS1"
	}
	return "Adobe-Japan1"
}

// loadGlyphs reads the glyphs' text from the embedded font program, for fonts whose CIDs have no predefined meaning.
func (c *cidFont) loadGlyphs(file *pdfobject.File, desc pdf.Value) {
	p := loadProgram(file, desc.Key("FontDescriptor"))
	c.glyphText = p.glyphs()
	if m := desc.Key("CIDToGIDMap"); m.Kind() == pdf.Stream {
		if table, err := file.Stream(m); err == nil {
			c.glyphOf = func(cid uint32) uint32 { return uint32(u16(table, int(min(cid, 0xffff))*2)) }
		}
	}
	if p.cff != nil && p.cff.cids != nil {
		numbers := make(map[uint32]uint32, len(p.cff.cids))
		for g, cid := range p.cff.cids {
			numbers[uint32(cid)] = uint32(g)
		}
		c.glyphOf = func(cid uint32) uint32 { return numbers[cid] }
	}
}

// cidMetrics reads a font's W or W2 array. Entries have one number in W and three in W2; only the first is kept.
func cidMetrics(w pdf.Value, numbers int) map[uint32]float64 {
	out := map[uint32]float64{}
	budget := maxMapped // limits the number of widths, because entries may repeat a long list or overlap
	for i := 0; i < min(w.Len(), maxMapped) && budget > 0; {
		first := uint32(max(0, w.Index(i).Int64()))
		second := w.Index(i + 1)
		if second.Kind() == pdf.Array {
			for j := range min(second.Len()/numbers, 0x10000, budget) {
				budget--
				out[first+uint32(j)] = second.Index(j * numbers).Float64()
			}
			i += 2
			continue
		}
		last, width := uint32(max(0, second.Int64())), w.Index(i+2).Float64()
		for c := first; c <= last && c-first < 0x10000 && budget > 0; c++ {
			budget--
			out[c] = width
		}
		i += 2 + numbers
	}
	return out
}

func (f *Font) decodeCIDs(s string, do func(Glyph)) {
	for len(s) > 0 {
		n := f.cid.codeLength(s)
		do(f.cidGlyph(s[:n]))
		s = s[n:]
	}
}

// codeLength returns the length in bytes of the code at the start of s.
func (c *cidFont) codeLength(s string) int {
	switch c.unicode {
	case utf8Form:
		_, n := utf8.DecodeRuneInString(s)
		return n
	case utf32Form:
		return min(4, len(s))
	case utf16Form:
		if len(s) >= 4 && s[0]&0xfc == 0xd8 {
			return 4
		}
		return min(2, len(s))
	}
	if c.encoding != nil && (len(c.encoding.spaces) > 0 || c.encoding.base != nil) {
		return c.encoding.codeLength(s)
	}
	return min(2, len(s))
}

func (f *Font) cidGlyph(raw string) Glyph {
	c := f.cid
	code := codeOf(raw)
	cid, text := code, ""
	switch {
	case c.unicode != noUnicode:
		text = c.unicodeText(raw)
		cid = c.numbers[firstRune(text)]
	case c.encoding != nil:
		if n, ok := c.encoding.cid(code, len(raw)); ok {
			cid = n
		} else if len(c.encoding.cids) > 0 || c.encoding.base != nil {
			cid = 0
		}
	}
	g := Glyph{Space: raw == " ", Width: c.advance(cid, f.Vertical, text) * f.scale}
	if f.toUnicode != nil {
		if s := f.toUnicode.lookup(code); isUsable(s) {
			g.Text = readable(s, f.name)
			return g
		}
	}
	if text == "" && c.text != nil {
		text = c.text.At(cid)
	}
	if text == "" && c.glyphText != nil {
		text = c.glyphText[c.glyphOf(cid)]
	}
	if isUsable(text) {
		g.Text = readable(text, f.name)
	}
	return g
}

func (c *cidFont) unicodeText(raw string) string {
	switch c.unicode {
	case utf8Form:
		return raw
	case utf32Form:
		return string(rune(codeOf(raw)))
	}
	return utf16Text(raw)
}

// advance returns a glyph's advance width in thousandths of the font size.
func (c *cidFont) advance(cid uint32, vertical bool, text string) float64 {
	if vertical {
		if h, ok := c.heights[cid]; ok {
			return h
		}
		return c.height
	}
	if w, ok := c.widths[cid]; ok {
		return w
	}
	if r := firstRune(text); c.halfWidthASCII && r >= 0x20 && r < 0x7f {
		return c.width / 2
	}
	return c.width
}
