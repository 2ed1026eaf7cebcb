package pdf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// mappedPDF returns a page of text in a font with a ToUnicode map. The map gives each code from space to tilde the
// character that `to` returns. If `to` is nil, there is no map.
func mappedPDF(lines []string, to func(rune) rune) []byte {
	objects := extracttest.PageObjects(extracttest.PDFLines("F9", 11, 72, 760, lines...))
	mapped := ""
	if to != nil {
		var table strings.Builder
		table.WriteString("1 begincodespacerange <00> <ff> endcodespacerange 95 beginbfchar\n")
		for c := ' '; c <= '~'; c++ {
			fmt.Fprintf(&table, "<%02x> <%04x>\n", c, to(c))
		}
		objects = append(objects, extracttest.Stream("", table.String()+"endbfchar"))
		mapped = fmt.Sprintf("/ToUnicode %d 0 R", len(objects))
	}
	// The names of the glyphs do not say which characters they are, as is common in subset fonts.
	font := "/F9 << /Type /Font /Subtype /Type1 /BaseFont /X /FirstChar 32 /LastChar 126 /Widths [" + strings.Repeat("520 ", 95) + "] /Encoding << /Differences [33" + strings.Repeat(" /c99", 94) + "] >> " + mapped + " >> "
	objects[2] = strings.Replace(objects[2], "/F1 ", font+"/F1 ", 1)
	return extracttest.PDF(objects...)
}

func rightMap(c rune) rune { return c }

// shiftedMap returns a function that replaces each printable character except the space with the one `by` codes later.
func shiftedMap(by rune) func(rune) rune {
	return func(c rune) rune {
		if c == ' ' {
			return c
		}
		return '!' + (c-'!'+by+94)%94
	}
}

func TestFontsWithoutUsableMapsAreReported(t *testing.T) {
	t.Parallel()
	const unmapped, unlikely = "page 1: a font has no usable character map", "page 1: the letters form no words"
	private := func(c rune) rune {
		if c == ' ' {
			return c
		}
		return 0xe000 + c
	}
	small := func(c rune) rune { // only the capitals and signs of the font are mapped
		if c >= 'a' {
			return private(c)
		}
		return c
	}
	tests := map[string]struct {
		text []string
		to   func(rune) rune
		want string // "" for no warning
	}{
		"a right map":                     {pdf.ProseLines, rightMap, ""},
		"a map that is one off":           {pdf.ProseLines, shiftedMap(1), unlikely},
		"a map that is two off":           {append(pdf.ProseLines, pdf.ProseLines...), shiftedMap(-2), unlikely},
		"numbers of glyphs as characters": {append(pdf.ProseLines, pdf.ProseLines...), shiftedMap(-29), unlikely},
		"a map to private characters":     {append([]string{"PAGE ONE OF THE RULES"}, pdf.ProseLines...), small, unmapped},
		"no map, but codes of ASCII":      {pdf.ProseLines, nil, ""},               // PDFium reads these codes
		"a few words that are one off":    {pdf.ProseLines[:1], shiftedMap(1), ""}, // too few words to be sure
		"code":                            {pdf.CodeLines, rightMap, ""},
		"a listing of assembler":          {pdf.AssemblerLines, rightMap, ""},
		"part numbers":                    {pdf.PartLines, rightMap, ""},
		"the same part numbers again":     {append(pdf.PartLines, pdf.PartLines...), rightMap, ""},
		"formulas":                        {pdf.FormulaLines, rightMap, ""},
		"a protein":                       {pdf.ProteinLines, rightMap, ""},
		"sequences of bases":              {append(pdf.BasesLines, pdf.BasesLines...), rightMap, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := readtest.Parse(t, "a.pdf", mappedPDF(tt.text, tt.to))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(doc.Warnings, "\n"); (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) {
				t.Errorf("the warnings are %q, want %q; text:\n%s", got, tt.want, readtest.Render(doc))
			}
		})
	}
}

func TestPagesOfFontsWithoutMapsAreNamed(t *testing.T) {
	t.Parallel()
	doc, err := readtest.Parse(t, "a.pdf", extracttest.StrangePDF(0, 6, 6, 0, 40))
	if err != nil {
		t.Fatal(err)
	}
	const want = "pages 2 to 3, 5: a font has no usable character map; their text may be wrong or missing"
	if got := strings.Join(doc.Warnings, "\n"); got != want {
		t.Errorf("the warnings are %q, want %q", got, want)
	}
}

func TestAFileOfNothingButUnknownCharactersSaysSo(t *testing.T) {
	t.Parallel()
	doc, err := readtest.Parse(t, "a.pdf", mappedPDF(pdf.ProseLines, func(c rune) rune { return 0xe000 + c }))
	if format.KindOf(err) != format.NoText || !strings.Contains(err.Error(), "do not say which characters") {
		t.Errorf("the error is %v; document: %v", err, doc)
	}
}
