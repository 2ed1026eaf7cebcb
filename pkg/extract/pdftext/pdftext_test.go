package pdftext

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// onePage is a PDF with one page of the given content and font dictionary.
func onePage(content, font string) []byte {
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F " + font + " >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content),
	}
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var offsets []int
	for i, o := range objects {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF", len(objects)+1, at)
	return b.Bytes()
}

const helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"

// texts are the lines of the first page, and behind them the values of its form fields.
func texts(t *testing.T, data []byte) []string {
	t.Helper()
	d, err := Open(data)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	page, err := d.Page(t.Context(), 0)
	if err != nil {
		t.Fatalf("Page: %v", err)
	}
	var out []string
	for _, l := range page.Lines {
		out = append(out, l.Text())
	}
	for _, f := range page.Fields {
		if f.Value != "" {
			out = append(out, f.Value)
		}
	}
	return out
}

func TestPage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		content, font string
		want          []string
	}{
		"gaps in TJ are spaces":                 {"BT /F 10 Tf [(Hel)-20(lo)-300(there)] TJ ET", helvetica, []string{"Hello there"}},
		"wide gaps part cells":                  {"BT /F 10 Tf 0 0 Td (a) Tj 90 0 Td (b) Tj ET", helvetica, []string{"a\tb"}},
		"a new baseline is a new line":          {"BT /F 10 Tf 12 TL (one) Tj T* (two) Tj (three) ' ET", helvetica, []string{"one", "two", "three"}},
		"text shown twice to look bold is once": {"BT /F 10 Tf (bold) Tj 1 0 0 1 0.2 0 Tm (bold) Tj ET", helvetica, []string{"bold"}},
		"rotated pages read along their lines":  {"BT /F 10 Tf 0 1 -1 0 50 50 Tm (up) Tj ( and on) Tj ET", helvetica, []string{"up and on"}},
		"Windows characters are decoded":        {"BT /F 10 Tf (\\223\\344\\224 \\200) Tj ET", helvetica, []string{"“ä” €"}},
		"differences name glyphs":               {"BT /F 10 Tf (\\001\\002) Tj ET", "<< /Type /Font /Subtype /Type1 /BaseFont /X /Encoding << /Differences [1 /fi /uni20AC] >> >>", []string{"fi€"}},
		"actual text replaces glyphs":           {"BT /F 10 Tf /Span << /ActualText (whole) >> BDC (wh) Tj EMC ( word) Tj ET", helvetica, []string{"whole word"}},
		"inline images are passed over":         {"BI /W 1 ID (Tj) Tj \x01\x02 EI BT /F 10 Tf (after) Tj ET", helvetica, []string{"after"}},
		"Hebrew is turned into reading order":   {"BT /F 10 Tf (\\003\\002\\001) Tj ET", "<< /Type /Font /Subtype /Type1 /BaseFont /X /Encoding << /Differences [1 /uni05D0 /uni05D1 /uni05D2] >> >>", []string{"אבג"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := texts(t, onePage(tt.content, tt.font))
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], "ﬁ", "fi")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenRepairsFiles(t *testing.T) {
	t.Parallel()
	good := onePage("BT /F 10 Tf (still here) Tj ET", helvetica)
	tests := map[string][]byte{
		"rubbish before the header":      append([]byte("HTTP/1.1 200 OK\r\n\r\n"), good...),
		"rubbish after the end":          append(bytes.Clone(good), []byte("\n<html>advertisement</html>")...),
		"a header of another version":    bytes.Replace(good, []byte("%PDF-1.4"), []byte("%PDF-2.0"), 1),
		"cut off before the references":  good[:bytes.Index(good, []byte("xref\n0"))],
		"references that are a loop":     bytes.Replace(good, []byte("trailer\n<<"), []byte("trailer\n<< /Prev 9"), 1),
		"a size beyond all memory":       bytes.Replace(good, []byte("/Size 5"), []byte("/Size 99999999999"), 1),
		"a reference beyond all memory":  bytes.Replace(good, []byte("xref\n0 5\n"), []byte("xref\n4294967200 5\n"), 1),
		"an offset that points anywhere": bytes.Replace(good, []byte("startxref\n"), []byte("startxref\n1"), 1),
	}
	for name, data := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{"still here"}, texts(t, data)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
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

func FuzzContent(f *testing.F) {
	f.Add("BT /F 10 Tf [(Hel)-20(lo)] TJ ET q Q BI ID x EI /Span << /ActualText (a) >> BDC EMC")
	f.Add("<41 (a\\(b [<< /K [1 2] >> -.5 --3 1e9 cm")
	f.Fuzz(func(t *testing.T, content string) {
		d, err := Open(onePage(content, helvetica))
		if err != nil {
			return // the content may end its own stream
		}
		for i := range d.NumPages() {
			_, _ = d.Page(t.Context(), i) // an error is a fine result; a panic or no end is not
		}
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

func FuzzOpen(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "documents", "aurora-x2-manual.pdf"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(onePage("BT (x) Tj ET", helvetica))
	for _, content := range []string{
		packed("/Filter [/AHx /Fl]", fmt.Sprintf("%x>", deflated("BT /F 9 Tf (x) Tj ET"))),
		packed("/Filter /LZWDecode", lzw("BT /F 9 Tf (x) Tj ET")),
		packed("/Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 5 >>", deflated("\x02BT /F\x02\x00\x00\x00\x00\x00")),
	} {
		f.Add(showing(content, "", ""))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Open(data)
		if err != nil {
			return
		}
		for i := range min(d.NumPages(), 10) {
			_, _ = d.Page(t.Context(), i) // an error is a fine result; a panic or no end is not
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
