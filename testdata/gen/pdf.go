package main

import (
	"bytes"
	"fmt"
	"strings"
)

// pdfWriter assembles a PDF file by hand: objects, cross references, trailer.
type pdfWriter struct {
	buf     bytes.Buffer
	offsets []int
}

// object writes the next object and returns its number.
func (w *pdfWriter) object(body string) int {
	w.offsets = append(w.offsets, w.buf.Len())
	fmt.Fprintf(&w.buf, "%d 0 obj\n%s\nendobj\n", len(w.offsets), body)
	return len(w.offsets)
}

func (w *pdfWriter) stream(data string) int {
	return w.object(fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(data), data))
}

// finish writes the cross references and the trailer.
func (w *pdfWriter) finish(root, info int) []byte {
	at := w.buf.Len()
	fmt.Fprintf(&w.buf, "xref\n0 %d\n0000000000 65535 f \n", len(w.offsets)+1)
	for _, o := range w.offsets {
		fmt.Fprintf(&w.buf, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&w.buf, "trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(w.offsets)+1, root, info, at)
	return w.buf.Bytes()
}

// pageText collects the operators for one page.
type pageText struct {
	strings.Builder
	y float64
}

// show writes one line at x in a font (F1 regular, F2 bold) and moves down by 1.25 times the font size.
func (p *pageText) show(font string, size, x float64, text string) {
	escaped := strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`).Replace(text)
	fmt.Fprintf(p, "BT /%s %g Tf 1 0 0 1 %g %g Tm (%s) Tj ET\n", font, size, x, p.y, escaped)
	p.y -= size * 1.25
}

func (p *pageText) heading(size float64, text string) {
	p.y -= size
	p.show("F2", size, 72, text)
	p.y -= 4
}

func (p *pageText) paragraph(lines ...string) {
	for _, l := range lines {
		p.show("F1", 11, 72, l)
	}
	p.y -= 8
}

func (p *pageText) row(cells ...string) {
	y := p.y
	for i, c := range cells {
		p.y = y
		p.show("F1", 11, 72+float64(i)*150, c)
	}
}

// manualPDF returns a two-page manual with headings, a list and a table.
func manualPDF() ([]byte, error) {
	one := &pageText{y: 760}
	one.heading(22, "Aurora X2 Product Manual")
	one.paragraph("The Aurora X2 is a vertical multistage pump for drinking water. It moves up to",
		"540 cubic metres an hour and is built by Nordlys Pumps in Bergen.")
	one.heading(15, "Warranty")
	one.paragraph("The Aurora X2 pump has a warranty of 7 years, counted from the day of com-",
		"missioning. The warranty ends early if the controller seal is broken or if the pump has",
		"run dry for more than 30 seconds.")
	one.heading(15, "Maintenance")
	one.paragraph("- Grease the upper bearing every 4000 operating hours.",
		"- Replace the impeller seal kit every 24 months.",
		"- Send an oil sample to the laboratory in Lyon once a year.")
	two := &pageText{y: 760}
	two.heading(15, "Technical data")
	two.row("Property", "Aurora X1", "Aurora X2")
	two.row("Rated power", "37 kW", "55 kW")
	two.row("Maximum head", "96 m", "143 m")
	two.row("Noise level", "71 dB(A)", "64 dB(A)")
	two.y -= 10
	two.heading(15, "Disposal")
	two.paragraph("The housing is made of duplex steel 1.4462 and can be recycled completely. Return the",
		"controller board to the manufacturer: it contains a lithium cell.")

	return pdfOf("Aurora X2 Product Manual", "en", one, two), nil
}

// pdfOf returns a PDF file with a title, a language and pages.
func pdfOf(title, language string, texts ...*pageText) []byte {
	w := &pdfWriter{}
	w.buf.WriteString("%PDF-1.4\n")
	var contents []int
	for _, t := range texts {
		contents = append(contents, w.stream(t.String()))
	}
	f1 := w.object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	f2 := w.object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>")
	pages := len(w.offsets) + len(texts) + 1
	var kids []string
	for _, content := range contents {
		kids = append(kids, fmt.Sprintf("%d 0 R", w.object(fmt.Sprintf("<< /Type /Page /Parent %d 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << /F1 %d 0 R /F2 %d 0 R >> >> >>",
			pages, content, f1, f2))))
	}
	w.object(fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids)))
	root := w.object(fmt.Sprintf("<< /Type /Catalog /Pages %d 0 R /Lang (%s) >>", pages, language))
	info := w.object(fmt.Sprintf("<< /Title (%s) >>", title))
	return w.finish(root, info)
}
