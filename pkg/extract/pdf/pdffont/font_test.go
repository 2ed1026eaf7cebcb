package pdffont

import (
	"encoding/binary"
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

func TestGlyphNames(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"A": "A", "eacute": "é", "uni20AC": "€", "uni00410042": "AB", "u1F600": "😀", "A.sc": "A", "f_i": "fi", "f_f_i.alt": "ffi",
		"Aacute_uni0301.x": "Á\u0301", "g123": "", "uniD800": "\uFFFD", "parenleftbig": "(", "summationdisplay": "∑", ".notdef": "", "prime": "′",
	}
	for name, want := range tests {
		if got := glyphName(name); got != want {
			t.Errorf("glyphName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestCharactersAreMadeReadable(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, font, want string }{
		"ligatures become letters":              {"oﬃce", "Times", "office"},
		"Arabic forms become letters":           {"\ufefb", "Arial", "لا"},
		"spaces become plain":                   {"a\u00a0b\u2009c", "Arial", "a b c"},
		"a soft hyphen that is shown is one":    {"a\u00ad", "Arial", "a-"},
		"private bullets of word processors":    {"\uf0b7", "Calibri", "•"},
		"codes of the Symbol font":              {"\uf061", "SymbolMT", "α"},
		"codes of Wingdings":                    {"\uf0fc", "Wingdings-Regular", "✓"},
		"private characters of unknown meaning": {"\ue123", "Logo", "\ue123"},
		"old style figures":                     {"\uf731", "Minion", "1"},
	}
	for name, tt := range tests {
		if got := readable(tt.text, tt.font); got != tt.want {
			t.Errorf("%s: Readable(%q) = %q, want %q", name, tt.text, got, tt.want)
		}
	}
}

// sfntOf returns a TrueType font with the given tables.
func sfntOf(tables map[string][]byte) []byte {
	head := []byte{0, 1, 0, 0}
	head = binary.BigEndian.AppendUint16(head, uint16(len(tables)))
	head = append(head, make([]byte, 6)...)
	at := len(head) + 16*len(tables)
	var body []byte
	for tag, data := range tables {
		head = append(head, tag...)
		head = binary.BigEndian.AppendUint32(head, 0)
		head = binary.BigEndian.AppendUint32(head, uint32(at+len(body)))
		head = binary.BigEndian.AppendUint32(head, uint32(len(data)))
		body = append(body, data...)
	}
	return append(head, body...)
}

// words encodes numbers as big-endian 16-bit integers.
func words(n ...int) []byte {
	var b []byte
	for _, v := range n {
		b = binary.BigEndian.AppendUint16(b, uint16(v))
	}
	return b
}

// segment returns a cmap table with a single map, from the characters `first` to `last` to consecutive glyphs that
// start at `glyph`.
func segment(platform, kind, first, last, glyph int) []byte {
	return words(0, 1, platform, kind, 0, 12, 4, 32, 0, 4, 0, 0, 0, last, 0xffff, 0, first, 0xffff, (glyph-first)&0xffff, 1, 0, 0)
}

func TestEncodingsOfFonts(t *testing.T) {
	t.Parallel()
	unicodeFont := string(sfntOf(map[string][]byte{"cmap": segment(3, 1, 'A', 'Z', 5)}))
	post := append(append(words(2, 0), make([]byte, 28)...), words(3, 0, 258, 36)...)
	symbolFont := string(sfntOf(map[string][]byte{"cmap": segment(3, 0, 0xf041, 0xf042, 1), "post": append(post, "\x06eacute"...)}))
	identity := func(more string) string {
		return "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [<< /Subtype /CIDFontType2 /DW 500 " + more + " >>] >>"
	}
	cjk := func(encoding, collection string) string {
		return "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /" + encoding + " /DescendantFonts [<< /Subtype /CIDFontType0 /CIDSystemInfo << /Registry (Adobe) /Ordering (" + collection + ") >> >>] >>"
	}
	simple := func(more string) string { return "<< /Type /Font /Subtype /TrueType /BaseFont /X " + more + " >>" }
	const type1 = "%!PS-AdobeFont-1.0\n/Encoding 256 array\ndup 65 /germandbls put\ndup 8#102 /fi put\nreadonly def currentfile eexec"
	tests := map[string]struct{ codes, font, program, want string }{
		"glyph numbers of Japanese":                  {"<0001002203A9>", cjk("Identity-H", "Japan1"), "", " Aキ"},
		"Shift-JIS":                                  {"<82A082A241>", cjk("90ms-RKSJ-H", "Japan1"), "", "あいA"},
		"EUC of Japanese":                            {"<A4A2A4A4>", cjk("EUC-H", "Japan1"), "", "あい"},
		"rows and cells":                             {"<2422>", cjk("H", "Japan1"), "", "あ"},
		"GBK":                                        {"<D6D0CEC4>", cjk("GBK-EUC-H", "GB1"), "", "中文"},
		"GB 18030 in four bytes":                     {"<8139EE39>", cjk("GBK2K-H", "GB1"), "", "㐀"},
		"Big5":                                       {"<A4A4A4E5>", cjk("ETen-B5-H", "CNS1"), "", "中文"},
		"Korean":                                     {"<C7D1B1B9>", cjk("KSCms-UHC-H", "Korea1"), "", "한국"},
		"UCS-2":                                      {"<4E2D6587>", cjk("UniGB-UCS2-H", "GB1"), "", "中文"},
		"UTF-16 beyond the basic plane":              {"<D840DC0B>", cjk("UniJIS-UTF16-H", "Japan1"), "", "𠀋"},
		"UTF-8":                                      {"<E4B8AD>", cjk("UniCNS-UTF8-H", "CNS1"), "", "中"},
		"a collection that the CMap alone tells":     {"<82A0>", cjk("90ms-RKSJ-H", "Identity"), "", "あ"},
		"glyphs of a font with a Unicode map":        {"<00050006>", identity("/FontDescriptor << /FontFile2 5 0 R >>"), unicodeFont, "AB"},
		"glyphs through a map to others":             {"<00000001>", identity("/CIDToGIDMap 6 0 R /FontDescriptor << /FontFile2 5 0 R >>"), unicodeFont, "ZY"},
		"a symbolic font with names of glyphs":       {"<4142>", simple("/FontDescriptor << /Flags 4 /FontFile2 5 0 R >>"), symbolFont, "éA"},
		"the encoding inside a Type 1 font":          {"<4142>", "<< /Subtype /Type1 /BaseFont /X /FontDescriptor << /Flags 4 /FontFile 5 0 R >> >>", type1, "ßfi"},
		"glyphs that names only number":              {"<01>", simple("/Encoding << /Differences [1 /g7] >> /FontDescriptor << /Flags 4 /FontFile2 5 0 R >>"), unicodeFont, "C"},
		"names that repeat the code":                 {"<4344>", simple("/Encoding << /Differences [67 /c67 /c68] >>"), "", "CD"},
		"bitmaps with made-up names":                 {"<410C>", "<< /Subtype /Type3 /FontMatrix [0.01 0 0 0.01 0 0] /FirstChar 12 /Widths [60] /Encoding << /Differences [12 /x1 65 /x2] >> >>", "", "Afi"},
		"Zapf Dingbats":                              {"<2133>", "<< /Subtype /Type1 /BaseFont /ZapfDingbats >>", "", "✁✓"},
		"the Symbol font":                            {"<6162A5>", "<< /Subtype /Type1 /BaseFont /Symbol >>", "", "αβ∞"},
		"a font that says nothing":                   {"<41>", "<< /Subtype /Type1 /BaseFont /X >>", "", "A"},
		"a map to Unicode that is named, not given":  {"<00410042>", "<< /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /ToUnicode /Identity-H /DescendantFonts [<< >>] >>", "", "AB"},
		"glyphs that nothing tells are unknown ones": {"<0005>", identity(""), "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := extracttest.PDF("<< /Type /Catalog /Pages 2 0 R /Font "+tt.font+" /Codes "+tt.codes+" >>", "null", "null", "null",
				extracttest.Stream("", tt.program), extracttest.Stream("", "\x00\x1e\x00\x1d"))
			file, err := pdfobject.Open(data, false)
			if err != nil {
				t.Fatalf("Open: %v", err)
			}
			root, got := file.Trailer().Key("Root"), ""
			NewCache(file).Load(root.Key("Font")).Decode(root.Key("Codes").RawString(), func(g Glyph) { got += g.Text })
			if got != tt.want {
				t.Errorf("text = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCMapsOfUnusualShape(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cmap string
		code uint32
		want string
	}{
		"ranges run on in their last character": {"1 beginbfrange <20> <7e> <00660041> endbfrange", 0x22, "fC"},
		"an end before its start counts once":   {"1 beginbfrange <41> <20> <0061> endbfrange", 0x41, "a"},
		"names of glyphs":                       {"1 beginbfchar <01> /eacute endbfchar", 1, "é"},
		"a byte order mark is no text":          {"1 beginbfchar <01> <FEFF0041> endbfchar", 1, "A"},
		"one byte is Latin-1":                   {"1 beginbfchar <01> <e9> endbfchar", 1, "é"},
		"the later of two ranges holds":         {"2 beginbfrange <00> <ff> <0041> <10> <1f> <0061> endbfrange", 0x11, "b"},
		"nothing beyond the last character":     {"1 beginbfrange <0000> <ffff> <DBFFDFF0> endbfrange", 0xffff, ""},
	}
	for name, tt := range tests {
		if got := parseCMap([]byte(tt.cmap)).lookup(tt.code); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	m := parseCMap([]byte("/90ms-RKSJ-H usecmap 1 begincidchar <82a0> 7 endcidchar"))
	if cid, ok := m.cid(0x82a0, 2); !ok || cid != 7 {
		t.Errorf("the CMap's own entry = %d, want 7", cid)
	}
	if cid, ok := m.cid(0x82a2, 2); !ok || cid != 845 {
		t.Errorf("an entry of the CMap it changes = %d, want 845", cid)
	}
	if n := m.codeLength("\x82\xa0"); n != 2 {
		t.Errorf("code length = %d, want 2", n)
	}
}

func TestParseCMap(t *testing.T) {
	t.Parallel()
	m := parseCMap([]byte(`1 begincodespacerange <00> <7F> endcodespacerange 1 begincodespacerange <8000> <FFFF> endcodespacerange
2 beginbfchar <41> <00480069> <8001> <D83DDE00> endbfchar
2 beginbfrange <10> <12> <0061> <20> <21> [<0078> <0079>] endbfrange`))
	want := map[uint32]string{0x41: "Hi", 0x8001: "😀", 0x10: "a", 0x11: "b", 0x12: "c", 0x20: "x", 0x21: "y", 0x22: ""}
	for code, text := range want {
		if got := m.lookup(code); got != text {
			t.Errorf("text of %#x = %q, want %q", code, got, text)
		}
	}
	if a, b := m.codeLength("A\x01"), m.codeLength("\x80\x01"); a != 1 || b != 2 {
		t.Errorf("code lengths = %d and %d, want 1 and 2", a, b)
	}
}

func FuzzFontProgram(f *testing.F) {
	f.Add(sfntOf(map[string][]byte{"cmap": segment(3, 1, 'A', 'Z', 5)}))
	f.Add([]byte("\x01\x00\x04\x01\x00\x01\x01\x01\x02X\x00\x01\x01\x01\x05\x8b\x0f\x95\x11\x00\x00\x00\x00\x00\x01\x01\x01\x02\x0e"))
	f.Add([]byte("%!PS\ndup 65 /A put"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if len(data) < 4 {
			return
		}
		p := &program{glyphs: func() map[uint32]string { return nil }}
		p.read(data) // must neither panic nor run forever
		p.glyphs()
		if p.sfnt != nil {
			p.sfnt.codeText()
		}
		p.named("g1")
	})
}

func FuzzCMap(f *testing.F) {
	f.Add([]byte("1 beginbfrange <00> <ffff> <0000> endbfrange 1 begincidrange <0> <ffffffff> 1 endcidrange"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := parseCMap(data)
		if len(m.text) > maxMapped {
			t.Errorf("%d entries", len(m.text))
		}
		if n := m.codeLength("\x80\x01\x02\x03"); n < 1 || n > 4 {
			t.Errorf("code length %d", n)
		}
	})
}

func FuzzGlyphText(f *testing.F) {
	f.Add([]byte("\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00cmap\x00\x00\x00\x00\x00\x00\x00\x1c\x00\x00\x00\x20\x00\x00\x00\x01\x00\x03\x00\x01\x00\x00\x00\x0c\x00\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p := &program{}
		if len(data) < 4 {
			return
		}
		p.read(data)
		if p.sfnt == nil {
			return
		}
		if m := p.sfnt.glyphText(); len(m) > maxMapped {
			t.Errorf("%d entries", len(m))
		}
		p.sfnt.codeText()
	})
}
