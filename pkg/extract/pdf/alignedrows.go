package pdf

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
	"github.com/sluice/sluice/pkg/extract/table"
)

// alignedBody holds the rows of an aligned table below its header.
type alignedBody struct {
	columns []column
	rows    []alignedCells
	at      [][]int // by row: the column of each cell
	pitch   float64 // usual distance between rows, in points
	spans   bool    // a row name spans several rows or is between two rows
	joined  bool    // a line with several cells was joined to the row above
}

// joinedRow is a table row. It holds the row's cells by column, whether each cell is bold, and the lines that the cells
// come from.
type joinedRow struct {
	cells []string
	bold  []bool
	lines []int
}

// body returns the block without the header rows.
func (b *alignedBlock) body(rows []alignedCells, head int) *alignedBody {
	skip := head - b.from
	body := &alignedBody{rows: rows[head:b.to], at: b.at[skip:]}
	spread := make([]column, len(b.columns))
	for k := range spread {
		spread[k] = column{math.Inf(1), math.Inf(-1)}
	}
	for i, r := range body.rows {
		for n, c := range r.cells {
			k := body.at[i][n]
			spread[k] = column{min(spread[k].from, c.X0), max(spread[k].to, c.X1)}
		}
	}
	for _, c := range spread {
		if c.from <= c.to {
			body.columns = append(body.columns, c)
		}
	}
	var gaps []float64
	last := -1
	for i, r := range body.rows {
		if len(r.cells) > 1 {
			if last >= 0 {
				gaps = append(gaps, body.rows[last].y-r.y)
			}
			last = i
		}
	}
	if slices.Sort(gaps); len(gaps) > 0 {
		body.pitch = gaps[len(gaps)/2]
	}
	return body
}

// isClose reports whether rows i and j are closer together than usual for this table.
func (b *alignedBody) isClose(i, j int) bool {
	return j < len(b.rows) && b.rows[i].y-b.rows[j].y < samePitch*b.pitch
}

// join turns lines into table rows. It merges multi-line cells and repeats a row name in every row it spans. Row names
// are in the first column, which is the rightmost in right-to-left text.
func (b *alignedBody) join(rtl bool) []joinedRow {
	first, second := 0, 1
	if rtl {
		first, second = len(b.columns)-1, len(b.columns)-2
	}
	var out []joinedRow
	var names []spanName
	last := 0 // index of the last row, not counting names that span several rows
	for i, r := range b.rows {
		switch n := len(out); {
		case i > 0 && len(r.cells) == 1 && b.at[i][0] == first && b.isClose(i-1, i) && b.isClose(i, i+1) && !b.isClose(i-1, i+1) &&
			out[n-1].cells[first] == "" && !slices.Contains(b.at[i+1], first):
			names = append(names, spanName{float64(n) - 0.5, r})
			b.spans = true
			continue
		case i > 0 && b.isClose(last, i) && len(r.cells) < len(b.columns) && (len(r.cells) == 1 || !slices.Contains(b.at[i], first)),
			i > 0 && rtl && b.isClose(last, i):
			b.joined = b.joined || len(r.cells) > 1
			out[n-1].add(r, b.at[i])
			if i == last+1 && len(r.cells) == 1 && i+1 < len(b.rows) && b.isClose(last, i+1) {
				continue // a one-line cell next to a multi-line cell
			}
		default:
			row := joinedRow{cells: make([]string, len(b.columns)), bold: make([]bool, len(b.columns))}
			row.add(r, b.at[i])
			if row.cells[first] != "" {
				names = append(names, spanName{float64(n), r})
			}
			out = append(out, row)
		}
		last = i
	}
	if spans := spansOf(names, len(out)); len(names) < len(out) && len(b.columns) > 2 && spans != nil && !slices.ContainsFunc(out, func(r joinedRow) bool { return r.cells[second] == "" || isValue(r.cells[second]) }) {
		b.spans = true
		for n, to := range spans {
			text, shown := cellOf(names[n].row, first, rtl), names[n].at == math.Trunc(names[n].at)
			for k := to[0]; k <= to[1]; k++ {
				if out[k].cells[first] == "" {
					out[k].cells[first], shown = text, true
				}
			}
			if !shown {
				out[to[0]].cells[first] = joinLines(out[to[0]].cells[first], text)
			}
			if names[n].at != math.Trunc(names[n].at) {
				out[to[0]].lines = append(out[to[0]].lines, names[n].row.lines...)
			}
		}
		return out
	}
	for _, n := range names {
		if n.at != math.Trunc(n.at) {
			row := &out[int(n.at)]
			row.cells[first] = joinLines(row.cells[first], cellOf(n.row, first, rtl))
			row.lines = append(row.lines, n.row.lines...)
		}
	}
	return out
}

