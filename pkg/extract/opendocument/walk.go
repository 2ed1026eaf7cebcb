package opendocument

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
	"github.com/sluice/sluice/pkg/extract/xmlscan"
)

// walker converts the elements in a body, cell or note to blocks.
type walker struct {
	r    *reader
	sc   *xmlscan.Scanner
	emit func(domain.Block) error

	level  int       // nesting depth of lists
	style  listStyle // the outermost list's style
	label  string    // list item number, to write before the item's first paragraph
	tables int       // nesting depth of tables
}

// put emits a block. An error ends the walk.
func (w *walker) put(b domain.Block) {
	if strings.TrimSpace(b.Text) != "" {
		w.sc.Stop(w.emit(b))
	}
}

// element reads an element at paragraph level. If the element only wraps other elements, it returns false, so that the
// caller walks them.
func (w *walker) element(e xml.StartElement) bool {
	switch e.Name.Local {
	case "h", "p":
		w.paragraph(e)
	case "list":
		w.list(e)
	case "table":
		w.table()
	case "tracked-changes", // deleted text
		"table-of-content", // repeats the headings
		"forms", "scripts", "sequence-decls", "variable-decls", "user-field-decls", "dde-connection-decls":
		w.sc.Skip()
	case "frame", "custom-shape", "rect", "g":
		w.drawing()
	default:
		return false
	}
	return true
}

// paragraph reads a heading or paragraph, followed by any text boxes, notes and comments in it.
func (w *walker) paragraph(e xml.StartElement) {
	p := &paragraph{w: w}
	p.read()
	b := domain.Block{Kind: domain.BlockParagraph, Text: w.label + p.text.String(), Links: p.links}
	w.label = ""
	name := xmlscan.Attr(e, "style-name")
	switch {
	case e.Name.Local == "h":
		level, err := strconv.Atoi(xmlscan.Attr(e, "outline-level"))
		if err != nil {
			level = 1
		}
		b.Kind, b.Level, b.Text = domain.BlockHeading, min(max(level, 1), 6), format.OneLine(b.Text)
	case w.level > 0:
		b.Kind, b.Level = domain.BlockListItem, w.level
	case w.r.isTitle(name) && strings.TrimSpace(b.Text) != "":
		b.Kind, b.Level, b.Text = domain.BlockHeading, 1, format.OneLine(b.Text)
		if w.r.titles++; w.r.titles == 1 {
			w.r.title = b.Text
		}
	}
	w.put(b)
	for _, after := range p.after {
		w.put(after)
	}
}

// list reads a list's items with their numbers.
func (w *walker) list(e xml.StartElement) {
	outer := w.style
	if s, ok := w.r.lists[xmlscan.Attr(e, "style-name")]; ok {
		w.style = s
	}
	w.level++
	count := w.style[w.level]
	n := count.start
	w.sc.Each(func(e xml.StartElement) bool {
		if e.Name.Local != "list-item" && e.Name.Local != "list-header" {
			return false
		}
		w.label = ""
		if e.Name.Local == "list-item" {
			if v, err := strconv.Atoi(xmlscan.Attr(e, "start-value")); err == nil {
				n = v
			}
			w.label = count.label(n)
			n++
		}
		w.sc.Each(w.element)
		return true
	})
	w.label = ""
	w.level--
	w.style = outer
}

// drawing reads the text boxes, shapes, picture descriptions and pictures in a frame.
func (w *walker) drawing() {
	var images []string
	said, hasTable := "", false
	w.sc.Descend(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "table":
			hasTable = true // the frame's image shows the same table
		case "desc":
			if said = ooxml.AltText(w.sc.Text()); said != "" {
				w.put(domain.Block{Kind: domain.BlockParagraph, Text: said})
			}
			return true
		case "object", "object-ole", "plugin", "applet":
			if xmlscan.Attr(e, "notify-on-update-of-ranges") != "" { // a chart of cells that are read anyway
				w.sc.Skip()
				return true
			}
			w.r.p.Out.Warn("embedded objects were skipped; upload them as separate files")
			w.sc.Skip()
			return true
		case "image":
			images = append(images, xmlscan.Attr(e, "href"))
			w.sc.Skip()
			return true
		case "title", "binary-data":
			w.sc.Skip()
			return true
		case "frame": // a frame in another frame
			return false
		}
		return w.element(e)
	})
	for _, part := range images {
		if !hasTable {
			w.picture(part, said)
		}
	}
}

