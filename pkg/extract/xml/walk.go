package xml

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// walker converts a document to blocks.
type walker struct {
	p       *format.Parser
	level   int    // titled sections around the current element
	lists   int    // number of lists around the current element
	label   string // number or term to write before the next paragraph
	caption bool   // titles are captions rather than headings
	emit    func(domain.Block) error
	notes   int // number of footnotes so far
	tables  int // number of tables around the current element
}

func (w *walker) document(root *node) error {
	w.emit = w.p.Out.Add
	if front := root.child("front"); front != nil && front.find("article-title") != nil {
		w.level = 1 // the sections are below the article's title
	}
	if header := root.child("teiHeader"); header != nil {
		if err := w.header(header); err != nil {
			return err
		}
	}
	return w.element(root)
}

// header reads a TEI document's header: title, metadata, and the abstract, which GROBID puts there.
func (w *walker) header(header *node) error {
	w.metadata(header)
	if title := header.find("title"); title != nil && title.hasText() {
		w.level = 1 // the sections are below the title
		if err := w.heading(title); err != nil {
			return err
		}
	}
	if abstract := header.find("abstract"); abstract != nil && abstract.hasText() {
		return w.section(abstract)
	}
	return nil
}

func (w *walker) element(n *node) error {
	if err := w.p.Ctx.Err(); err != nil {
		return err
	}
	switch {
	case n.name == "" || skipped[n.name]:
		return nil
	case information[n.name] && (n.name != "info" || w.lists == 0): // in DITA, a step has an "info" element with text
		return w.information(n)
	case code[n.name], n.name == "code" && strings.Contains(n.raw(), "\n"):
		return w.emit(domain.Block{Kind: domain.BlockCode, Text: strings.Trim(n.raw(), "\n")})
	case tables[n.name] && n.find("row", "tr", "strow", "chrow", "property") != nil:
		return w.table(n)
	case itemLists[n.name]:
		return w.list(n)
	case terms[n.name]:
		w.label = strings.TrimPrefix(strings.TrimSuffix(w.label, ": ")+", "+n.words(), ", ") + ": "
		return nil
	case n.name == "ref" && n.isReference():
		return w.put(n.words(), domain.BlockListItem, nil)
	case paragraphs[n.name], n.isMixed():
		return w.paragraph(n)
	}
	return w.section(n)
}

