package rtf

import (
	"strconv"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/ooxml"
)

// flow is a sequence of paragraphs: the body, a note, a text box or a header.
type flow struct {
	emit  func(domain.Block) error
	text  strings.Builder // current paragraph, or current part of a cell
	plain bool            // some of the text is not bold
	links []domain.BlockLink
	label string         // the current paragraph's number or bullet
	mark  string         // mark of a note, to write before the note's first paragraph
	after []domain.Block // the paragraph's notes, comments and boxes
	table grid
}

func newFlow(emit func(domain.Block) error) *flow {
	return &flow{emit: emit, table: grid{out: ooxml.Table{Emit: emit}}}
}

// grid is the table being read.
type grid struct {
	out    ooxml.Table
	active bool // there are rows or cells
	defs   []cellDefinition
	next   cellDefinition // the cell whose properties are being read
	header bool           // the row names the columns
	body   bool           // a row other than a header was read
	cell   strings.Builder
	cells  []ooxml.Cell // the row's finished cells
	links  []domain.BlockLink
	after  []domain.Block // the cells' notes, comments and boxes
	total  int
}

// cellDefinition says which neighbour a cell is merged with.
type cellDefinition struct {
	below bool // with the cell above
	right bool // with the cell to the left
}

// take returns and clears the current paragraph's text and links.
func (f *flow) take() (string, []domain.BlockLink) {
	text, links := strings.TrimSpace(f.text.String()), f.links
	f.text.Reset()
	f.links = nil
	return text, links
}

// endParagraph ends the current paragraph. It emits the paragraph or, in a table, adds it to the current cell.
func (r *reader) endParagraph() error {
	f, g := r.flow, r.group()
	text, links := f.take()
	mark := strings.TrimSpace(f.label)
	f.label = ""
	if mark != "" && isNumber(mark) && text != "" {
		text = mark + " " + text
	}
	if f.mark != "" && text != "" {
		text = f.mark + " " + text
		f.mark = ""
	}
	if g.inTable {
		f.table.active = true
		f.addToCell(text, links)
		return nil
	}
	f.plain = false
	if err := f.endTable(); err != nil {
		return err
	}
	b := domain.Block{Kind: domain.BlockParagraph, Text: text, Links: links}
	s, styled := r.styles[g.style]
	level := g.outline
	if level == noOutline && styled {
		level = s.outline
	}
	switch {
	case level != noOutline:
		b.Kind, b.Level, b.Text = domain.BlockHeading, min(level+1, 6), format.OneLine(text)
	case styled && s.title:
		b.Kind, b.Level, b.Text = domain.BlockHeading, 1, format.OneLine(text)
		if r.p.Doc.Title == "" {
			r.p.Doc.Title = b.Text
		}
	case mark != "" || g.list > 0:
		b.Kind, b.Level = domain.BlockListItem, g.listLevel+1
	}
	if b.Text != "" {
		if err := f.emit(b); err != nil {
			return err
		}
	}
	return f.emitAfter(&f.after)
}

// emitAfter emits and clears blocks that had to wait until the end of a paragraph or table, such as footnotes.
func (f *flow) emitAfter(after *[]domain.Block) error {
	blocks := *after
	*after = nil
	for _, b := range blocks {
		if err := f.emit(b); err != nil {
			return err
		}
	}
	return nil
}

// addToCell adds a paragraph to the cell.
func (f *flow) addToCell(text string, links []domain.BlockLink) {
	t := &f.table
	t.after = append(t.after, f.after...)
	f.after = nil
	if t.cell.Len()+len(text) > maxParagraph {
		return
	}
	if t.cell.Len() > 0 && text != "" {
		t.cell.WriteByte('\n')
	}
	t.cell.WriteString(text)
	if len(t.links)+len(links) <= domain.MaxBlockLinks {
		t.links = append(t.links, links...)
	}
}

func (r *reader) endCell() {
	f := r.flow
	text, links := f.take()
	f.label = ""
	t := &f.table
	t.active = true
	f.addToCell(text, links)
	if len(t.cells) < format.MaxColumns {
		t.cells = append(t.cells, ooxml.Cell{Text: t.cell.String(), Bold: !f.plain})
	}
	t.cell.Reset()
	f.plain = false
}

func (r *reader) endRow() error {
	f := r.flow
	if text, _ := f.take(); text != "" || f.table.cell.Len() > 0 { // text after the last cell
		f.text.WriteString(text)
		r.endCell()
	}
	t := &f.table
	if t.total += len(t.cells); t.total > r.p.Lim.MaxCells {
		return format.Errorf(format.TooLarge, "the tables have more than %d cells", r.p.Lim.MaxCells)
	}
	return t.row(r.p.Src.PlainRows)
}

