package pdftext

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// font decodes the strings that a content stream shows.
type font struct {
	name     string
	bold     bool
	vertical bool
	scale    float64 // glyph space to text space; 1/1000 but for Type 3

	// Simple fonts.
	codes  [256]string
	widths [256]float64

	// Composite fonts.
	composite bool
	toUnicode *cmap
	encoding  *cmap             // embedded CMap, or nil
	charset   encoding.Encoding // predefined CMap of a legacy charset, or nil
	unicode   int               // predefined CMap of Unicode: bytes a unit (2), or 0
	jis       bool              // predefined CMap H or V: JIS X 0208 rows and cells
	cidWidths map[uint32]float64
	defWidth  float64
	cidText   map[uint32]string // from the embedded font program
}

// glyph is one shown character.
type glyph struct {
	text  string // "" when unknown
	width float64
	space bool // the single-byte code 32, to which word spacing applies
}

func (d *Document) font(fonts pdf.Value, name string) *font {
	key := fonts.String() + "\x00" + name
	if f := d.fonts[key]; f != nil {
		return f
	}
	f := &font{scale: 0.001, defWidth: 1000}
	func() {
		var err error
		defer recoverTo(&err) // a broken font shows unknown glyphs
		f.load(fonts.Key(name))
	}()
	d.Stats.Fonts++
	if len(d.fonts) < 4096 {
		d.fonts[key] = f
	}
	return f
}

func (f *font) load(v pdf.Value) {
	f.name = v.Key("BaseFont").Name()
	if i := strings.IndexByte(f.name, '+'); i == 6 {
		f.name = f.name[7:]
	}
	lower := strings.ToLower(f.name)
	f.bold = strings.Contains(lower, "bold") || strings.Contains(lower, "black") || strings.Contains(lower, "heavy")
	if tu := v.Key("ToUnicode"); tu.Kind() == pdf.Stream {
		if data, err := streamBytes(tu); err == nil {
			f.toUnicode = parseCMap(data)
		}
	}
	if v.Key("Subtype").Name() == "Type0" {
		f.loadComposite(v)
		return
	}
	f.loadSimple(v)
}

func (f *font) loadSimple(v pdf.Value) {
	desc := v.Key("FontDescriptor")
	if v.Key("Subtype").Name() == "Type3" {
		f.scale = 0.001
		if m := v.Key("FontMatrix"); m.Len() == 6 && m.Index(0).Float64() != 0 {
			f.scale = m.Index(0).Float64()
		}
	}
	table := f.simpleTable(v, desc)
	for c := range f.codes {
		if table[c] != 0 {
			f.codes[c] = string(table[c])
		}
		if f.toUnicode != nil {
			if s, ok := f.toUnicode.text[uint32(c)]; ok && usable(s) {
				f.codes[c] = s
			}
		}
	}
	first, widths := int(v.Key("FirstChar").Int64()), v.Key("Widths")
	missing := desc.Key("MissingWidth").Float64()
	for c := range f.widths {
		switch {
		case widths.Kind() == pdf.Array && c >= first && c-first < widths.Len():
			f.widths[c] = widths.Index(c - first).Float64()
		case widths.Kind() == pdf.Array:
			f.widths[c] = missing
		default:
			f.widths[c] = standardWidth(f.name, table[c])
		}
	}
}

// usable reports whether a ToUnicode entry says anything: some writers map every code to a space or to nothing.
func usable(s string) bool { return s != "" && s != "\x00" && s != "\uFFFD" }

// simpleTable is the encoding of a simple font: the named or built-in one, changed by Differences.
func (f *font) simpleTable(v, desc pdf.Value) [256]rune {
	enc := v.Key("Encoding")
	base := enc.Name()
	if enc.Kind() == pdf.Dict {
		base = enc.Key("BaseEncoding").Name()
	}
	lower := strings.ToLower(f.name)
	symbolic := desc.Key("Flags").Int64()&4 != 0
	var table [256]rune
	switch {
	case base != "":
		table = baseEncoding(base)
	case strings.HasPrefix(lower, "symbol"):
		table = baseEncoding("Symbol")
	case desc.Key("FontFile").Kind() == pdf.Stream:
		table = builtIn(desc.Key("FontFile"))
	case v.Key("Subtype").Name() == "TrueType" && !symbolic:
		table = baseEncoding("WinAnsiEncoding")
	case symbolic && (desc.Key("FontFile2").Kind() == pdf.Stream || desc.Key("FontFile3").Kind() == pdf.Stream) && enc.Kind() != pdf.Dict:
		if f.toUnicode == nil { // codes of a subset mean nothing outside it, but Latin ones often were kept
			table = baseEncoding("WinAnsiEncoding")
		}
	default:
		table = baseEncoding("StandardEncoding")
	}
	if enc.Kind() == pdf.Dict {
		applyDifferences(&table, enc.Key("Differences"))
	}
	return table
}

func applyDifferences(table *[256]rune, diffs pdf.Value) {
	names := map[int]string{}
	code := 0
	for i := range min(diffs.Len(), 4096) {
		switch d := diffs.Index(i); d.Kind() {
		case pdf.Integer, pdf.Real:
			code = int(d.Float64())
		case pdf.Name:
			if code >= 0 && code < 256 {
				names[code] = d.Name()
			}
			code++
		}
	}
	applyNames(table, names)
}

func applyNames(table *[256]rune, names map[int]string) {
	list := make([]string, 0, len(names))
	for _, n := range names {
		list = append(list, n)
	}
	runes := glyphRunes(list)
	for code, n := range names {
		table[code] = runes[n] // 0 for unknown names: better unknown than wrong
	}
}

