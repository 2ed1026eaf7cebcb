package pdf

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
	"github.com/sluice/sluice/pkg/extract/table"
	"github.com/sluice/sluice/pkg/lists"
)

// Bounds for tables recognised only by column alignment, as multiples of the font size unless noted.
const (
	alignedLines   = 60   // maximum number of lines per table
	alignedGap     = 0.45 // minimum gap between two cells; spaces between words are narrower
	typedGap       = 1.6  // minimum gap in a monospaced font, as a multiple of the character width
	pairGap        = 0.6  // minimum gap in a table without a column of values
	alignedEdge    = 0.35 // maximum distance between the aligned edges of a column's cells
	alignedRow     = 200  // maximum length of a line, in bytes
	alignedPitch   = 3.2  // maximum distance between two rows
	minAlignedRows = 3    // minimum number of rows in a table without a header
	maxAlignedHead = 6    // maximum number of baselines in a header
	maxAligned     = 40   // maximum number of columns
	samePitch      = 0.85 // two lines closer together than this fraction of the row distance belong to one row
)

// alignedCells holds one row's cells: all lines on one baseline, split at wide gaps.
type alignedCells struct {
	y, size float64
	cells   []pdftext.Cell
	lines   []int // indexes of the row's lines
	split   bool  // a cell in a line was split at a wide gap
}

// partedLine holds a line's cells after splitting at wide gaps between words.
type partedLine struct {
	cells []pdftext.Cell
	split bool // a cell in the line was split
}

// alignedBlock is a range of rows whose cells are aligned in columns.
type alignedBlock struct {
	from, to int // range of rows
	columns  []column
	at       [][]int // by row: the column of each cell
}

// takeAligned finds a table at the start of `lines` by column alignment alone. It returns the table and the lines below
// it, or nil and all lines if there is no table.
func (l *layout) takeAligned(lines []pdftext.Line) (*pageTable, []pdftext.Line) {
	rows := l.alignedRows(lines)
	b := findAligned(rows)
	if b == nil {
		return nil, lines
	}
	used := 0
	for _, r := range rows[:b.to] {
		used += len(r.lines)
	}
	for _, r := range rows[:b.to] {
		if slices.Max(r.lines) >= used {
			return nil, lines // other lines are interspersed with the table's
		}
	}
	rtl := mostlyRTL(lines[:used])
	head := b.headerRows(rows)
	body := b.body(rows, head)
	if len(body.rows) < 2 || len(body.columns) != len(b.columns) {
		return nil, lines
	}
	t := &pageTable{columns: body.columns, size: rows[b.from].size}
	grouped := false
	if head > 0 {
		h := headerTree{columns: body.columns, size: t.size, pitch: body.pitch, rtl: rtl}
		if !h.add(rows[:head]) {
			return nil, lines
		}
		grouped = h.grouped
		t.rows = append(t.rows, table.Row{Cells: h.names()})
		t.header = true
	}
	for _, row := range body.join(rtl) {
		out := table.Row{Cells: row.cells, Marked: row.bold}
		for _, at := range row.lines {
			out.Links = append(out.Links, linksOf(l.links, lines[at])...)
		}
		t.rows = append(t.rows, out)
	}
	t.spanning = grouped || body.spans
	bold := !slices.ContainsFunc(rows[0].cells, func(c pdftext.Cell) bool { return !c.Bold() })
	shown := layoutSigns{
		head: head, bold: bold, spanning: t.spanning, rtl: rtl, interleaved: hasInterleavedRows(rows[:b.to]), overlapping: hasOverlappingLines(rows[:b.to], lines),
		tight: slices.ContainsFunc(rows[:head], func(r alignedCells) bool { return r.split }),
	}
	if !body.isTable(shown) {
		return nil, lines
	}
	if rtl {
		t.mirror()
		slices.Reverse(t.columns)
	}
	t.named = len(t.rows) >= 3 && !slices.Contains(t.rows[0].Cells[1:], "")
	return t, lines[used:]
}

// hasInterleavedRows reports whether the lines of different rows are interleaved.
func hasInterleavedRows(rows []alignedCells) bool {
	return slices.ContainsFunc(rows, func(r alignedCells) bool { return slices.Max(r.lines)-slices.Min(r.lines) >= len(r.lines) })
}

