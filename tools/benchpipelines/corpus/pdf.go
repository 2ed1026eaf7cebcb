package corpus

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
)

const (
	pageTop    = 790.0 // points above the bottom of an A4 page
	pageBottom = 60.0
	lineLength = 88 // characters that fit between the margins
)

// typesetter lays out lines on pages.
type typesetter struct {
	pages []*bytes.Buffer
	y     float64
}

// line writes a line in a font (F0 is bold, F1 regular) of the given size in points.
func (t *typesetter) line(font string, size float64, text string) {
	if len(t.pages) == 0 || t.y < pageBottom {
		t.pages, t.y = append(t.pages, new(bytes.Buffer)), pageTop
	}
	fmt.Fprintf(t.pages[len(t.pages)-1], "BT /%s %g Tf 1 0 0 1 60 %g Tm (%s) Tj ET\n", font, size, t.y, text)
	t.y -= size * 1.25
}

func (t *typesetter) paragraph(text string) {
	var line string
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) >= lineLength {
			t.line("F1", 11, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	t.line("F1", 11, line)
	t.y -= 6
}

// pdf returns a document with A4 pages of headings and paragraphs.
func pdf(a *author, words int) ([]byte, error) {
	var t typesetter
	t.line("F0", 20, a.title())
	for _, s := range a.sections(words) {
		t.y -= 8
		t.line("F0", 14, s.title)
		for _, p := range append(s.paragraphs, s.items...) {
			t.paragraph(p)
		}
	}
	var out bytes.Buffer
	out.WriteString("%PDF-1.5\n")
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, out.Len())
		fmt.Fprintf(&out, "%d 0 obj\n"+format+"\nendobj\n", append([]any{len(offsets)}, args...)...)
	}
	const first = 5 // the first page's object number
	var kids strings.Builder
	for i := range t.pages {
		fmt.Fprintf(&kids, "%d 0 R ", first+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [ %s] /Count %d >>", kids.String(), len(t.pages))
	for _, font := range []string{"Helvetica-Bold", "Times-Roman"} {
		object("<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>", font)
	}
	for i, page := range t.pages {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F0 3 0 R /F1 4 0 R >> >> >>", first+2*i+1)
		var packed bytes.Buffer
		z := zlib.NewWriter(&packed)
		if _, err := z.Write(page.Bytes()); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		object("<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", packed.Len(), packed.Bytes())
	}
	at := out.Len()
	fmt.Fprintf(&out, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&out, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return out.Bytes(), nil
}
