package pdf

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// withColumns adds columns to a copy of a grid that has rules only between rows. The borders of these columns are in
// the vertical white space that runs through all lines. withColumns returns nil if there are fewer than two columns.
func (g *grid) withColumns(lines []pdftext.Line) *grid {
	t := g.textOf(lines)
	body := t.bodyLines()
	const fewest = 3 // minimum number of lines
	if len(body) < fewest {
		return nil
	}
	ofLines := lineWords(body)
	words := slices.Concat(ofLines...)
	if len(words) == 0 {
		return nil
	}
	slices.SortFunc(words, func(a, b pdftext.Cell) int { return cmp.Compare(a.X0, b.X0) })
	const river = 0.1 // minimum width of the white space, as a multiple of the font size
	out := &grid{turn: g.turn, ys: g.ys, xs: []float64{g.left()}}
	reach, rivers := words[0].X1, 0
	for _, w := range words[1:] {
		if at := (reach + w.X0) / 2; w.X0-reach > river*body[0].Size {
			if rivers++; rivers > maxRivers {
				return nil
			}
			if hasGapAt(body, ofLines, at) {
				out.xs = append(out.xs, at)
			}
		}
		reach = max(reach, w.X1)
	}
	out.xs = append(out.xs, g.right())
	t.keepNamed(out)
	out.keepFilled(ofLines[1:])
	if out.columns() < 2 || out.columns()*out.rows() > maxGridCells {
		return nil
	}
	out.parts, out.below = make([][]bool, out.rows()), make([][]bool, out.rows())
	for r := range out.rows() {
		out.parts[r] = slices.Repeat([]bool{true}, out.columns())
		out.below[r] = slices.Repeat([]bool{true}, out.columns())
	}
	return out
}

// maxRivers is the maximum number of rivers (vertical strips of white space) to examine in a table.
const maxRivers = 500

func lineWords(lines []pdftext.Line) [][]pdftext.Cell {
	words := make([][]pdftext.Cell, len(lines))
	for i, line := range lines {
		for _, c := range line.Cells {
			words[i] = append(words[i], c.Words()...)
		}
	}
	return words
}

// hasGapAt reports whether most lines have a gap at `at` that is clearly wider than a space. Narrower gaps also line up
// by chance.
func hasGapAt(lines []pdftext.Line, words [][]pdftext.Cell, at float64) bool {
	const room = 0.5 // minimum width of the gap, as a multiple of the font size
	n := 0
	for i, line := range lines {
		left, right := math.Inf(-1), math.Inf(1)
		for _, w := range words[i] {
			if w.X1 <= at {
				left = max(left, w.X1)
			} else {
				right = min(right, w.X0)
			}
		}
		if right-left > room*line.Size {
			n++
		}
	}
	return n*3 >= len(lines)*2
}

// bodyLines returns the lines that define the columns. It leaves out titles between rows, and all header lines except
// the last one, because names higher up may span several columns.
func (t *gridText) bodyLines() []pdftext.Line {
	var body []pdftext.Line
	header, several := true, 0
	for _, band := range t.bands {
		if header && len(band) > 1 {
			band = band[len(band)-1:]
		}
		header = header && len(band) == 0
		body = append(body, band...)
	}
	for _, line := range body {
		if len(line.Cells) > 1 {
			several++
		}
	}
	if several*5 >= len(body)*3 {
		body = slices.DeleteFunc(body, func(l pdftext.Line) bool { return len(l.Cells) < 2 })
	}
	return body
}

// hasHeader reports whether the first row with text is a header, for tables without vertical rules. The header must
// have few lines, name at least two columns and contain no list markers, and the rows below it must not be prose in
// columns.
func (t *gridText) hasHeader() bool {
	const headerLines = 3
	header := -1
	var lines []pdftext.Line
	for r, band := range t.bands {
		if len(band) == 0 {
			continue
		}
		if header < 0 {
			header = r
			continue
		}
		lines = append(lines, band...)
	}
	if header < 0 || len(t.bands[header]) > headerLines || len(lines) == 0 {
		return false
	}
	names := 0
	for k := range t.columns() {
		for _, cells := range t.cells[header] {
			if cells[k].Text != "" {
				if startsItem(cells[k].Text + " x") {
					return false
				}
				names++
				break
			}
		}
	}
	return names >= 2 && (len(t.ys) > 5 || proseColumns(lines) == nil)
}