// row writes the finished cells as a row.
func (t *grid) row(plain bool) error {
	row := ooxml.Row{Links: t.links}
	for i, c := range t.cells {
		var d cellDefinition
		if i < len(t.defs) {
			d = t.defs[i]
		}
		if last := len(row.Cells) - 1; d.right && last >= 0 {
			row.Cells[last].Span = max(row.Cells[last].Span, 1) + 1
			row.Cells[last].Text = strings.TrimSpace(row.Cells[last].Text + " " + c.Text)
			continue
		}
		c.Below = d.below
		row.Cells = append(row.Cells, c)
	}
	t.cells, t.links, t.active = t.cells[:0], nil, true
	if t.header && !t.body {
		t.out.Named++
	} else {
		t.body = true
	}
	t.out.Plain = plain
	return t.out.Add(row)
}

// endTable writes the remainder of a table.
func (f *flow) endTable() error {
	t := &f.table
	if !t.active {
		return nil
	}
	if text := t.cell.String(); text != "" && len(t.cells) < format.MaxColumns {
		t.cells = append(t.cells, ooxml.Cell{Text: text})
	}
	t.cell.Reset()
	if len(t.cells) > 0 {
		if err := t.row(t.out.Plain); err != nil {
			return err
		}
	}
	if err := t.out.Flush(); err != nil {
		return err
	}
	f.table = grid{out: ooxml.Table{Emit: f.emit}, defs: t.defs[:0], after: t.after, total: t.total}
	return f.emitAfter(&f.table.after)
}

// endLink records the link whose text has just ended.
func (r *reader) endLink(g group) {
	f := r.flow
	text := f.text.String()
	if text = strings.TrimSpace(text[min(g.linkFrom, len(text)):]); text != "" {
		f.links = ooxml.AddLink(f.links, format.OneLine(text), g.link)
	}
}

// nested reads the current group as a flow of its own, separate from the paragraphs around it. The first paragraph
// starts with `mark`. At the end of the group, nested calls `done` with the flow's blocks.
func (r *reader) nested(done func([]domain.Block) error, mark string) {
	g := r.group()
	if g.to != visible {
		g.to = skipped
		return
	}
	var blocks []domain.Block
	outer, inner := r.flow, newFlow(func(b domain.Block) error {
		blocks = append(blocks, b)
		return nil
	})
	inner.mark = mark
	g.outline, g.inTable, g.list, g.style, g.link, g.opensLink, g.hidden = noOutline, false, 0, 0, "", false, false
	r.flow = inner
	g.ends = func() error {
		err := r.endParagraph()
		if err == nil {
			err = inner.endTable()
		}
		r.flow = outer
		if err != nil {
			return err
		}
		return done(blocks)
	}
}

// footnote reads a footnote or endnote. Its number is written both in the running text and before the note.
func (r *reader) footnote() error {
	if r.group().to != visible {
		return nil
	}
	r.notes++
	mark := "[" + strconv.Itoa(r.notes) + "]"
	if err := r.put(mark); err != nil {
		return err
	}
	outer := r.flow
	r.nested(func(blocks []domain.Block) error {
		outer.after = append(outer.after, blocks...)
		return nil
	}, mark)
	return nil
}

// comment reads a comment on the text.
func (r *reader) comment() error {
	g := r.group()
	if r.p.Src.PlainRows {
		r.p.Out.Warn("the document has comments, which are indexed but not part of its plain text")
		g.to = skipped
		return nil
	}
	outer := r.flow
	r.nested(func(blocks []domain.Block) error {
		outer.after = append(outer.after, blocks...)
		return nil
	}, "")
	return nil
}

// margin reads a header or footer. Text repeated in several sections is read only once. Headers are emitted after the
// current paragraph, footers after the body.
func (r *reader) margin(header bool) error {
	outer := r.flow
	r.nested(func(blocks []domain.Block) error {
		for _, b := range blocks {
			switch {
			case r.seen[b.Text] || format.CountLetters(b.Text) == 0 || len(r.seen) >= maxTable:
			case header:
				outer.after = append(outer.after, domain.Block{Kind: domain.BlockParagraph, Text: b.Text})
			default:
				r.footer = append(r.footer, b.Text)
			}
			if len(r.seen) < maxTable {
				r.seen[b.Text] = true
			}
		}
		if outer.text.Len() == 0 && !outer.table.active {
			return outer.emitAfter(&outer.after)
		}
		return nil
	}, "")
	return nil
}
