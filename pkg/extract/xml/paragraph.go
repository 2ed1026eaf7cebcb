package xml

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
)

// put emits a paragraph. If its list item has a label that hasn't been written yet, the label precedes the text. In a
// list, a paragraph becomes a list item.
func (w *walker) put(text string, kind domain.BlockKind, links []domain.BlockLink) error {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	b := domain.Block{Kind: kind, Text: w.label + text, Links: links}
	w.label = ""
	if w.lists > 0 || kind == domain.BlockListItem {
		b.Kind, b.Level = domain.BlockListItem, max(w.lists, 1)
	}
	return w.emit(b)
}

// paragraph emits an element's text as one or more paragraphs, split at lists, tables and code. Footnotes follow the
// paragraph that contains them.
func (w *walker) paragraph(n *node) error {
	in := &inline{w: w}
	if err := in.children(n); err != nil {
		return err
	}
	return in.flush()
}

// inline collects a paragraph's text.
type inline struct {
	w     *walker
	text  strings.Builder
	links []domain.BlockLink
	after []*node // footnotes
	marks []string
}

// flush emits the text read so far, followed by its footnotes.
func (in *inline) flush() error {
	text, links, after, marks := format.OneLine(in.text.String()), in.links, in.after, in.marks
	in.text.Reset()
	in.links, in.after, in.marks = nil, nil, nil
	if err := in.w.put(text, domain.BlockParagraph, links); err != nil {
		return err
	}
	for i, note := range after {
		inner := *in.w
		inner.label, inner.lists = marks[i]+" ", 0
		if err := inner.content(note); err != nil {
			return err
		}
		in.w.notes = inner.notes
	}
	return nil
}

// isBlock reports whether an element splits the paragraph around it.
func isBlock(n *node) bool {
	return itemLists[n.name] || code[n.name] || tables[n.name] || paragraphs[n.name] && n.name != "l" || captioned[n.name] ||
		n.name == "fig" || n.name == "disp-formula" || n.name == "disp-quote" || n.name == "mediaobject"
}

func (in *inline) children(n *node) error {
	apart := !n.isMixed()
	for _, c := range n.children {
		if c.name == "" {
			in.text.WriteString(c.text)
			continue
		}
		if apart {
			in.text.WriteByte(' ')
		}
		if err := in.element(c); err != nil {
			return err
		}
	}
	return nil
}

func (in *inline) element(n *node) error {
	switch {
	case skipped[n.name]:
		return nil
	case footnotes[n.name]:
		in.w.notes++
		mark := "[" + strconv.Itoa(in.w.notes) + "]"
		in.text.WriteString(mark)
		in.after, in.marks = append(in.after, n), append(in.marks, mark)
		return nil
	case isBlock(n):
		if err := in.flush(); err != nil {
			return err
		}
		return in.w.element(n)
	}
	switch n.name {
	case "quote", "q":
		in.text.WriteString("“")
		defer in.text.WriteString("”")
	case "br", "lb", "break":
		in.text.WriteByte(' ')
	}
	from := in.text.Len()
	if err := in.children(n); err != nil {
		return err
	}
	address := cmp.Or(n.attribute("href"), n.attribute("url"))
	if n.name == "ref" || n.name == "ptr" {
		address = cmp.Or(address, n.attribute("target"))
	}
	if strings.Contains(address, ":") && from <= in.text.Len() {
		in.links = ooxml.AddLink(in.links, format.OneLine(in.text.String()[from:]), address)
	}
	return nil
}

