package main

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// Size of the book that is generated for measuring memory usage.
const (
	bookPages      = 2000
	bookCharacters = 3000 // per page
)

// bookFonts are the book's fonts: headings, text, notes and listings.
var bookFonts = []string{"Helvetica-Bold", "Times-Roman", "Times-Italic", "Courier"}

// writeBook writes a PDF in which each page has a heading, text, a note and a listing, all in different fonts. The
// words are made up, but the same in each run.
func writeBook(path string, pages int) error {
	r := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	var offsets []int
	object := func(body string) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), body)
	}
	first := 3 + len(bookFonts)
	var kids, fonts strings.Builder
	for i := range pages {
		fmt.Fprintf(&kids, "%d 0 R ", first+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object(fmt.Sprintf("<< /Type /Pages /Kids [ %s] /Count %d >>", kids.String(), pages))
	for i, f := range bookFonts {
		object(fmt.Sprintf("<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>", f))
		fmt.Fprintf(&fonts, "/F%d %d 0 R ", i, 3+i)
	}
	for i := range pages {
		object(fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R /Resources << /Font << %s>> >> >>", first+2*i+1, fonts.String()))
		packed, err := pack(bookPage(r, i+1))
		if err != nil {
			return err
		}
		object(fmt.Sprintf("<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", len(packed), packed))
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return os.WriteFile(path, b.Bytes(), 0o644)
}

func pack(content string) ([]byte, error) {
	var buf bytes.Buffer
	z := zlib.NewWriter(&buf)
	if _, err := z.Write([]byte(content)); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

func bookPage(r *rand.Rand, number int) string {
	var b strings.Builder
	y := 790.0
	written := 0
	line := func(font int, size float64, text string) {
		fmt.Fprintf(&b, "BT /F%d %g Tf 1 0 0 1 60 %g Tm (%s) Tj ET\n", font, size, y, text)
		y -= size * 1.25
		written += len(text)
	}
	line(0, 16, fmt.Sprintf("Chapter %d, %s", number, words(r, 20)))
	for written < bookCharacters-300 {
		line(1, 10, words(r, 90))
	}
	line(2, 8, words(r, 90))
	for range 3 {
		line(3, 9, words(r, 60))
	}
	return b.String()
}

// words returns a line of about `length` characters of made-up words.
func words(r *rand.Rand, length int) string {
	const syllables = "ba re ti lo mu ka de si no pu ga le vi to ru fa me ni so du"
	parts := strings.Fields(syllables)
	var b strings.Builder
	for b.Len() < length {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		for range 1 + r.IntN(4) {
			b.WriteString(parts[r.IntN(len(parts))])
		}
	}
	return b.String()
}
