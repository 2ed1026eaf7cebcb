package extract

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/pdftext"
)

// Bounds of tables whose columns only their alignment tells, in parts of the font size where nothing else is said.
const (
	alignedLines   = 60   // that are looked at as one table
	alignedGap     = 0.45 // room between two cells; spaces between words are narrower
	pairGap        = 0.6  // the same in a table of two columns without numbers
	alignedEdge    = 0.35 // how far apart the edges of the cells of a column may be
	alignedRow     = 200  // bytes of a row
	alignedPitch   = 3.2  // from one row to the next
	centredGroup   = 0.6  // how far from the middle of its columns the name of a group may be
	sameMiddle     = 0.3  // how far apart two middles may be to be the same
	fewestAligned  = 3    // rows without a header
	maxAlignedRows = 4    // of a header
)

// alignedCells are the cells of a row of the page, by the room between them.
type alignedCells struct {
	y, size float64
	cells   []pdftext.Cell
	lines   []int // that the row is made of
	split   bool  // cells stand closer than those of a line do
}

// takeAligned takes a table off the front of lines whose cells stand close together, or whose header has names over
// several columns. It returns nil where there is none.
func (l *pdfLayout) takeAligned(lines []pdftext.Line) (*pdfTable, []pdftext.Line) {
	rows := alignedRows(lines)
	body, end := alignedBody(rows)
	if body < 0 || end-body < 2 {
		return nil, lines
	}
	k := len(rows[body].cells)
	columns := make([]column, k)
	for i := range columns {
		columns[i] = column{math.Inf(1), math.Inf(-1)}
		for _, r := range rows[body:end] {
			columns[i] = column{min(columns[i].from, r.cells[i].X0), max(columns[i].to, r.cells[i].X1)}
		}
	}
	size := rows[body].size
	first, wide := body, false
	for first > 0 && body-first < maxAlignedRows && isAlignedHeader(rows[first-1], rows[first], columns, size) {
		first--
		wide = wide || len(rows[first].cells) < k
	}
	for _, r := range rows[:body] {
		if len(r.cells) >= k-1 { // names of single columns, which may be wider than the cells below
			for _, c := range r.cells {
				at := columnAt(columns, c)
				columns[at] = column{min(columns[at].from, c.X0), max(columns[at].to, c.X1)}
			}
		}
	}
	if first > 0 || body == 0 && (k != 2 || !mostlyRTL(lines[:end])) || !isAligned(rows[body:end], columns, body-first, wide) {
		return nil, lines
	}
	used := 0
	for _, r := range rows[:end] {
		used += len(r.lines)
	}
	for _, r := range rows[:end] {
		if slices.Max(r.lines) >= used {
			return nil, lines // other lines stand between
		}
	}
	t := &pdfTable{columns: columns, size: size}
	if body > 0 {
		names := alignedNames(rows[:body], columns, size)
		if names == nil {
			return nil, lines
		}
		t.rows = append(t.rows, tableRow{cells: names})
		t.header = true
	}
	for _, r := range rows[body:end] {
		row := tableRow{cells: make([]string, k)}
		for i, c := range r.cells {
			row.cells[i] = c.Text
		}
		for _, at := range r.lines {
			row.links = append(row.links, linksOf(l.links, lines[at])...)
		}
		t.rows = append(t.rows, row)
	}
	t.named = len(t.rows) >= 3 && !slices.Contains(t.rows[0].cells[1:], "")
	if mostlyRTL(lines[:used]) {
		t.mirror()
		slices.Reverse(t.columns)
	}
	return t, lines[used:]
}

// alignedRows puts lines on one baseline together and parts them where there is more room than between words. It ends
// where a table cannot go on.
func alignedRows(lines []pdftext.Line) []alignedCells {
	var rows []alignedCells
	for i, line := range lines[:min(len(lines), alignedLines)] {
		if text := line.Text(); line.Turn != lines[0].Turn || line.Filled || len(text) > alignedRow || isContents(text) ||
			math.Abs(line.Size-lines[0].Size) > 0.2*lines[0].Size || i > 0 && math.Abs(line.Y-lines[i-1].Y) > alignedPitch*line.Size {
			break
		}
		cells, split := partAligned(line)
		at := slices.IndexFunc(rows, func(r alignedCells) bool { return math.Abs(r.y-line.Y) < 0.3*line.Size })
		if at < 0 {
			rows = append(rows, alignedCells{y: line.Y, size: line.Size})
			at = len(rows) - 1
		}
		r := &rows[at]
		r.cells, r.lines, r.split = append(r.cells, cells...), append(r.lines, i), r.split || split
	}
	slices.SortStableFunc(rows, func(a, b alignedCells) int { return cmp.Compare(b.y, a.y) })
	for _, r := range rows {
		slices.SortStableFunc(r.cells, func(a, b pdftext.Cell) int { return cmp.Compare(a.X0, b.X0) })
	}
	return rows
}