// keepNamed removes the left border of each column without a header word: it's just white space that happens to run
// through all rows. The first column may hold row names, so it doesn't need a header word.
func (t *gridText) keepNamed(g *grid) {
	names := lineWords(t.bands[slices.IndexFunc(t.bands, func(band []pdftext.Line) bool { return len(band) > 0 })])
	for k := g.columns() - 1; k > 0; k-- {
		if !slices.ContainsFunc(names, func(words []pdftext.Cell) bool { return g.inColumn(k, words) }) {
			g.xs = slices.Delete(g.xs, k, k+1)
		}
	}
}

// keepFilled removes the borders of columns with text on only one line or on less than a quarter of the lines. `body`
// holds each line's words.
func (g *grid) keepFilled(body [][]pdftext.Cell) {
	const fewest = 2
	for k := g.columns() - 1; k > 0; k-- {
		n := 0
		for _, words := range body {
			if g.inColumn(k, words) {
				n++
			}
		}
		if n < fewest || n*4 < len(body) {
			g.xs = slices.Delete(g.xs, k, k+1)
		}
	}
}

// inColumn reports whether any word is in column k. Like Cell.Cut, it uses the word's midpoint.
func (g *grid) inColumn(k int, words []pdftext.Cell) bool {
	return slices.ContainsFunc(words, func(w pdftext.Cell) bool {
		middle := (w.X0 + w.X1) / 2
		return w.Text != "" && middle > g.xs[k] && middle <= g.xs[k+1]
	})
}

// spansColumns reports whether a cell is a title over several columns, i.e. has only ordinary spaces at the borders it
// crosses.
func spansColumns(c pdftext.Cell, borders []float64, size float64) bool {
	const room = 0.5 // maximum width of a space between words, as a multiple of the font size
	words := c.Words()
	crosses := false
	for i := 1; i < len(words); i++ {
		a, b := words[i-1], words[i]
		for _, x := range borders {
			if a.X1 > x || b.X0 < x {
				continue
			}
			if b.X0-a.X1 > room*size {
				return false
			}
			crosses = true
		}
	}
	return crosses
}

// framesText reports whether a few rules merely frame a page's text, with headings or lists between them, rather than
// form a table.
func (l *layout) framesText(t *gridText) bool {
	marks, all := 0, 0
	for _, band := range t.bands {
		for _, line := range band {
			all++
			if text := line.Text(); startsItem(text) {
				marks++
			} else if line.Size >= l.body*largerThanBody && l.body > 0 || l.outline.level(l.number, text) > 0 {
				return true
			}
		}
	}
	return marks*4 > all
}

// addHeaderRow adds a row at the top of a grid if there is a header line just above the first rule, with a name above
// each column except perhaps the first.
func (g *grid) addHeaderRow(items []placed) {
	var inside []pdftext.Line
	for _, item := range items {
		if in, _ := g.divide(item.line); item.table == nil && len(in.Cells) > 0 {
			inside = append(inside, in)
		}
	}
	if len(inside) == 0 {
		return
	}
	columns := g.withColumns(inside)
	if columns == nil {
		return
	}
	const near = 2.2 // maximum distance of the names from the rule, as a multiple of the names' font size
	above := *g
	above.ys = []float64{g.top() + near*inside[0].Size, g.top()}
	var names []pdftext.Line
	for _, item := range items {
		if in, out := above.divide(item.line); item.table == nil && len(in.Cells) > 0 {
			if len(out.Cells) > 0 {
				return // text that continues next to the table
			}
			names = append(names, in)
		}
	}
	if names = baselines(names); len(names) != 1 || isCaption(names[0].Text()) || endsSentence(names[0].Text()) {
		return
	}
	taller := &grid{turn: g.turn, xs: g.xs, ys: append(above.ys[:1:1], g.ys...)}
	with := taller.withColumns(append(names, inside...))
	if with == nil || with.columns() < columns.columns() {
		return // the line belongs to the text above the table
	}
	named := lineWords(names)
	for k := range with.columns() - 1 {
		if !slices.ContainsFunc(named, func(words []pdftext.Cell) bool { return with.inColumn(k+1, words) }) {
			return
		}
	}
	g.ys = taller.ys
}