// section emits an element that contains other elements. Its title becomes a heading or, for figures and tables, a
// caption.
func (w *walker) section(n *node) error {
	inner := *w
	defer func() { w.label, w.notes = inner.label, inner.notes }()
	title := n.child("title", "head")
	if meta := n.child("info", "articleinfo", "bookinfo", "chapterinfo", "sectioninfo"); title == nil && meta != nil {
		title = meta.child("title")
	}
	inner.caption = w.caption || captioned[n.name]
	if title != nil && title.hasText() && !inner.caption {
		inner.level++
		inner.label = ""
		if err := inner.heading(title); err != nil {
			return err
		}
	} else if n.name == "abstract" && !inner.caption {
		inner.level++
		if err := inner.emit(domain.Block{Kind: domain.BlockHeading, Level: min(inner.level, 6), Text: "Abstract"}); err != nil {
			return err
		}
	}
	for _, c := range n.children {
		var err error
		switch {
		case c == title && !inner.caption:
		case titles[c.name]:
			err = inner.put(c.words(), domain.BlockParagraph, nil)
		case c.name == "label":
			if inner.caption {
				inner.label = c.words() + " " // a figure's or table's number
			}
		case c.name == "titleabbrev" || c.name == "navtitle" || c.name == "searchtitle": // short forms of the title
		default:
			err = inner.element(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// heading emits a section's title. If the document has no title yet, a level-1 heading becomes its title.
func (w *walker) heading(title *node) error {
	text := title.words()
	if w.p.Doc.Title == "" && w.level == 1 {
		w.p.Doc.Title = text
	}
	return w.emit(domain.Block{Kind: domain.BlockHeading, Level: min(w.level, 6), Text: text})
}

// information adds an element's metadata to the document's. It also emits an article's title and abstracts.
func (w *walker) information(n *node) error {
	if n.name == "front" {
		for _, c := range n.children {
			if err := w.element(c); err != nil {
				return err
			}
		}
		return nil
	}
	if title := n.find("article-title"); title != nil && n.name == "article-meta" {
		if err := w.emit(domain.Block{Kind: domain.BlockHeading, Level: 1, Text: title.words()}); err != nil {
			return err
		}
		w.p.Doc.Title = cmp.Or(w.p.Doc.Title, title.words())
	}
	if w.level <= 1 {
		w.metadata(n)
	}
	for _, c := range n.children {
		if c.name == "abstract" || c.name == "trans-abstract" {
			inner := *w
			inner.level = max(inner.level, 1)
			if err := inner.section(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// metadata records authors, dates and keywords.
func (w *walker) metadata(n *node) {
	var authors, keywords []string
	n.each(func(c *node) bool {
		switch c.name {
		case "contrib":
			if kind := c.attribute("contrib-type"); kind != "" && kind != "author" {
				return false
			}
			fallthrough
		case "author":
			if len(authors) < maxAuthors {
				authors = append(authors, c.person())
			}
		case "kwd", "keyword":
			if len(keywords) < maxAuthors && c.words() != "" {
				keywords = append(keywords, c.words())
			}
		case "pub-date", "pubdate", "date":
			w.p.Meta(domain.MetaCreated, c.date())
		case "created":
			w.p.Meta(domain.MetaCreated, c.attribute("date"))
		case "revised":
			w.p.Meta(domain.MetaModified, c.attribute("modified"))
		default:
			return !skipped[c.name] && c.name != "abstract"
		}
		return false
	})
	w.p.Meta(domain.MetaAuthor, strings.Join(nonEmpty(authors), "; "))
	w.p.Meta(domain.MetaKeywords, strings.Join(nonEmpty(keywords), "; "))
}

// maxAuthors is the maximum number of authors, and also of keywords.
const maxAuthors = 20

// person returns an author's name, given names first.
func (n *node) person() string {
	given, family := n.find("firstname", "given-names", "forename"), n.find("surname")
	if family == nil {
		if name := n.find("personname", "name", "string-name", "collab", "orgname"); name != nil {
			return name.words()
		}
		return n.words()
	}
	if given == nil {
		return family.words()
	}
	return given.words() + " " + family.words()
}

// date returns an element's date: in ISO 8601 if it consists of year, month and day, and as written otherwise.
func (n *node) date() string {
	year := n.child("year")
	if year == nil {
		return cmp.Or(n.attribute("iso-8601-date"), n.words())
	}
	date := year.words()
	for _, name := range []string{"month", "day"} {
		part := n.child(name)
		if part == nil {
			break
		}
		number, err := strconv.Atoi(part.words())
		if err != nil || number < 1 || number > 31 {
			break
		}
		date += "-" + strconv.Itoa(number/10) + strconv.Itoa(number%10)
	}
	return date
}

// each calls `take` with each descendant, skipping the descendants of elements for which `take` returns false.
func (n *node) each(take func(*node) bool) {
	for _, c := range n.children {
		if c.name != "" && take(c) {
			c.each(take)
		}
	}
}

// isReference reports whether a "ref" element is a bibliography entry rather than a link.
func (n *node) isReference() bool {
	return n.child("element-citation", "mixed-citation", "nlm-citation", "citation") != nil
}

// raw returns an element's text with its line breaks.
func (n *node) raw() string {
	var b strings.Builder
	n.appendRaw(&b)
	return b.String()
}

func (n *node) appendRaw(b *strings.Builder) {
	b.WriteString(n.text)
	for _, c := range n.children {
		c.appendRaw(b)
	}
}

func nonEmpty(texts []string) []string {
	var kept []string
	for _, s := range texts {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}
