package html

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/table"
)

// Limits on tables. Larger tables are markup errors or attacks.
const (
	maxSpan      = 100
	maxRepeated  = 200     // maximum size, in bytes, of a cell to repeat in all rows and columns it spans
	maxTableSize = 200_000 // maximum number of cells in a table after expanding spans; in larger tables, spans are ignored
)

// gridCell is one position in a table's grid.
type gridCell struct {
	text  string
	head  bool // a th element
	first bool // false for positions covered by a cell from an earlier row or column
}

// gridRow is one row of the grid, with the element it was read from.
type gridRow struct {
	cells []gridCell
	node  *html.Node
	thead bool
}

// table emits a table's rows, or a layout table's cells as ordinary content.
func (w *walker) table(t *html.Node) {
	if codeTable(t) {
		w.code(t)
		return
	}
	if w.layoutTable(t) {
		w.layout(t)
		return
	}
	was := w.at
	w.at = t
	defer func() { w.at = was }()
	for c := range tableElements(t) {
		if c.DataAtom == atom.Caption {
			w.emit(domain.Block{Kind: domain.BlockParagraph, Text: w.inline(c), Links: w.linksIn(c)}, c)
		}
	}
	rows := w.grid(t)
	if body := w.vertical(rows); body != nil {
		w.emitPairs(body)
		return
	}
	if n := table.PropertyRows(labelCells(rows), func(i int) bool { return rows[i].thead || allHeads(rows[i]) }, func(i int) bool { return rows[i].hasWideCell() }); n > 0 {
		cells := labelCells(rows[:n])
		for i, r := range rows[:n] {
			w.emitRow(r, strings.Join(r.texts(true), "\t"), table.PairsLine(cells[i]))
		}
		rows = rows[n:]
	}
	w.emitRows(mergeHeads(rows))
}

// layout reads the cells of a layout table one after another.
func (w *walker) layout(t *html.Node) {
	for n := range tableElements(t) {
		if (n.DataAtom == atom.Td || n.DataAtom == atom.Th || n.DataAtom == atom.Caption) && !w.skipped(n, t) {
			w.block(n)
		}
	}
}

// tableElements iterates over a table's elements, except those in nested tables.
func tableElements(table *html.Node) func(yield func(*html.Node) bool) {
	return func(yield func(*html.Node) bool) {
		var walk func(n *html.Node) bool
		walk = func(n *html.Node) bool {
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				if c.Type == html.ElementNode && (!yield(c) || c.DataAtom != atom.Table && !walk(c)) {
					return false
				}
			}
			return true
		}
		walk(table)
	}
}

// skipped reports whether to omit an element in a table because it, or an element around it in the table, is skipped.
func (w *walker) skipped(n, table *html.Node) bool {
	for ; n != nil && n != table; n = n.Parent {
		if isInvisible(n) || isLineNumber(n) || w.skip != nil && w.skip(n) {
			return true
		}
	}
	return false
}