// hasOverlappingLines reports whether two lines in the same row overlap horizontally.
func hasOverlappingLines(rows []alignedCells, lines []pdftext.Line) bool {
	return slices.ContainsFunc(rows, func(r alignedCells) bool {
		end := math.Inf(-1)
		for _, at := range slices.SortedFunc(slices.Values(r.lines), func(a, b int) int { return cmp.Compare(lines[a].Cells[0].X0, lines[b].Cells[0].X0) }) {
			from, to := extent(lines[at])
			if from < end {
				return true
			}
			end = to
		}
		return false
	})
}

// alignedRows joins the lines on each baseline and splits them at gaps wider than those between words. It stops at the
// first line that cannot belong to a table.
func (l *layout) alignedRows(lines []pdftext.Line) []alignedCells {
	var rows []alignedCells
	for i, line := range lines[:min(len(lines), alignedLines)] {
		if text := line.Text(); line.Turn != lines[0].Turn || line.Filled || len(text) > alignedRow || isContents(text) ||
			math.Abs(line.Size-lines[0].Size) > 0.2*lines[0].Size || i > 0 && math.Abs(line.Y-lines[i-1].Y) > alignedPitch*line.Size {
			break
		}
		parted, known := l.parted[&line.Cells[0]]
		if !known {
			parted.cells, parted.split = partAligned(line)
			if l.parted == nil {
				l.parted = map[*pdftext.Cell]partedLine{}
			}
			l.parted[&line.Cells[0]] = parted
		}
		at := slices.IndexFunc(rows, func(r alignedCells) bool { return math.Abs(r.y-line.Y) < 0.3*line.Size })
		if at < 0 {
			rows = append(rows, alignedCells{y: line.Y, size: line.Size})
			at = len(rows) - 1
		}
		r := &rows[at]
		r.cells, r.lines, r.split = append(r.cells, parted.cells...), append(r.lines, i), r.split || parted.split
	}
	slices.SortStableFunc(rows, func(a, b alignedCells) int { return cmp.Compare(b.y, a.y) })
	for _, r := range rows {
		slices.SortStableFunc(r.cells, func(a, b pdftext.Cell) int { return cmp.Compare(a.X0, b.X0) })
	}
	return rows
}

// partAligned splits a line's cells at gaps wider than those between words. `split` reports whether there was such a
// gap.
func partAligned(line pdftext.Line) (cells []pdftext.Cell, split bool) {
	for _, c := range line.Cells {
		words := c.Words()
		slices.SortFunc(words, func(a, b pdftext.Cell) int { return cmp.Compare(a.X0, b.X0) })
		var cuts []float64
		room := max(alignedGap*line.Size, typedGap*c.Pitch())
		for i := 1; i < len(words); i++ {
			if words[i].X0-words[i-1].X1 > room {
				cuts = append(cuts, (words[i].X0+words[i-1].X1)/2)
			}
		}
		for _, part := range c.Cut(cuts...) {
			if part.Text != "" {
				part.X0, part.X1 = min(part.X0, part.X1), max(part.X0, part.X1)
				cells = append(cells, part)
			}
		}
		split = split || len(cuts) > 0
	}
	return cells, split
}

// findAligned returns the aligned block that reaches furthest down the page, or nil if there is none. The rows above
// this block may be headers.
func findAligned(rows []alignedCells) *alignedBlock {
	head := rows[:min(len(rows), maxAlignedHead+2)]
	if !slices.ContainsFunc(head, func(r alignedCells) bool { return len(r.cells) > 1 }) {
		return nil
	}
	var best *alignedBlock
	for from, r := range rows[:min(len(rows), maxAlignedHead+1)] {
		b := growAligned(rows, from)
		if b != nil && (best == nil || b.to > best.to || b.to == best.to && len(b.columns) < len(best.columns)) {
			best = b // fewer columns: centred names above right-aligned numbers are not columns of their own
		}
		if best != nil && holdsValue(r) {
			break
		}
	}
	return best
}

func holdsValue(r alignedCells) bool {
	return slices.ContainsFunc(r.cells, func(c pdftext.Cell) bool { return isValue(c.Text) && !table.IsYear(c.Text) })
}

