package extracttest

import (
	"bytes"
	"fmt"
	"strings"
)

// PDF returns a PDF file with the given objects. The objects are numbered from 1, and the first one must be the
// catalogue.
func PDF(objects ...string) []byte { return PDFWith("", objects...) }

// PDFWith works like PDF, with additional entries in the trailer.
func PDFWith(trailer string, objects ...string) []byte {
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
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF", len(objects)+1, trailer, at)
	return b.Bytes()
}

// Stream returns a stream object for a PDF.
func Stream(dict, data string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
}

// PDFPages returns a PDF file with one page per content stream in `contents`. The pages can use the fonts F1
// (Helvetica) and F2 (Helvetica Bold).
func PDFPages(contents ...string) []byte { return PDF(PageObjects(contents...)...) }

// PageObjects returns the objects of the file returned by PDFPages. The catalogue comes first; from object 4 on, there
// are two objects per page.
func PageObjects(contents ...string) []string {
	const fonts = 3 // objects before the pages: catalogue, page tree and font resources
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "",
		"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >> /F2 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >> >> >>"}
	var kids strings.Builder
	for i, c := range contents {
		page := fonts + 1 + 2*i
		fmt.Fprintf(&kids, "%d 0 R ", page)
		objects = append(objects, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources 3 0 R >>", page+1), Stream("", c))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", kids.String(), len(contents))
	return objects
}

// At returns PDF operators that show `text` at the position (x, y) on a page.
func At(font string, size, x, y float64, text string) string {
	text = strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(text)
	return fmt.Sprintf("BT /%s %g Tf 1 0 0 1 %g %g Tm (%s) Tj ET\n", font, size, x, y, text)
}

// BookPDF returns a book of ordinary text. Each page has a running head, 45 lines and a page number; some pages have a
// heading.
func BookPDF(pages int) []byte {
	contents := make([]string, pages)
	for i := range contents {
		var b strings.Builder
		b.WriteString(At("F1", 9, 72, 800, "The Keeper of the North Gate"))
		y := 770.0
		if i%10 == 0 {
			b.WriteString(At("F2", 18, 72, y, fmt.Sprintf("Chapter %d", i/10+1)))
			y -= 30
		}
		for line := range 45 {
			b.WriteString(At("F1", 11, 72, y, fmt.Sprintf("On day %d the keeper wrote line %d of the log, and the wind was from the west as before", i, line)))
			y -= 15
		}
		b.WriteString(At("F1", 9, 290, 40, fmt.Sprint(i+1)))
		contents[i] = b.String()
	}
	return PDFPages(contents...)
}

// PDFLines returns PDF operators that show the strings one below the other, starting at the given position.
func PDFLines(font string, size, x, y float64, texts ...string) string {
	var b strings.Builder
	for i, text := range texts {
		b.WriteString(At(font, size, x, y-float64(i)*size*1.25, text))
	}
	return b.String()
}

// Repeated returns the lines for page n, each formatted with the page number and line number.
func Repeated(format string, n, lines int) []string {
	texts := make([]string, lines)
	for i := range texts {
		texts[i] = fmt.Sprintf(format, n, i)
	}
	return texts
}

// StrangePDF returns a book with so many undecodable glyphs that PDFium reads every page, too. There is one page per
// element of strangeLines. Each page has about 500 ordinary characters, followed by the given number of lines with 60
// undecodable characters each.
func StrangePDF(strangeLines ...int) []byte {
	pages := len(strangeLines)
	contents := make([]string, pages)
	for i, n := range strangeLines {
		var strange strings.Builder
		strange.WriteString("BT /F9 11 Tf 72 600 Td 14 TL ")
		for line := range n { // all lines differ, because PDFium reports repeated text only once
			strange.WriteString("<")
			for c := range 60 {
				fmt.Fprintf(&strange, "%02x", 14+(line+c*(line+1))%18)
			}
			strange.WriteString("> ' ")
		}
		contents[i] = PDFLines("F1", 11, 72, 780, Repeated("page %d keeps line %d of what was seen at the gate", i, 12)...) + strange.String() + "ET\n"
	}
	objects := PageObjects(contents...)
	font := "/F9 << /Type /Font /Subtype /Type1 /BaseFont /X /FirstChar 14 /LastChar 31 /Widths [" + strings.Repeat("500 ", 18) + "] /Encoding << /Differences [14" + strings.Repeat(" /c99", 18) + "] >> >> "
	objects[2] = strings.Replace(objects[2], "/F1 ", font+"/F1 ", 1)
	return PDF(objects...)
}
