package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
)

// part is a file in an office container.
type part struct{ name, body string }

const xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"

// container packs parts into a ZIP file without timestamps, so that the file is the same on every run.
func container(parts []part) ([]byte, error) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for _, p := range parts {
		w, err := z.CreateHeader(&zip.FileHeader{Name: p.name, Method: zip.Deflate})
		if err != nil {
			return nil, fmt.Errorf("adding %s: %w", p.name, err)
		}
		if _, err := w.Write([]byte(xmlHead + p.body)); err != nil {
			return nil, fmt.Errorf("writing %s: %w", p.name, err)
		}
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("closing the container: %w", err)
	}
	return buf.Bytes(), nil
}

const (
	relNS  = "http://schemas.openxmlformats.org/package/2006/relationships"
	docRel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	typeNS = "http://schemas.openxmlformats.org/package/2006/content-types"
	wordNS = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
	drawNS = "http://schemas.openxmlformats.org/drawingml/2006/main"
	presNS = "http://schemas.openxmlformats.org/presentationml/2006/main"
	sheetN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	office = "application/vnd.openxmlformats-officedocument."
)

// types returns the part that lists content types. `pairs` alternates between part names and their types.
func types(pairs ...string) part {
	var b strings.Builder
	fmt.Fprintf(&b, `<Types xmlns="%s"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>`, typeNS)
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&b, `<Override PartName="/%s" ContentType="%s%s"/>`, pairs[i], office, pairs[i+1])
	}
	b.WriteString("</Types>")
	return part{"[Content_Types].xml", b.String()}
}

// relations returns a relationships part. `pairs` alternates between the kinds and targets of the relationships, which
// get the ids rId1, rId2, …
func relations(name string, pairs ...string) part {
	var b strings.Builder
	fmt.Fprintf(&b, `<Relationships xmlns="%s">`, relNS)
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Fprintf(&b, `<Relationship Id="rId%d" Type="%s%s" Target="%s"/>`, i/2+1, docRel, pairs[i], pairs[i+1])
	}
	b.WriteString("</Relationships>")
	return part{name, b.String()}
}

func wordParagraph(style, text string) string {
	props := ""
	if style != "" {
		props = fmt.Sprintf(`<w:pPr><w:pStyle w:val="%s"/></w:pPr>`, style)
	}
	return fmt.Sprintf(`<w:p>%s<w:r><w:t xml:space="preserve">%s</w:t></w:r></w:p>`, props, text)
}

func wordItem(text string) string {
	return fmt.Sprintf(`<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>%s</w:t></w:r></w:p>`, text)
}

func wordTable(rows ...[]string) string {
	var b strings.Builder
	b.WriteString("<w:tbl>")
	for _, r := range rows {
		b.WriteString("<w:tr>")
		for _, c := range r {
			b.WriteString("<w:tc>" + wordParagraph("", c) + "</w:tc>")
		}
		b.WriteString("</w:tr>")
	}
	b.WriteString("</w:tbl>")
	return b.String()
}

const (
	wordStyles = `<w:styles xmlns:w="` + wordNS + `"><w:style w:type="paragraph" w:styleId="Title"><w:name w:val="Title"/></w:style>` +
		`<w:style w:type="paragraph" w:styleId="Heading1"><w:name w:val="heading 1"/></w:style>` +
		`<w:style w:type="paragraph" w:styleId="Heading2"><w:name w:val="heading 2"/></w:style></w:styles>`
	wordNumbering = `<w:numbering xmlns:w="` + wordNS + `"><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/>` +
		`<w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`
)