// growAligned extends a block downwards from row `from`, as long as each cell fits into a single column. It returns nil
// if the rows are not aligned.
func growAligned(rows []alignedCells, from int) *alignedBlock {
	b := &alignedBlock{from: from, to: from}
	several, size := 0, rows[from].size
	if len(rows[from].cells) < 2 {
		return nil
	}
	for ; b.to < len(rows); b.to++ {
		r := rows[b.to]
		if b.to > from && rows[b.to-1].y-r.y > alignedPitch*r.size {
			break
		}
		columns := b.grown(r)
		if columns == nil || len(columns) > maxAligned {
			break
		}
		if b.columns = columns; len(r.cells) > 1 {
			several++
		}
	}
	for b.to > from && len(rows[b.to-1].cells) == 1 && (b.to-from < 2 || rows[b.to-2].y-rows[b.to-1].y > 1.4*size) {
		b.to-- // text below the table
	}
	if several < 2 || len(b.columns) < 2 {
		return nil
	}
	for _, r := range rows[from:b.to] {
		at := lists.Map(r.cells, func(c pdftext.Cell) int { return columnAt(b.columns, c) })
		b.at = append(b.at, at)
	}
	if !b.isAligned(rows) {
		return nil
	}
	return b
}

// grown returns the block's columns with one more row, or nil if the row's cells do not fit.
func (b *alignedBlock) grown(r alignedCells) []column {
	columns := slices.Clone(b.columns)
	last := -1
	for _, c := range r.cells {
		at := -1
		for k, col := range columns {
			if min(col.to, c.X1) <= max(col.from, c.X0) {
				continue
			}
			if at >= 0 {
				return nil // the cell spans two columns
			}
			at = k
		}
		if at < 0 {
			at, _ = slices.BinarySearchFunc(columns, c.X0, func(col column, x float64) int { return cmp.Compare(col.from, x) })
			columns = slices.Insert(columns, at, column{c.X0, c.X1})
		}
		if at == last {
			return nil // two cells in one column
		}
		last = at
		columns[at] = column{min(columns[at].from, c.X0), max(columns[at].to, c.X1)}
	}
	for k := 1; k < len(columns); k++ {
		if columns[k].from < columns[k-1].to {
			return nil
		}
	}
	return columns
}

// isAligned reports whether every column's cells share a left edge, right edge or centre. It tolerates one outlier per
// column (such as a header), plus a fifth of the cells.
func (b *alignedBlock) isAligned(rows []alignedCells) bool {
	places := make([][3][]float64, len(b.columns))
	for i, at := range b.at {
		for k, c := range rows[b.from+i].cells {
			p := &places[at[k]]
			for e, x := range [3]float64{c.X0, c.X1, (c.X0 + c.X1) / 2} {
				p[e] = append(p[e], x)
			}
		}
	}
	edge := alignedEdge * rows[b.from].size
	for _, p := range places {
		most, n := 0, len(p[0])
		for _, xs := range p {
			slices.Sort(xs)
			for i := range xs { // find the largest number of edges within the tolerance
				end, _ := slices.BinarySearch(xs, xs[i]+edge)
				most = max(most, end-i)
			}
		}
		if most < min(n, max(2, n-1-n/5)) {
			return false
		}
	}
	return true
}

// headerRows returns the number of header rows: all rows above the block, plus its leading rows if they are bold or
// contain no values. A lone row that fills every column but isn't bold is left to table.Writer to judge.
func (b *alignedBlock) headerRows(rows []alignedCells) int {
	head, bold := b.from, b.from
	named := map[int]bool{}
	values := false
	for i, r := range rows[b.from:b.to] {
		if holdsValue(r) {
			values = true
			break
		}
		if len(named) == len(b.columns) || head >= maxAlignedHead {
			break
		}
		for _, k := range b.at[i] {
			named[k] = true
		}
		if head++; bold == head-1 && !slices.ContainsFunc(r.cells, func(c pdftext.Cell) bool { return !c.Bold() }) {
			bold = head
		}
	}
	switch {
	case bold > b.from && bold < b.to:
		head = bold
	case !values || len(named) < len(b.columns)-1:
		head = b.from
	}
	if head == b.from+1 && b.from == 0 && len(rows[0].cells) == len(b.columns) && bold == 0 {
		return 0
	}
	return head
}