// grid lays out a table's cells according to their spans.
func (w *walker) grid(t *html.Node) []gridRow {
	type cover struct {
		cell gridCell
		left int
	}
	var rows []gridRow
	var covers []cover
	size := 0
	for tr := range tableElements(t) {
		if tr.DataAtom != atom.Tr || w.skipped(tr, t) {
			continue
		}
		row := gridRow{node: tr, thead: tr.Parent.DataAtom == atom.Thead}
		place := func(c gridCell, span int) {
			if span < 1 || len(row.cells) >= format.MaxColumns || size > maxTableSize {
				span = 1
			}
			at := len(row.cells)
			row.cells = append(row.cells, c)
			size++
			for len(covers) <= at {
				covers = append(covers, cover{})
			}
			c.first = false
			if len(c.text) > maxRepeated {
				c.text = ""
			}
			covers[at] = cover{c, span - 1}
		}
		covered := func() {
			for at := len(row.cells); at < len(covers) && covers[at].left > 0; at = len(row.cells) {
				place(covers[at].cell, covers[at].left)
			}
		}
		for c := tr.FirstChild; c != nil; c = c.NextSibling {
			if c.DataAtom != atom.Td && c.DataAtom != atom.Th || isInvisible(c) || isLineNumber(c) || w.skip != nil && w.skip(c) {
				continue
			}
			covered()
			if len(row.cells) >= format.MaxColumns {
				w.p.Out.Warn("rows were cut after " + strconv.Itoa(format.MaxColumns) + " columns")
				break
			}
			cell := gridCell{text: w.inline(c), head: c.DataAtom == atom.Th, first: true}
			down := span(c, "rowspan")
			place(cell, down)
			wide := gridCell{head: cell.head}
			if len(cell.text) <= maxRepeated {
				wide.text = cell.text // repeated in each column it spans
			}
			for range span(c, "colspan") - 1 {
				if size <= maxTableSize && len(row.cells) < format.MaxColumns {
					place(wide, down)
				}
			}
		}
		covered()
		if len(row.cells) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

func span(n *html.Node, key string) int {
	v, err := strconv.Atoi(attr(n, key))
	if err != nil || v < 1 {
		return 1
	}
	return min(v, maxSpan)
}

// vertical returns the rows if they form a property table, or nil otherwise. A property table has no header row, and at
// least half of its rows have two cells: a label, which is a th or ends in a colon, and a value.
func (w *walker) vertical(rows []gridRow) []gridRow {
	heads, pairs := 0, 0
	for _, r := range rows {
		if r.thead {
			return nil
		}
		switch {
		case len(r.cells) == 2 && r.cells[0].head && !r.cells[1].head:
			heads++
			pairs++
		case len(r.cells) == 2 && !r.cells[0].head && !r.cells[1].head && strings.HasSuffix(r.cells[0].text, ":"):
			pairs++
			heads++
		case len(r.cells) == 2 && r.cells[0].head && r.cells[1].head && r.cells[1].first:
			return nil // a two-column header
		}
	}
	if heads == 0 || pairs*2 < len(rows) {
		return nil
	}
	return rows
}

// labelCells returns the rows' cell texts, with a colon after each th that labels the td next to it.
func labelCells(rows []gridRow) [][]string {
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = r.texts(true)
		for k := range cells[i] {
			if next := k + 1; r.cells[k].head && cells[i][k] != "" && next < len(r.cells) && !r.cells[next].head {
				cells[i][k] = strings.TrimRight(cells[i][k], ": ") + ":"
			}
		}
	}
	return cells
}

// hasWideCell reports whether a cell spans several columns in a row with other cells.
func (r gridRow) hasWideCell() bool {
	return !r.isSingleCell() && slices.ContainsFunc(r.cells, func(c gridCell) bool { return !c.first })
}

// emitPairs writes rows that each hold a property and its value.
func (w *walker) emitPairs(rows []gridRow) {
	for _, r := range rows {
		var texts []string
		for _, c := range r.cells {
			if c.text != "" && c.first {
				texts = append(texts, c.text)
			}
		}
		plain, named := strings.Join(texts, "\t"), ""
		if len(texts) == 2 && r.cells[0].text != "" {
			named = table.PairLine(texts[0], texts[1])
		}
		w.emitRow(r, plain, named)
	}
}

// mergeHeads merges several header rows into one, prefixing column names with their group's name.
func mergeHeads(rows []gridRow) []gridRow {
	heads := 0
	for heads < len(rows) && (rows[heads].thead || allHeads(rows[heads]) && (heads == 0 || spansInto(rows[heads-1], rows[heads]))) {
		heads++
	}
	const limit = 4
	if heads < 2 || heads > limit || heads == len(rows) {
		return rows
	}
	merged := gridRow{node: rows[0].node, thead: true}
	for _, r := range rows[:heads] {
		for i, c := range r.cells {
			if i == len(merged.cells) {
				merged.cells = append(merged.cells, gridCell{head: true, first: true})
			}
			if m := &merged.cells[i]; c.text != "" && c.text != m.text {
				m.text = format.OneLine(m.text + " " + c.text)
			}
		}
	}
	return append([]gridRow{merged}, rows[heads:]...)
}

// spansInto reports whether a cell in the upper row spans into the lower row.
func spansInto(upper, lower gridRow) bool {
	for i, c := range lower.cells {
		if !c.first && c.text != "" && i < len(upper.cells) && upper.cells[i].text == c.text {
			return true
		}
	}
	return false
}

func allHeads(r gridRow) bool {
	heads := 0
	for _, c := range r.cells {
		if !c.head && c.text != "" {
			return false
		}
		if c.head && c.first {
			heads++
		}
	}
	return heads > 1
}

func (w *walker) emitRows(rows []gridRow) {
	kept := make([]gridRow, 0, len(rows))
	texts := make([][]string, 0, len(rows))
	narrow := make([][]string, 0, len(rows)) // the same, but with a wide cell's text only in its first column
	for _, r := range rows {
		if cells := r.texts(false); len(cells) > 0 {
			kept, texts, narrow = append(kept, r), append(texts, table.JoinAmounts(cells)), append(narrow, table.JoinAmounts(r.narrow(cells)))
		}
	}
	head := -1 // last row of the header
	var names []string
	switch {
	case len(kept) < 2:
	case (kept[0].thead || allHeads(kept[0])) && table.Filled(texts[0]) > 1:
		head, names = 0, texts[0]
	case len(kept[0].cells) > 2: // two columns without a header may be pairs
		if at, depth := table.HeaderRows(narrow[:min(len(narrow), table.HeaderSample)]); depth > 0 {
			rows := make([]table.ColumnNames, depth)
			for k := range rows {
				rows[k] = table.ColumnNames{Cells: texts[at+k], Exact: kept[at+k].hasWideCell()}
			}
			head, names = at+depth-1, table.JoinHeaders(rows)
		}
	}
	var pairs *table.PairColumns
	if head < 0 {
		pairs = table.FindPairColumns(texts)
	}
	for i, r := range kept {
		named := strings.Join(texts[i], "\t")
		if head >= 0 && i > head {
			named = table.NamedCells(names, withoutRepeats(names, texts[i], narrow[i]))
		}
		if pairs != nil {
			if line, ok := pairs.Line(texts[i]); ok {
				named = line
			}
		}
		w.emitRow(r, strings.Join(r.texts(true), "\t"), named)
	}
}

// narrow returns a copy of `texts` in which the text of a cell that spans several columns appears only in the first of
// these columns.
func (r gridRow) narrow(texts []string) []string {
	out := slices.Clone(texts)
	for i := 1; i < len(out); i++ {
		if !r.cells[i].first && texts[i] == texts[i-1] {
			out[i] = ""
		}
	}
	return out
}

// withoutRepeats returns a row's cell texts. The text of a cell that spans several columns is repeated only in columns
// with different names. In `texts`, it appears in every column that the cell spans; in `narrow`, only in the first.
func withoutRepeats(names, texts, narrow []string) []string {
	out := texts
	for i := 1; i < min(len(names), len(texts)); i++ {
		if names[i] == names[i-1] && texts[i] != narrow[i] {
			if &out[0] == &texts[0] {
				out = slices.Clone(texts)
			}
			out[i] = narrow[i]
		}
	}
	return out
}

// texts returns a row's cell texts up to the last non-empty one. The text of a cell that spans several rows appears in
// each of these rows, because a row must make sense on its own. If `once` is true, the text appears only in the first
// row.
func (r gridRow) texts(once bool) []string {
	texts, single := make([]string, len(r.cells)), r.isSingleCell()
	if single {
		texts = texts[:1]
	}
	for i := range texts {
		if c := r.cells[i]; c.first || single || !once {
			texts[i] = c.text
		}
	}
	for len(texts) > 0 && texts[len(texts)-1] == "" {
		texts = texts[:len(texts)-1]
	}
	return texts
}

// isSingleCell reports whether one cell spans the whole row. Such a cell is a heading for the rows below and is written
// only once.
func (r gridRow) isSingleCell() bool {
	for i, c := range r.cells {
		if i > 0 && (c.first || c.text != "" && c.text != r.cells[0].text) {
			return false
		}
	}
	return len(r.cells) > 0
}

// layoutTable reports whether a table is used for layout: it is marked as such, contains sections, long text or other
// tables, or has only one column or row.
func (w *walker) layoutTable(t *html.Node) bool {
	switch attr(t, "role") {
	case "presentation", "none":
		return true
	}
	cells, heads, rows, blocks, widest := 0, 0, 0, 0, 0
	for n := range t.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Table:
			return true
		case atom.H1, atom.H2, atom.H3:
			if ancestor(n, atom.Th) == nil {
				return true
			}
		case atom.Pre, atom.Form, atom.Article, atom.Section:
			blocks++
		case atom.P, atom.Ul, atom.Ol, atom.Blockquote:
			if w.factsOf(n).size() > 400 {
				blocks++
			}
		case atom.Th:
			heads++
			cells++
		case atom.Td:
			cells++
		case atom.Tr:
			rows++
			inRow := 0
			for c := n.FirstChild; c != nil; c = c.NextSibling {
				if c.DataAtom == atom.Td || c.DataAtom == atom.Th {
					inRow++
				}
			}
			widest = max(widest, inRow)
		}
	}
	if cells < 2 || widest < 2 {
		return true
	}
	return heads == 0 && (blocks > 0 || rows == 1 && w.factsOf(t).size() > 300)
}
