package corpus

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
)

// XML namespaces and names from ECMA-376.
const (
	xmlHead = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	relNS   = "http://schemas.openxmlformats.org/package/2006/relationships"
	docRel  = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	typeNS  = "http://schemas.openxmlformats.org/package/2006/content-types"
	wordNS  = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
	drawNS  = "http://schemas.openxmlformats.org/drawingml/2006/main"
	presNS  = "http://schemas.openxmlformats.org/presentationml/2006/main"
	sheetNS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
	office  = "application/vnd.openxmlformats-officedocument."
)

// part is a file in an office container, its content type and its relationships.
type part struct {
	name, body string
	kind       string // "" means XML's default type
	refers     []reference
}

type reference struct{ kind, target string }

// container writes parts to a ZIP file. The first one is the main document.
func container(parts ...part) ([]byte, error) {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	write := func(name, body string) error {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(xmlHead + body))
		}
		return err
	}
	var types strings.Builder
	fmt.Fprintf(&types, `<Types xmlns="%s"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>`, typeNS)
	for _, p := range parts {
		fmt.Fprintf(&types, `<Override PartName="/%s" ContentType="%s%s"/>`, p.name, office, p.kind)
	}
	if err := write("[Content_Types].xml", types.String()+"</Types>"); err != nil {
		return nil, err
	}
	if err := write("_rels/.rels", relations([]reference{{"officeDocument", parts[0].name}})); err != nil {
		return nil, err
	}
	for _, p := range parts {
		if err := write(p.name, p.body); err != nil {
			return nil, err
		}
		if len(p.refers) > 0 {
			at := strings.LastIndexByte(p.name, '/')
			if err := write(p.name[:at]+"/_rels"+p.name[at:]+".rels", relations(p.refers)); err != nil {
				return nil, err
			}
		}
	}
	err := z.Close()
	return buf.Bytes(), err
}

// relations returns a part's relationships, with the ids rId1, rId2, …
func relations(to []reference) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<Relationships xmlns="%s">`, relNS)
	for i, r := range to {
		fmt.Fprintf(&b, `<Relationship Id="rId%d" Type="%s/%s" Target="%s"/>`, i+1, docRel, r.kind, r.target)
	}
	return b.String() + "</Relationships>"
}

func docx(a *author, words int) ([]byte, error) {
	var b strings.Builder
	paragraph := func(style, text string) {
		fmt.Fprintf(&b, `<w:p><w:pPr><w:pStyle w:val="%s"/></w:pPr><w:r><w:t xml:space="preserve">%s</w:t></w:r></w:p>`, style, text)
	}
	paragraph("Title", a.title())
	for _, s := range a.sections(words) {
		paragraph("Heading1", s.title)
		for _, p := range s.paragraphs {
			paragraph("Normal", p)
		}
		for _, item := range s.items {
			paragraph("ListBullet", item)
		}
		if len(s.table) > 0 {
			b.WriteString(`<w:tbl><w:tblPr/><w:tblGrid/>`)
			for _, row := range s.table {
				b.WriteString("<w:tr>")
				for _, cell := range row {
					b.WriteString("<w:tc>")
					paragraph("Normal", cell)
					b.WriteString("</w:tc>")
				}
				b.WriteString("</w:tr>")
			}
			b.WriteString("</w:tbl>")
		}
	}
	var styles strings.Builder
	for _, s := range [][2]string{{"Normal", "Normal"}, {"Title", "Title"}, {"Heading1", "heading 1"}, {"ListBullet", "List Bullet"}} {
		fmt.Fprintf(&styles, `<w:style w:type="paragraph" w:styleId="%s"><w:name w:val="%s"/></w:style>`, s[0], s[1])
	}
	return container(
		part{"word/document.xml", fmt.Sprintf(`<w:document xmlns:w="%s"><w:body>%s<w:sectPr/></w:body></w:document>`, wordNS, b.String()),
			"wordprocessingml.document.main+xml", []reference{{"styles", "styles.xml"}}},
		part{"word/styles.xml", fmt.Sprintf(`<w:styles xmlns:w="%s">%s</w:styles>`, wordNS, styles.String()), "wordprocessingml.styles+xml", nil},
	)
}

// pptx returns a presentation with a slide for each section.
func pptx(a *author, words int) ([]byte, error) {
	sections := a.sections(min(words, 2000))
	var ids strings.Builder
	parts := []part{{name: "ppt/presentation.xml", kind: "presentationml.presentation.main+xml"}}
	for i, s := range sections {
		var body strings.Builder
		for _, text := range append(s.items, s.paragraphs[0]) {
			fmt.Fprintf(&body, `<a:p><a:r><a:t>%s</a:t></a:r></a:p>`, text)
		}
		var shapes strings.Builder
		for j, text := range []string{fmt.Sprintf(`<a:p><a:r><a:t>%s</a:t></a:r></a:p>`, s.title), body.String()} {
			fmt.Fprintf(&shapes, `<p:sp><p:nvSpPr><p:cNvPr id="%d" name="Text %d"/><p:cNvSpPr txBox="1"/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>%s</p:txBody></p:sp>`,
				j+2, j+2, text)
		}
		parts = append(parts, part{fmt.Sprintf("ppt/slides/slide%d.xml", i+1), fmt.Sprintf(
			`<p:sld xmlns:a="%s" xmlns:p="%s"><p:cSld><p:spTree><p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>%s</p:spTree></p:cSld></p:sld>`,
			drawNS, presNS, shapes.String()), "presentationml.slide+xml", nil})
		parts[0].refers = append(parts[0].refers, reference{"slide", fmt.Sprintf("slides/slide%d.xml", i+1)})
		fmt.Fprintf(&ids, `<p:sldId id="%d" r:id="rId%d"/>`, 256+i, i+1)
	}
	parts[0].body = fmt.Sprintf(`<p:presentation xmlns:p="%s" xmlns:r="%s"><p:sldIdLst>%s</p:sldIdLst></p:presentation>`, presNS, docRel, ids.String())
	return container(parts...)
}

// xlsx returns a workbook with about the given number of words, on one sheet.
func xlsx(a *author, words int) ([]byte, error) {
	var b strings.Builder
	for i, row := range a.table(words/6+2, 5) {
		fmt.Fprintf(&b, `<row r="%d">`, i+1)
		for j, cell := range row {
			at := fmt.Sprintf("%c%d", 'A'+j, i+1)
			if i > 0 && j > 0 {
				fmt.Fprintf(&b, `<c r="%s"><v>%s</v></c>`, at, cell)
			} else {
				fmt.Fprintf(&b, `<c r="%s" t="inlineStr"><is><t>%s</t></is></c>`, at, cell)
			}
		}
		b.WriteString("</row>")
	}
	return container(
		part{"xl/workbook.xml", fmt.Sprintf(`<workbook xmlns="%s" xmlns:r="%s"><sheets><sheet name="Figures" sheetId="1" r:id="rId1"/></sheets></workbook>`, sheetNS, docRel),
			"spreadsheetml.sheet.main+xml", []reference{{"worksheet", "worksheets/sheet1.xml"}}},
		part{"xl/worksheets/sheet1.xml", fmt.Sprintf(`<worksheet xmlns="%s"><sheetData>%s</sheetData></worksheet>`, sheetNS, b.String()), "spreadsheetml.worksheet+xml", nil},
	)
}
