package extract

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
)

// pdfPages is a file of pages with the given content streams, in Helvetica (F1) and its bold (F2).
func pdfPages(contents ...string) []byte { return pdfOf(pageObjects(contents...)...) }

// pageObjects are the objects of such a file: the catalogue first, the pages from number 4 on, by twos.
func pageObjects(contents ...string) []string {
	const fonts = 3 // objects before the pages: catalogue, page tree and font resources
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "",
		"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >> /F2 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >> >> >>"}
	var kids strings.Builder
	for i, c := range contents {
		page := fonts + 1 + 2*i
		fmt.Fprintf(&kids, "%d 0 R ", page)
		objects = append(objects, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources 3 0 R >>", page+1), stream("", c))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(contents))
	return objects
}

// at shows a text at a place in a font.
func at(font string, size, x, y float64, text string) string {
	text = strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(text)
	return fmt.Sprintf("BT /%s %g Tf 1 0 0 1 %g %g Tm (%s) Tj ET\n", font, size, x, y, text)
}

// bookPDF is a book of ordinary text: a running head, a heading now and then, 45 lines and the page's number.
func bookPDF(pages int) []byte {
	contents := make([]string, pages)
	for i := range contents {
		var b strings.Builder
		b.WriteString(at("F1", 9, 72, 800, "The Keeper of the North Gate"))
		y := 770.0
		if i%10 == 0 {
			b.WriteString(at("F2", 18, 72, y, fmt.Sprintf("Chapter %d", i/10+1)))
			y -= 30
		}
		for line := range 45 {
			b.WriteString(at("F1", 11, 72, y, fmt.Sprintf("On day %d the keeper wrote line %d of the log, and the wind was from the west as before", i, line)))
			y -= 15
		}
		b.WriteString(at("F1", 9, 290, 40, fmt.Sprint(i+1)))
		contents[i] = b.String()
	}
	return pdfPages(contents...)
}

// BenchmarkPDFPages measures how many pages of ordinary text are read in a second.
func BenchmarkPDFPages(b *testing.B) {
	const pages = 200
	data := bookPDF(pages)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		_, err := Stream(b.Context(), Source{Data: bytes.NewReader(data), Size: int64(len(data)), Name: "book.pdf"}, Limits{},
			func(block domain.Block) error { _, err := io.WriteString(io.Discard, block.Text); return err })
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(pages*b.N)/b.Elapsed().Seconds(), "pages/s")
}
