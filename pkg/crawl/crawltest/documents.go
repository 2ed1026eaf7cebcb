package crawltest

import (
	"archive/zip"
	"bytes"
	"fmt"
	"html"
	"strings"
)

// addDocuments adds documents in formats other than HTML.
func (s *Site) addDocuments(lab *page) {
	hub := s.page(lab, "/lab/documents/")
	const docxType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	for i := range s.casesPerKind() {
		for _, d := range []struct {
			name, mediaType string
			make            func(title string, paragraphs []string) []byte
		}{
			{"report-%d.pdf", "application/pdf", pdf},
			{"download-%d", "application/pdf", pdf},
			{"mislabelled-%d.pdf", "text/html", pdf},
			{"letter-%d.docx", docxType, docx},
			{"octets-%d.docx", "application/octet-stream", docx},
			{"table-%d.csv", "text/csv; charset=utf-8", csv},
			{"notes-%d.txt", "text/plain; charset=utf-8", text},
			{"readme-%d.md", "text/markdown", markdown},
		} {
			s.page(hub, "/doc/"+fmt.Sprintf(d.name, i)).answer = func(x *exchange) {
				x.send(d.mediaType, d.make(x.site.title(x.page), x.site.paragraphs(x.page)))
			}
		}
		hidden := s.register(hub, fmt.Sprintf("/doc/internal-%d.pdf", i), Expectation{Outcome: Skipped, Reason: NoIndex})
		hidden.header = map[string]string{"X-Robots-Tag": "noindex"}
		hidden.answer = func(x *exchange) { x.send("application/pdf", pdf("Internal", []string{"Not to be found."})) }
	}
}

func text(title string, paragraphs []string) []byte {
	return []byte(title + "\n\n" + strings.Join(paragraphs, "\n\n") + "\n")
}

func markdown(title string, paragraphs []string) []byte {
	return []byte("# " + title + "\n\n" + strings.Join(paragraphs, "\n\n") + "\n")
}

func csv(_ string, paragraphs []string) []byte {
	var b strings.Builder
	b.WriteString("number,remark\n")
	for i, p := range paragraphs {
		fmt.Fprintf(&b, "%d,\"%s\"\n", i+1, strings.ReplaceAll(p, `"`, `""`))
	}
	return []byte(b.String())
}

// pdf returns a document with one page per paragraph in a standard font. The text must be ASCII.
func pdf(title string, paragraphs []string) []byte {
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&b, format, args...)
		b.WriteString("\nendobj\n")
	}
	b.WriteString("%PDF-1.4\n")
	kids := make([]string, len(paragraphs))
	for i := range paragraphs {
		kids[i] = fmt.Sprintf("%d 0 R", 5+2*i)
	}
	object("<< /Type /Catalog /Pages 2 0 R >>")
	object("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(kids))
	object("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	object("<< /Title (%s) >>", title)
	for i, p := range paragraphs {
		var content strings.Builder
		content.WriteString("BT /F1 11 Tf 14 TL 60 760 Td\n")
		for _, line := range wrap(p, 80) {
			fmt.Fprintf(&content, "(%s) Tj T*\n", strings.NewReplacer("(", `\(`, ")", `\)`, `\`, `\\`).Replace(line))
		}
		content.WriteString("ET")
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", 6+2*i)
		object("<< /Length %d >>\nstream\n%s\nendstream", content.Len(), content.String())
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return b.Bytes()
}

// wrap breaks text between words into lines of at most `width` bytes.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}

// docx returns a document with a heading and paragraphs.
func docx(title string, paragraphs []string) []byte {
	const (
		types = `<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>` +
			`<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`
		rels = `<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">` +
			`<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`
	)
	var body strings.Builder
	body.WriteString(`<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`)
	fmt.Fprintf(&body, `<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>`, html.EscapeString(title))
	for _, p := range paragraphs {
		fmt.Fprintf(&body, `<w:p><w:r><w:t xml:space="preserve">%s</w:t></w:r></w:p>`, html.EscapeString(p))
	}
	body.WriteString(`</w:body></w:document>`)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, part := range []struct{ name, content string }{
		{"[Content_Types].xml", types}, {"_rels/.rels", rels}, {"word/document.xml", body.String()},
	} {
		w, err := z.Create(part.name)
		if err == nil {
			_, err = w.Write([]byte(part.content))
		}
		if err != nil {
			panic(fmt.Sprintf("crawltest: writing a document: %v", err)) // impossible: a buffer accepts all writes
		}
	}
	if err := z.Close(); err != nil {
		panic(fmt.Sprintf("crawltest: writing a document: %v", err))
	}
	return b.Bytes()
}