// picture reads the text in a picture. In a table, that text is emitted after the table.
func (w *walker) picture(part, alt string) {
	if w.r.pictures == nil {
		return
	}
	blocks, err := w.r.p.Picture(w.r.pictures.Picture(part, alt))
	w.sc.Stop(err)
	if w.tables > 0 {
		w.r.tablePictures = append(w.r.tablePictures, blocks...)
		return
	}
	for _, b := range blocks {
		w.put(b)
	}
}

type paragraph struct {
	w     *walker
	text  strings.Builder
	space bool // the text so far ends in white space
	links []domain.BlockLink
	after []domain.Block
}

// read collects the current element's text.
func (p *paragraph) read() { p.w.sc.Mixed(p.write, p.element) }

// write adds character data. Each run of white space becomes one space.
func (p *paragraph) write(s string) {
	for _, c := range s {
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			if !p.space {
				p.text.WriteByte(' ')
			}
			p.space = true
			continue
		}
		p.text.WriteRune(c)
		p.space = false
	}
}

func (p *paragraph) element(e xml.StartElement) bool {
	sc := p.w.sc
	switch e.Name.Local {
	case "s":
		p.text.WriteByte(' ')
		p.space = false
	case "tab":
		p.text.WriteByte('\t')
		p.space = true
	case "line-break":
		p.text.WriteByte('\n')
		p.space = true
	case "a":
		p.link(xmlscan.Attr(e, "href"))
		return true
	case "ruby-text", "tracked-changes", "script":
		sc.Skip()
		return true
	case "note":
		p.note()
		return true
	case "annotation":
		p.comment()
		return true
	case "frame", "custom-shape", "rect", "g", "text-box":
		p.nestedWalker().drawing()
		return true
	}
	return false
}

// nestedWalker returns a walker for content nested in the paragraph. The blocks it reads are emitted after the
// paragraph.
func (p *paragraph) nestedWalker() *walker {
	return &walker{r: p.w.r, sc: p.w.sc, tables: p.w.tables, emit: func(b domain.Block) error {
		p.after = append(p.after, b)
		return nil
	}}
}

func (p *paragraph) link(address string) {
	from := p.text.Len()
	p.read()
	if text := strings.TrimSpace(p.text.String()[from:]); text != "" && strings.Contains(address, ":") {
		p.links = append(p.links, domain.BlockLink{Text: text, URL: address})
	}
}

// note reads a footnote or endnote. Its reference mark is written both in the running text and before the note.
func (p *paragraph) note() {
	mark, w := "", p.nestedWalker()
	p.w.sc.Each(func(e xml.StartElement) bool {
		switch e.Name.Local {
		case "note-citation":
			mark = "[" + format.OneLine(p.w.sc.Text()) + "]"
			p.text.WriteString(mark)
		case "note-body":
			w.label = mark + " "
			p.w.sc.Each(w.element)
		default:
			return false
		}
		return true
	})
}

func (p *paragraph) comment() {
	if p.w.r.p.Src.PlainRows {
		p.w.r.p.Out.Warn("the document has comments, which are indexed but not part of its plain text")
		p.w.sc.Skip()
		return
	}
	p.w.sc.Each(func(e xml.StartElement) bool {
		return (e.Name.Local == "p" || e.Name.Local == "list") && p.nestedWalker().element(e)
	})
}