// partAligned parts the cells of a line where there is more room than between words.
func partAligned(line pdftext.Line) (cells []pdftext.Cell, split bool) {
	for _, c := range line.Cells {
		words := c.Words()
		slices.SortFunc(words, func(a, b pdftext.Cell) int { return cmp.Compare(a.X0, b.X0) })
		var cuts []float64
		for i := 1; i < len(words); i++ {
			if words[i].X0-words[i-1].X1 > alignedGap*line.Size {
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

// alignedBody finds the first rows that have the same number of cells, in columns, and where they end; -1 for none.
func alignedBody(rows []alignedCells) (from, to int) {
	for from = range rows[:min(len(rows), maxAlignedRows+1)] {
		to = from + 1
		for to < len(rows) && sameColumns(rows[from], rows[to]) && rows[to-1].y-rows[to].y < alignedPitch*rows[to].size {
			to++
		}
		if to-from >= 2 && len(rows[from].cells) >= 2 {
			return from, to
		}
	}
	return -1, 0
}

// sameColumns reports whether the cells of two rows stand below each other: at their left edges, their right ones or their
// middles.
func sameColumns(a, b alignedCells) bool {
	if len(a.cells) != len(b.cells) {
		return false
	}
	for i, c := range a.cells {
		d := b.cells[i]
		left, right := math.Abs(c.X0-d.X0), math.Abs(c.X1-d.X1)
		if min(left, right, math.Abs(c.X0+c.X1-d.X0-d.X1)/2) > alignedEdge*a.size {
			return false
		}
	}
	return true
}

// isAlignedHeader reports whether a row above others names columns: several of them, or one that is not the first
// together with others, as a title of the table would be.
func isAlignedHeader(r, below alignedCells, columns []column, size float64) bool {
	if r.y-below.y > alignedPitch*size || len(r.cells) > len(columns) {
		return false
	}
	for _, c := range r.cells {
		if c.X0 < columns[0].from-size || c.X1 > columns[len(columns)-1].to+2*size || utf8.RuneCountInString(c.Text) > maxLabel ||
			endsSentence(c.Text) || isValue(c.Text) && !isYear(c.Text) && !strings.ContainsFunc(c.Text, isLetterRune) {
			return false
		}
	}
	only := r.cells[0]
	return len(r.cells) > 1 || only.X0 > columns[0].to || only.X1 < columns[1].from
}

func isLetterRune(r rune) bool { return countLetters(string(r)) == 1 && (r < '0' || r > '9') }

// isAligned reports whether rows are those of a table which the distance of its cells alone does not tell: there is a
// column of values, or there are many rows.
func isAligned(body []alignedCells, columns []column, header int, wide bool) bool {
	tight, marks, values := false, 0, false
	least := math.Inf(1)
	for _, r := range body {
		tight = tight || r.split
		if startsItem(r.cells[0].Text+" x") || isMark(r.cells[0].Text) {
			marks++
		}
		for i := 1; i < len(r.cells); i++ {
			least = min(least, (r.cells[i].X0-r.cells[i-1].X1)/r.size)
		}
	}
	for i := range columns {
		values = values || !slices.ContainsFunc(body, func(r alignedCells) bool { return !isValue(r.cells[i].Text) })
	}
	switch {
	case !tight && !wide, marks*2 > len(body):
		return false
	case header == 0 && len(body) < fewestAligned:
		return false
	case values:
		return true
	}
	return len(body) >= fewestAligned && least > pairGap
}

// alignedNames joins the rows of a header to one name for each column. It returns nil where groups stand over groups: which
// columns belong to them cannot be told from their middles.
func alignedNames(rows []alignedCells, columns []column, size float64) []string {
	names := make([]string, len(columns))
	lowest := make([]bool, len(columns)) // named by the lowest row: others have names that reach down, and no group's
	for _, c := range rows[len(rows)-1].cells {
		at := columnAt(columns, c)
		lowest[at] = at > 0
	}
	groups := 0                               // rows with names of groups
	for _, r := range slices.Backward(rows) { // a name over several columns stands over names of single ones
		next := len(columns)
		spans, grouped := make([][2]int, len(r.cells)), false
		for i, c := range slices.Backward(r.cells) {
			at := columnAt(columns[:next], c)
			spans[i] = [2]int{at, at}
			if names[at] != "" {
				grouped = true
				spans[i] = groupSpan(c, at, columns[:next], lowest, size)
			}
			next = max(spans[i][0], 1)
		}
		if grouped {
			if groups++; groups > 1 {
				return nil
			}
		}
		for i, c := range r.cells {
			for k := spans[i][0]; k <= spans[i][1]; k++ {
				names[k] = strings.TrimSpace(c.Text + " " + names[k])
			}
		}
	}
	return names
}

// groupSpan is the first and the last of the columns that a name stands over, which have names of their own: those whose
// common middle is that of the name, or all from the one that begins where it does.
func groupSpan(c pdftext.Cell, at int, columns []column, named []bool, size float64) [2]int {
	lowest, highest := at, at
	for lowest > 0 && named[lowest-1] {
		lowest--
	}
	for highest+1 < len(columns) && named[highest+1] {
		highest++
	}
	best, least := [2]int{at, at}, math.Inf(1)
	middle := (c.X0 + c.X1) / 2
	for from := lowest; from <= at; from++ {
		for to := at; to <= highest; to++ {
			if d := math.Abs((columns[from].from+columns[to].to)/2 - middle); d < least-sameMiddle*size || d < least+sameMiddle*size && to-from > best[1]-best[0] {
				best, least = [2]int{from, to}, d
			}
		}
	}
	if least > centredGroup*size && math.Abs(c.X0-columns[at].from) < alignedEdge*size {
		return [2]int{at, highest}
	}
	return best
}