func (j *joinedRow) add(r alignedCells, at []int) {
	for i, c := range r.cells {
		j.bold[at[i]] = c.Bold() && (j.cells[at[i]] == "" || j.bold[at[i]])
		j.cells[at[i]] = joinLines(j.cells[at[i]], c.Text)
	}
	j.lines = append(j.lines, r.lines...)
}

// cellOf returns the row's name, which is in its first cell (the last one in right-to-left text).
func cellOf(r alignedCells, first int, rtl bool) string {
	if rtl && first > 0 {
		return r.cells[len(r.cells)-1].Text
	}
	return r.cells[0].Text
}

// spanName is a row name and the index of its row. A name between rows n and n+1 has index n+0.5.
type spanName struct {
	at  float64
	row alignedCells
}

// spansOf returns the first and last row of each name's span. Either every name is on the first row of its span, or
// every name is centred in it. For any other arrangement, spansOf returns nil.
func spansOf(names []spanName, rows int) [][2]int {
	if len(names) == 0 {
		return nil
	}
	spans := make([][2]int, len(names))
	if names[0].at == 0 && !slices.ContainsFunc(names, func(n spanName) bool { return n.at != math.Trunc(n.at) }) {
		for i, n := range names {
			spans[i] = [2]int{int(n.at), rows - 1}
			if i+1 < len(names) {
				spans[i][1] = int(names[i+1].at) - 1
			}
		}
		return spans
	}
	next := 0
	for i, n := range names {
		end := int(2*n.at) - next
		if end < next || end >= rows {
			return nil
		}
		spans[i] = [2]int{next, end}
		next = end + 1
	}
	if next != rows {
		return nil
	}
	return spans
}

// layoutSigns holds evidence that aligned rows are a table.
type layoutSigns struct {
	head        int  // number of header rows
	tight       bool // a header cell was split at a wide gap
	bold        bool // the first row is bold
	spanning    bool // names span several columns or rows
	interleaved bool // some row's lines are not consecutive
	overlapping bool // some row's lines overlap horizontally
	rtl         bool // the text runs from right to left
}

// isTable reports whether aligned rows are a table rather than a list or text in columns. Evidence for a table includes
// labels that end in colons, a header above a column of values, a header with names over several columns, right-to-left
// text, and overlapping lines.
func (b *alignedBody) isTable(s layoutSigns) bool {
	const prose, proseColumns = 25, 2 // minimum average length of a prose line; this many columns of prose are not a table
	head, rtl := s.head, s.rtl
	if head == 0 && len(b.rows) < minAlignedRows {
		return false
	}
	if b.joined && !rtl {
		return false // the row ends are uncertain
	}
	long, values, first := 0, false, 0
	if rtl {
		first = len(b.columns) - 1
	}
	for k := range b.columns {
		n, length, numbers, marks, labels := 0, 0, 0, 0, 0
		for i, r := range b.rows {
			at := slices.Index(b.at[i], k)
			if at < 0 {
				continue
			}
			text := r.cells[at].Text
			n++
			length += utf8.RuneCountInString(text)
			switch {
			case startsItem(text + " x"), isMark(text):
				marks++
			case table.IsColonLabel(text):
				labels++
			}
			if isValue(text) && (i > 0 || head > 0) {
				numbers++
			}
		}
		if length > prose*n {
			long++
		}
		if k == first && (marks*2 > n || n < 2) {
			return false
		}
		if k == first && labels*3 >= n*2 && n >= minAlignedRows && len(b.columns)%2 == 0 {
			return true
		}
		values = values || numbers > 0 && numbers >= n-1+min(head, 1) && n > 1
	}
	if long >= proseColumns {
		return false
	}
	named := head > 0 || len(b.rows[0].cells) == len(b.columns) && !slices.ContainsFunc(b.rows[0].cells, func(c pdftext.Cell) bool { return !isColumnName(c.Text) })
	tight, least := s.tight || head > 1 || s.spanning || s.interleaved && (rtl || s.bold), math.Inf(1)
	for _, r := range b.rows {
		tight = tight || r.split
		for i := 1; i < len(r.cells); i++ {
			least = min(least, (r.cells[i].X0-r.cells[i-1].X1)/r.size)
		}
	}
	return tight && named && (values || s.spanning && head > 0 || (rtl || s.bold) && least > pairGap) || s.overlapping && values
}
