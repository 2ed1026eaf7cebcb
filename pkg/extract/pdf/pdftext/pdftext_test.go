package pdftext

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sluice/sluice/pkg/extract/extracttest"
)

// onePage returns a PDF with one page that has the given content and font dictionary.
func onePage(content, font string) []byte {
	return extracttest.PDF("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F "+font+" >> >> >>", extracttest.Stream("", content))
}

// showing returns a one-page file with additional dictionary entries for the page and the catalogue. The content stream
// is object 4, and `more` objects start at 5.
func showing(content, page, catalogue string, more ...string) []byte {
	return extracttest.PDF(append([]string{
		"<< /Type /Catalog /Pages 2 0 R " + catalogue + " >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F " + helvetica + " >> >> " + page + " >>", content,
	}, more...)...)
}

const helvetica = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"

// texts returns the first page's lines, followed by the values of its form fields.
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

func FuzzContent(f *testing.F) {
	f.Add("BT /F 10 Tf [(Hel)-20(lo)] TJ ET q Q BI ID x EI /Span << /ActualText (a) >> BDC EMC")
	f.Add("<41 (a\\(b [<< /K [1 2] >> -.5 --3 1e9 cm")
	f.Fuzz(func(t *testing.T, content string) {
		d, err := Open(onePage(content, helvetica))
		if err != nil {
			return // the content may end its own stream
		}
		for i := range d.NumPages() {
			_, _ = d.Page(t.Context(), i) // an error is acceptable, but not a panic or an endless loop
		}
	})
}

func FuzzOpen(f *testing.F) {
	data, err := os.ReadFile(filepath.Join(extracttest.Documents, "aurora-x2-manual.pdf"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(onePage("BT (x) Tj ET", helvetica))
	f.Add(showing(extracttest.Stream("/Filter /ASCIIHexDecode", fmt.Sprintf("%x>", "BT /F 9 Tf (x) Tj ET")), "", ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Open(data)
		if err != nil {
			return
		}
		for i := range min(d.NumPages(), 10) {
			_, _ = d.Page(t.Context(), i) // an error is acceptable, but not a panic or an endless loop
		}
	})
}
