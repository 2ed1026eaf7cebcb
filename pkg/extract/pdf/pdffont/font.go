// Package pdffont decodes strings in PDF content streams to characters and the widths of their glyphs. It reads simple
// and composite fonts, their CMaps and encodings, and embedded font programs.
//
// Only package pdftext imports this package.
package pdffont

import (
	"strconv"
	"strings"

	"github.com/ledongthuc/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

// Font decodes strings in a content stream.
type Font struct {
	Bold     bool
	Vertical bool // the pen moves down
	Type3    bool // glyphs are small content streams, mostly bitmaps

	file      *pdfobject.File
	name      string
	scale     float64 // factor from glyph space to text space; 1/1000 except for Type 3
	toUnicode *cmap

	// Text and width by character code, for simple fonts only.
	codes  [256]string
	widths [256]float64

	cid *cidFont // nil for simple fonts
}

// Glyph is one character as shown on the page.
type Glyph struct {
	Text  string  // "" if unknown
	Width float64 // advance as a multiple of the font size; downwards in vertical writing
	Space bool    // the single-byte code 32, to which word spacing applies
}

// maxCached is the maximum number of fonts in a cache.
const maxCached = 4096

// Cache holds a file's fonts, so that each is read only once.
type Cache struct {
	file  *pdfobject.File
	fonts map[string]*Font
}

// NewCache returns an empty cache for a file's fonts.
func NewCache(file *pdfobject.File) *Cache { return &Cache{file: file, fonts: map[string]*Font{}} }

// Load reads a font from its dictionary. If the font is damaged, its glyphs have no text.
func (c *Cache) Load(v pdf.Value) *Font {
	key := strconv.FormatUint(uint64(pdfobject.ObjectNumber(v)), 10)
	if key == "0" { // the font is inside another object
		key = v.String()
	}
	if f := c.fonts[key]; f != nil {
		return f
	}
	f := &Font{file: c.file, scale: 0.001}
	func() {
		var err error
		defer pdfobject.Recover(&err)
		f.load(v)
	}()
	if len(c.fonts) < maxCached {
		c.fonts[key] = f
	}
	return f
}

func (f *Font) load(v pdf.Value) {
	f.name = v.Key("BaseFont").Name()
	if i := strings.IndexByte(f.name, '+'); i == 6 {
		f.name = f.name[7:]
	}
	lower := strings.ToLower(f.name)
	f.Bold = strings.Contains(lower, "bold") || strings.Contains(lower, "black") || strings.Contains(lower, "heavy")
	switch tu := v.Key("ToUnicode"); tu.Kind() {
	case pdf.Stream:
		if data, err := f.file.Stream(tu); err == nil {
			f.toUnicode = parseCMap(data)
		}
	case pdf.Name: // some programs write Identity-H: the codes are UTF-16
		if strings.HasPrefix(tu.Name(), "Identity") {
			f.toUnicode = &cmap{textRanges: []textRange{{0x20, 0xd7ff, " "}, {0xe000, 0xffff, "\ue000"}}}
		}
	}
	if f.toUnicode != nil && f.toUnicode.entries() == 0 && f.toUnicode.base == nil {
		f.toUnicode = nil
	}
	if v.Key("Subtype").Name() == "Type0" {
		f.loadComposite(v)
		return
	}
	f.loadSimple(v)
}

func (f *Font) loadSimple(v pdf.Value) {
	desc := v.Key("FontDescriptor")
	if f.Type3 = v.Key("Subtype").Name() == "Type3"; f.Type3 {
		if m := v.Key("FontMatrix"); m.Len() == 6 && m.Index(0).Float64() != 0 {
			f.scale = m.Index(0).Float64()
		}
	}
	table := f.simpleTable(v, desc)
	for c := range f.codes {
		f.codes[c] = readable(table[c], f.name)
		if f.toUnicode != nil {
			if s := f.toUnicode.lookup(uint32(c)); isUsable(s) && (!isPrivateUse(s) || table[c] == "") {
				f.codes[c] = readable(s, f.name)
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
			f.widths[c] = standardWidth(f.name, firstRune(table[c]))
		}
	}
}

func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}

// isUsable reports whether a ToUnicode entry maps to usable text. Some programs map codes to nothing or a control
// character.
func isUsable(s string) bool {
	switch s {
	case "":
		return false
	case "\t", "\n", "\r", "\u00ad":
		return true
	}
	r := firstRune(s)
	return r >= 0x20 && r != 0x7f && r != 0xfffd && r != 0xffff
}

// simpleTable returns a simple font's encoding. It starts with a named encoding or that of the embedded font program
// and then applies the entries in the Differences array.
func (f *Font) simpleTable(v, desc pdf.Value) *[256]string {
	enc := v.Key("Encoding")
	base := enc.Name()
	if enc.Kind() == pdf.Dict {
		base = enc.Key("BaseEncoding").Name()
	}
	lower := strings.ToLower(f.name)
	program := loadProgram(f.file, desc)
	symbolic := desc.Key("Flags").Int64()&4 != 0
	var table *[256]string
	switch {
	case strings.HasPrefix(lower, "symbol") && !program.isEmbedded():
		table = baseEncoding("Symbol")
	case strings.Contains(lower, "zapfdingbats") || strings.Contains(lower, "zapf dingbats"):
		table = baseEncoding("ZapfDingbats")
	case strings.Contains(lower, "wingdings") && (base == "" || !program.isEmbedded()):
		table = baseEncoding("Wingdings")
	case base == "MacRomanEncoding" || base == "WinAnsiEncoding" || base == "StandardEncoding":
		table = baseEncoding(base)
	case program.codes != nil:
		table = program.codes
	case v.Key("Subtype").Name() == "TrueType":
		table = f.trueTypeTable(program, symbolic)
	case strings.HasPrefix(lower, "symbol"):
		table = baseEncoding("Symbol")
	case v.Key("Subtype").Name() == "Type3":
		table = &[256]string{} // Differences names all codes
	default:
		table = baseEncoding("StandardEncoding")
	}
	copied := *table
	if enc.Kind() == pdf.Dict {
		f.applyDifferences(&copied, enc.Key("Differences"), program)
	}
	return &copied
}

// trueTypeTable returns the encoding of a TrueType font whose dictionary specifies none.
func (f *Font) trueTypeTable(program *program, symbolic bool) *[256]string {
	latin := winAnsi()
	if program.sfnt == nil || !symbolic {
		return latin
	}
	table := program.sfnt.codeText()
	found := 0
	for _, s := range table {
		if s != "" && !isPrivateUse(s) {
			found++
		}
	}
	if found == 0 && f.toUnicode == nil { // subset fonts' codes are arbitrary, but often Latin
		return latin
	}
	return table
}

// applyDifferences replaces the table entries listed in an encoding's Differences array.
func (f *Font) applyDifferences(table *[256]string, diffs pdf.Value, program *program) {
	names := map[int]string{}
	code := 0
	for i := range min(diffs.Len(), 4096) {
		switch d := diffs.Index(i); d.Kind() {
		case pdf.Integer, pdf.Real:
			code = int(max(-1, min(d.Float64(), 1<<20)))
		case pdf.Name:
			if code >= 0 && code < 256 {
				names[code] = d.Name()
			}
			code++
		}
	}
	dingbat := strings.Contains(strings.ToLower(f.name), "dingbats")
	agreeing := 0
	for code, name := range names {
		if codeName(name, code) != "" {
			agreeing++
		}
	}
	known := 0
	for code, name := range names {
		text := ""
		if dingbat {
			text = dingbats()[name]
		}
		if text == "" {
			text = glyphName(name)
		}
		if text == "" {
			text = program.named(name)
		}
		if text == "" && agreeing*2 > len(names) { // a single name that looks like its code may do so by chance
			text = codeName(name, code)
		}
		table[code] = text // "" for unknown names, because no text is better than wrong text
		if text != "" {
			known++
		}
	}
	if f.Type3 && f.toUnicode == nil && known*2 < len(names) {
		bitmapTable(table, names)
	}
}

// bitmapTable completes the encoding of a Type 3 font with arbitrary glyph names. Most such fonts are bitmaps of a
// Latin TeX font and keep its codes.
func bitmapTable(table *[256]string, names map[int]string) {
	ligatures := [...]string{0x0b: "ff", 0x0c: "fi", 0x0d: "fl", 0x0e: "ffi", 0x0f: "ffl"}
	for code := range names {
		switch {
		case table[code] != "":
		case code < len(ligatures):
			table[code] = ligatures[code]
		case code >= 0x20:
			table[code] = winAnsi()[code]
		}
	}
}

// Decode calls `do` with each glyph in a string on the page.
func (f *Font) Decode(s string, do func(Glyph)) {
	if f.cid != nil {
		f.decodeCIDs(s, do)
		return
	}
	for i := range len(s) {
		c := s[i]
		do(Glyph{Text: f.codes[c], Width: f.widths[c] * f.scale, Space: c == ' '})
	}
}