func (w *walker) list(n *node) error {
	inner := *w
	inner.lists, inner.label = inner.lists+1, ""
	defer func() { w.label, w.notes = "", inner.notes }()
	count := 0
	counted := numbered[n.name] || n.attribute("list-type") == "order" || n.attribute("type") == "ordered"
	var walk func(n *node) error
	walk = func(n *node) error {
		for _, c := range n.children {
			var err error
			switch {
			case c.name == "":
			case items[c.name]:
				count++
				if counted && (c.name != "item" || inner.label == "") {
					inner.label = strconv.Itoa(count) + ". "
				}
				err = inner.item(c)
			case terms[c.name]:
				err = inner.element(c)
			case titles[c.name]:
				outside := inner
				outside.lists = w.lists
				err = outside.put(c.words(), domain.BlockParagraph, nil)
			case c.name == "label": // a JATS or TEI list with its own labels
				inner.label = c.words() + " "
			case itemLists[c.name] || paragraphs[c.name] || tables[c.name] || code[c.name]:
				err = inner.element(c)
			default: // an entry that groups a term and its definition
				err = walk(c)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return walk(n)
}

// item emits a list item. In JATS, an item's label is a separate element.
func (w *walker) item(n *node) error {
	defer func() { w.label = "" }()
	if label := n.child("label"); label != nil {
		w.label = label.words() + " "
	}
	inner := *w
	inner.caption = true // the title of a step
	err := inner.content(n)
	w.notes = inner.notes
	return err
}

// content emits a list item's, table cell's or note's content: text, or paragraphs and other elements.
func (w *walker) content(n *node) error {
	if n.isMixed() {
		return w.paragraph(n)
	}
	return w.section(n)
}

// table emits a table's caption and its rows.
func (w *walker) table(n *node) error {
	for _, c := range n.children {
		if titles[c.name] || c.name == "caption" {
			if err := w.put(c.words(), domain.BlockParagraph, nil); err != nil {
				return err
			}
		}
	}
	t := &grid{w: w, out: ooxml.Table{Emit: w.emit, Plain: w.p.Src.PlainRows, Inner: w.tables > 0}, below: map[int]int{}}
	if err := t.rows(n, false); err != nil {
		return err
	}
	return t.out.Flush()
}

// grid holds the state while reading a table.
type grid struct {
	w     *walker
	out   ooxml.Table
	below map[int]int // by column: number of further rows that a cell spans
	body  bool        // a row other than a header was read
	cells int
}

// rows reads the rows in a table or a section of it.
func (t *grid) rows(n *node, header bool) error {
	for _, c := range n.children {
		var err error
		switch {
		case rows[c.name]:
			err = t.row(c, header || headers[c.name])
		case titles[c.name] || c.name == "caption" || c.name == "":
		default:
			err = t.rows(c, header || headers[c.name])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *grid) row(n *node, header bool) error {
	if err := t.w.p.Ctx.Err(); err != nil {
		return err
	}
	var row ooxml.Row
	column := 0
	skip := func() { // columns covered by cells that span several rows
		for t.below[column] > 0 && column < format.MaxColumns {
			t.below[column]--
			row.Cells = append(row.Cells, ooxml.Cell{Below: true})
			column++
		}
	}
	named := true
	for _, c := range n.children {
		if skip(); c.name == "" || column >= format.MaxColumns {
			continue
		}
		named = named && c.name == "th"
		cell := ooxml.Cell{Text: t.text(c, &row), Span: min(spanOf(c), format.MaxColumns-column)}
		row.Cells = append(row.Cells, cell)
		further := max(count(c.attribute("rowspan"), 1)-1, count(c.attribute("morerows"), 0), count(c.attribute("rows"), 1)-1)
		for range max(cell.Span, 1) {
			if t.below[column] = further; further == 0 {
				delete(t.below, column)
			}
			column++
		}
	}
	skip()
	if (header || named && len(row.Cells) > 1 || n.attribute("role") == "label") && !t.body {
		t.out.Named++
	} else {
		t.body = true
	}
	if t.cells += len(row.Cells); t.cells > t.w.p.Lim.MaxCells {
		return format.Errorf(format.TooLarge, "a table has more than %d cells", t.w.p.Lim.MaxCells)
	}
	return t.out.Add(row)
}

// text returns the text of cell c and adds its links to the row.
func (t *grid) text(c *node, row *ooxml.Row) string {
	var texts []string
	inner := *t.w
	inner.label, inner.lists, inner.caption, inner.tables = "", 0, true, t.w.tables+1
	inner.emit = func(b domain.Block) error {
		texts = append(texts, b.Text)
		row.Links = append(row.Links, b.Links...)
		return nil
	}
	err := inner.content(c)
	t.w.notes = inner.notes
	if err != nil { // can only mean that the context is done; the next row reports it
		return ""
	}
	return strings.Join(texts, "\n")
}

// spanOf returns how many columns a cell spans. In CALS tables, column names end in a number, such as "c2".
func spanOf(c *node) int {
	first, last := trailingNumber(c.attribute("namest")), trailingNumber(c.attribute("nameend"))
	if first > 0 && last > first {
		return min(last-first+1, format.MaxColumns)
	}
	return max(count(c.attribute("colspan"), 1), count(c.attribute("cols"), 1))
}

func trailingNumber(s string) int {
	return count(s[len(strings.TrimRight(s, "0123456789")):], 0)
}

// count returns the number in s, limited to MaxColumns, or `otherwise` if s is not a number.
func count(s string, otherwise int) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return otherwise
	}
	return min(n, format.MaxColumns)
}
