package extract

import (
	"errors"
	"strings"

	"github.com/nguyenthenguyen/docx"

	"github.com/sluice/sluice/pkg/domain"
)

const defaultDocxPart = "word/document.xml"

// docx reads Word documents: the body, with foot- and endnotes after the paragraphs that refer to them; headers and
// footers once each, whatever the number of sections. Tracked changes count as accepted, comments are left out.
func (p *parser) docx(a *archive) error {
	p.doc.Title = a.coreTitle()
	main := a.mainPart(defaultDocxPart)
	body, err := p.docxBody(a, main)
	if err != nil {
		return err
	}
	w := &docxWalker{p: p, styles: readStyles(a), numbering: readNumbering(a), seen: map[string]bool{},
		notes: &docxNotes{blocks: map[string][]domain.Block{}}}
	rels := a.relations(main)
	if err := w.readNotes(a, rels); err != nil {
		return err
	}
	if err := w.parts(a, rels, "header"); err != nil {
		return err
	}
	if err := w.part(body); err != nil {
		return err
	}
	if err := w.tell(w.notes.order); err != nil { // those that nothing refers to
		return err
	}
	for _, kind := range []string{"footer", "diagramData", "chart"} {
		if err := w.parts(a, rels, kind); err != nil {
			return err
		}
	}
	return nil
}

// docxBody takes the body's XML through the docx library, and from the container itself where the library cannot
// open the file: it insists on relationships and on the usual part name.
func (p *parser) docxBody(a *archive, main string) ([]byte, error) {
	if f := a.files[main]; main == defaultDocxPart && f != nil && f.UncompressedSize64 <= maxPart {
		if d, err := docx.ReadDocxFromMemory(p.src.Data, p.src.Size); err == nil {
			defer d.Close()
			if content := d.Editable().GetContent(); content != "" {
				p.doc.Route = "docx/library"
				return []byte(content), nil
			}
		}
	}
	p.doc.Route = "docx/zip"
	data, err := a.read(main)
	var refused *Error
	switch {
	case errors.As(err, &refused):
		return nil, err
	case err != nil && len(data) == 0:
		return nil, damaged("docx document", err)
	case err != nil:
		p.out.warn("the document is damaged; it was read up to the damage")
	}
	return data, nil
}

// parts reads the related parts of one kind. Headers and footers that say the same are read once.
func (w *docxWalker) parts(a *archive, rels []relation, kind string) error {
	for _, r := range rels {
		if r.kind() != kind || w.seen[r.Target] {
			continue
		}
		w.seen[r.Target] = true
		data, err := a.read(r.Target)
		if KindOf(err) != "" {
			return err
		}
		if err != nil {
			continue // a dangling relationship
		}
		if kind == "diagramData" || kind == "chart" {
			if err := w.p.drawing(data, 0); err != nil {
				return err
			}
			continue
		}
		w.once = kind == "header" || kind == "footer"
		err = w.part(data)
		w.once = false
		if err != nil {
			return err
		}
	}
	return nil
}

// docxStyles knows which paragraph styles are headings and which number their paragraphs.
type docxStyles struct {
	byID map[string]*docxStyle
}

type docxStyle struct {
	name, basedOn string
	outline       int // 1 to 9, 0 unset
	numID, level  string
}

func readStyles(a *archive) docxStyles {
	s := docxStyles{byID: map[string]*docxStyle{}}
	data, err := a.read("word/styles.xml")
	if err != nil {
		return s
	}
	sc := newXMLScanner(data)
	cur := &docxStyle{}
	for {
		tok, err := sc.next()
		if err != nil || tok == nil {
			return s
		}
		e, ok := startOf(tok)
		if !ok {
			continue
		}
		switch e.Name.Local {
		case "style":
			cur = &docxStyle{}
			s.byID[xmlAttr(e, "styleId")] = cur
		case "name":
			cur.name = strings.ToLower(xmlAttr(e, "val"))
		case "basedOn":
			cur.basedOn = xmlAttr(e, "val")
		case "outlineLvl":
			cur.outline = int(parseSmall(xmlAttr(e, "val"))) + 1
		case "numId":
			cur.numID = xmlAttr(e, "val")
		case "ilvl":
			cur.level = xmlAttr(e, "val")
		}
	}
}

// headingLevel is the level of headings in the style, 0 for body text.
func (s docxStyles) headingLevel(id string) int {
	for range 10 {
		st := s.byID[id]
		if st == nil {
			break
		}
		if n, ok := strings.CutPrefix(st.name, "heading "); ok {
			return int(parseSmall(n))
		}
		if st.name == "title" {
			return 1
		}
		if st.outline >= 1 && st.outline <= 9 {
			return st.outline
		}
		id = st.basedOn
	}
	if n, ok := strings.CutPrefix(strings.ToLower(id), "heading"); ok {
		return int(parseSmall(n))
	}
	return 0
}

// numbered is the list that the style or one it is based on puts its paragraphs into.
func (s docxStyles) numbered(id string) (numID, level string) {
	for range 10 {
		st := s.byID[id]
		if st == nil || st.numID != "" {
			if st != nil {
				return st.numID, st.level
			}
			return "", ""
		}
		id = st.basedOn
	}
	return "", ""
}

// parseSmall reads a number from 0 to 99 at the start of s, 0 for anything else.
func parseSmall(s string) int64 {
	var n int64
	for i := 0; i < len(s) && i < 2 && s[i] >= '0' && s[i] <= '9'; i++ {
		n = n*10 + int64(s[i]-'0')
	}
	return n
}