var encodingLine = regexp.MustCompile(`dup\s+(\d{1,3})\s*/([A-Za-z0-9._]+)\s+put`)

// builtIn reads the encoding inside an embedded Type 1 font, which stands in its clear part.
func builtIn(program pdf.Value) [256]rune {
	data, err := streamBytes(program)
	if i := bytes.Index(data, []byte("eexec")); i >= 0 {
		data = data[:i]
	}
	names := map[int]string{}
	if err == nil && !bytes.Contains(data, []byte("/Encoding StandardEncoding")) {
		for _, m := range encodingLine.FindAllSubmatch(data, 1024) {
			if c := atoi(m[1]); c < 256 {
				names[c] = string(m[2])
			}
		}
	}
	if len(names) == 0 {
		return baseEncoding("StandardEncoding")
	}
	var table [256]rune
	applyNames(&table, names)
	return table
}

func (f *font) loadComposite(v pdf.Value) {
	f.composite = true
	f.cidWidths = map[uint32]float64{}
	desc := v.Key("DescendantFonts").Index(0)
	if dw := desc.Key("DW"); dw.Kind() == pdf.Integer || dw.Kind() == pdf.Real {
		f.defWidth = dw.Float64()
	}
	f.loadCIDWidths(desc.Key("W"))
	enc := v.Key("Encoding")
	if enc.Kind() == pdf.Stream {
		if data, err := streamBytes(enc); err == nil {
			f.encoding = parseCMap(data)
			f.vertical = f.encoding.vertical
		}
	}
	f.predefined(enc.Name())
	if f.toUnicode == nil && f.charset == nil && f.unicode == 0 && !f.jis {
		ff := desc.Key("FontDescriptor").Key("FontFile2")
		if ff.Kind() == pdf.Stream && desc.Key("CIDToGIDMap").Kind() != pdf.Stream {
			if data, err := streamBytes(ff); err == nil {
				f.cidText = glyphText(data)
			}
		}
	}
}

func (f *font) loadCIDWidths(w pdf.Value) {
	for i := 0; i < min(w.Len(), maxMapped); {
		first := uint32(w.Index(i).Int64())
		second := w.Index(i + 1)
		if second.Kind() == pdf.Array {
			for j := range min(second.Len(), 0x10000) {
				f.cidWidths[first+uint32(j)] = second.Index(j).Float64()
			}
			i += 2
			continue
		}
		last, width := uint32(second.Int64()), w.Index(i+2).Float64()
		for c := first; c <= last && c-first < 0x10000 && len(f.cidWidths) < maxMapped; c++ {
			f.cidWidths[c] = width
		}
		i += 3
	}
}

// predefined sets up the CMaps that every reader is expected to know, as far as they are Unicode or a charset.
func (f *font) predefined(name string) {
	f.vertical = f.vertical || strings.HasSuffix(name, "-V") || name == "V"
	switch {
	case strings.Contains(name, "UCS2") || strings.Contains(name, "UTF16"):
		f.unicode = 2
	case strings.Contains(name, "RKSJ"):
		f.charset = japanese.ShiftJIS
	case name == "EUC-H", name == "EUC-V":
		f.charset = japanese.EUCJP
	case strings.HasPrefix(name, "GBK") || strings.HasPrefix(name, "GBpc") || strings.HasPrefix(name, "GB-EUC"):
		f.charset = simplifiedchinese.GBK
	case strings.Contains(name, "B5"):
		f.charset = traditionalchinese.Big5
	case strings.HasPrefix(name, "KSC"):
		f.charset = korean.EUCKR
	case name == "H" || name == "V":
		f.jis = true
	}
}

// decode calls do for each glyph of a shown string.
func (f *font) decode(s string, do func(glyph)) {
	if !f.composite {
		for i := range len(s) {
			c := s[i]
			do(glyph{text: f.codes[c], width: f.widths[c] * f.scale, space: c == ' '})
		}
		return
	}
	for len(s) > 0 {
		n := f.codeLength(s)
		do(f.compositeGlyph(s[:n]))
		s = s[n:]
	}
}

func (f *font) codeLength(s string) int {
	switch {
	case f.charset != nil:
		if c := s[0]; c < 0x80 || f.charset == japanese.ShiftJIS && c >= 0xa0 && c < 0xe0 {
			return 1
		}
	case f.encoding != nil && len(f.encoding.spaces) > 0:
		return f.encoding.codeLength(s)
	}
	return min(2, len(s))
}

func (f *font) compositeGlyph(raw string) glyph {
	code := codeOf(raw)
	cid := code
	if f.encoding != nil {
		if c, ok := f.encoding.cid(code); ok {
			cid = c
		}
	}
	g := glyph{space: raw == " "}
	width, ok := f.cidWidths[cid]
	if !ok || f.charset != nil || f.unicode > 0 || f.jis {
		width = f.defWidth
		if len(raw) == 1 {
			width = 500
		}
	}
	g.width = width * f.scale
	if f.toUnicode != nil {
		if s, ok := f.toUnicode.text[code]; ok && usable(s) {
			g.text = s
			return g
		}
	}
	switch {
	case f.charset != nil:
		if text, err := f.charset.NewDecoder().String(raw); err == nil && usable(text) {
			g.text = text
		}
	case f.unicode > 0:
		g.text = utf16Text(raw)
	case f.jis && len(raw) == 2:
		if text, err := japanese.EUCJP.NewDecoder().String(string([]byte{raw[0] | 0x80, raw[1] | 0x80})); err == nil && usable(text) {
			g.text = text
		}
	case f.cidText != nil:
		g.text = f.cidText[cid]
	}
	return g
}
