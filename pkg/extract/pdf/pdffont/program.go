package pdffont

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/ledongthuc/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

// program is the part of an embedded font program that maps glyphs to characters.
type program struct {
	sfnt  *sfnt
	cff   *cff
	codes *[256]string // built-in encoding of Type 1 and CFF fonts, or nil
	type1 bool

	glyphs func() map[uint32]string // returns the text by glyph number, or nil; computed once
}

var winAnsi = sync.OnceValue(func() *[256]string { return baseEncoding("WinAnsiEncoding") })

// loadProgram reads the font program embedded in a font descriptor. It never returns nil.
func loadProgram(file *pdfobject.File, desc pdf.Value) *program {
	p := &program{glyphs: func() map[uint32]string { return nil }}
	for _, key := range []string{"FontFile", "FontFile2", "FontFile3"} {
		embedded := desc.Key(key)
		if embedded.Kind() != pdf.Stream {
			continue
		}
		data, err := file.Stream(embedded)
		if err != nil || len(data) < 4 {
			continue
		}
		p.read(data)
		return p
	}
	return p
}

// read detects the font's type from its data, because the font descriptor's key is often wrong.
func (p *program) read(data []byte) {
	switch {
	case bytes.HasPrefix(data, []byte("%!")) || data[0] == 0x80:
		p.type1 = true
		p.codes = type1Encoding(data)
	case data[0] == 1 && data[1] == 0 && data[2] > 0 && data[2] <= 16 && data[3] > 0 && data[3] <= 4:
		p.readCFF(data)
	default:
		if p.sfnt = parseSFNT(data); p.sfnt == nil {
			return
		}
		if table := p.sfnt.tables["CFF "]; len(table) > 4 {
			p.readCFF(table)
		}
		p.glyphs = sync.OnceValue(p.sfnt.glyphText)
	}
}

func (p *program) readCFF(data []byte) {
	p.cff = parseCFF(data)
	p.glyphs = sync.OnceValue(p.cff.glyphText)
	if p.cff.cids != nil {
		return
	}
	if p.cff.standard {
		p.codes = baseEncoding("StandardEncoding")
		return
	}
	p.codes = &[256]string{}
	for c, name := range p.cff.encoding {
		if p.codes[c] = cffName(name); p.codes[c] == "" {
			p.codes[c] = codeName(name, c)
		}
	}
}

func (p *program) isEmbedded() bool { return p.sfnt != nil || p.cff != nil || p.type1 }

// named returns the text for a glyph whose name is just a number, such as "g12" or "glyph0012". It returns "" for other
// names and unknown glyphs.
func (p *program) named(name string) string {
	prefix, digits, ok := numberedName(name)
	if !ok {
		return ""
	}
	switch strings.ToLower(prefix) {
	case "g", "gid", "glyph", "cid", "index":
	default:
		return ""
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return ""
	}
	return p.glyphs()[uint32(n)]
}

var encodingLine = regexp.MustCompile(`dup\s+(\d{1,3}|8#[0-7]{1,3}|16#[0-9A-Fa-f]{1,2})\s*/([^\s/{}<>()\[\]]+)\s+put`)

// type1Encoding reads an embedded Type 1 font's encoding from the font's unencrypted part.
func type1Encoding(data []byte) *[256]string {
	if i := bytes.Index(data, []byte("eexec")); i >= 0 {
		data = data[:i]
	}
	table := &[256]string{}
	if bytes.Contains(data, []byte("/Encoding StandardEncoding")) {
		return baseEncoding("StandardEncoding")
	}
	found := encodingLine.FindAllSubmatch(data, 1024)
	if len(found) == 0 {
		return baseEncoding("StandardEncoding")
	}
	for _, m := range found {
		digits, radix := string(m[1]), 10
		if r, rest, ok := strings.Cut(digits, "#"); ok {
			digits = rest
			radix, _ = strconv.Atoi(r) // encodingLine matches only 8 and 16
		}
		c, err := strconv.ParseUint(digits, radix, 8)
		if err != nil {
			continue
		}
		name := string(m[2])
		if table[c] = glyphName(name); table[c] == "" {
			table[c] = codeName(name, int(c))
		}
	}
	return table
}