// handbookDocx returns a handbook with headings, a numbered list, a table, a footnote and a tracked change.
func handbookDocx() ([]byte, error) {
	body := wordParagraph("Title", "Employee Handbook") +
		wordParagraph("", "This handbook applies to everyone who works for Nordlys Pumps, in Bergen and elsewhere.") +
		wordParagraph("Heading1", "Leave") +
		wordParagraph("", "Every employee has 27 days of paid leave a year. Unused days expire on 31 March of the following year.") +
		`<w:p><w:r><w:t xml:space="preserve">Parental leave lasts </w:t></w:r><w:del w:id="1"><w:r><w:delText>14</w:delText></w:r></w:del>` +
		`<w:ins w:id="2"><w:r><w:t>19</w:t></w:r></w:ins><w:r><w:t xml:space="preserve"> weeks at full pay.</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>` +
		wordParagraph("Heading1", "Reporting an accident") +
		wordItem("Stop the pump with the red mushroom button.") +
		wordItem("Call the duty engineer on extension 4410.") +
		wordItem("Write the report within 48 hours.") +
		wordParagraph("Heading2", "Contacts") +
		wordTable([]string{"Role", "Name", "Extension"}, []string{"Safety officer", "Mikkel Brandt", "4412"}, []string{"Works doctor", "Dr. Amara Nwosu", "4415"})
	return container([]part{
		types("word/document.xml", "wordprocessingml.document.main+xml", "word/styles.xml", "wordprocessingml.styles+xml",
			"word/numbering.xml", "wordprocessingml.numbering+xml", "word/footnotes.xml", "wordprocessingml.footnotes+xml"),
		relations("_rels/.rels", "officeDocument", "word/document.xml"),
		{"word/document.xml", fmt.Sprintf(`<w:document xmlns:w="%s"><w:body>%s</w:body></w:document>`, wordNS, body)},
		relations("word/_rels/document.xml.rels", "styles", "styles.xml", "numbering", "numbering.xml", "footnotes", "footnotes.xml"),
		{"word/styles.xml", wordStyles},
		{"word/numbering.xml", wordNumbering},
		{"word/footnotes.xml", fmt.Sprintf(`<w:footnotes xmlns:w="%s"><w:footnote w:type="separator" w:id="0"><w:p/></w:footnote>`+
			`<w:footnote w:id="2">%s</w:footnote></w:footnotes>`, wordNS, wordParagraph("", "Since 1 January 2025; before that, 14 weeks."))},
	})
}

func shape(placeholder string, paragraphs ...string) string {
	var b strings.Builder
	for _, p := range paragraphs {
		fmt.Fprintf(&b, `<a:p><a:r><a:t>%s</a:t></a:r></a:p>`, p)
	}
	return fmt.Sprintf(`<p:sp><p:nvSpPr><p:cNvPr id="2" name="s"/><p:cNvSpPr/><p:nvPr><p:ph type="%s"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>%s</p:txBody></p:sp>`,
		placeholder, b.String())
}

func slide(root, shapes string) string {
	return fmt.Sprintf(`<p:%s xmlns:a="%s" xmlns:p="%s"><p:cSld><p:spTree><p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>%s</p:spTree></p:cSld></p:%s>`,
		root, drawNS, presNS, shapes, root)
}

// roadmapPptx returns a presentation with notes. Its two slides are stored in reverse order.
func roadmapPptx() ([]byte, error) {
	return container([]part{
		types("ppt/presentation.xml", "presentationml.presentation.main+xml", "ppt/slides/slide1.xml", "presentationml.slide+xml",
			"ppt/slides/slide2.xml", "presentationml.slide+xml", "ppt/notesSlides/notesSlide1.xml", "presentationml.notesSlide+xml"),
		relations("_rels/.rels", "officeDocument", "ppt/presentation.xml"),
		{"ppt/presentation.xml", fmt.Sprintf(`<p:presentation xmlns:p="%s" xmlns:r="%s"><p:sldIdLst><p:sldId id="256" r:id="rId2"/><p:sldId id="257" r:id="rId1"/></p:sldIdLst></p:presentation>`,
			presNS, strings.TrimSuffix(docRel, "/"))},
		relations("ppt/_rels/presentation.xml.rels", "slide", "slides/slide1.xml", "slide", "slides/slide2.xml"),
		{"ppt/slides/slide1.xml", slide("sld", shape("title", "Milestones")+
			shape("body", "Prototype of the Aurora X3 in October 2026", "Field test at Kaltbrunn with 3 pumps", "Series production from May 2027"))},
		{"ppt/slides/slide2.xml", slide("sld", shape("ctrTitle", "Aurora X3 Roadmap")+shape("body", "Project lead: Yusuf Demir"))},
		relations("ppt/slides/_rels/slide1.xml.rels", "notesSlide", "../notesSlides/notesSlide1.xml"),
		{"ppt/notesSlides/notesSlide1.xml", slide("notes", shape("body", "The budget of the field test is 310,000 euros."))},
	})
}
