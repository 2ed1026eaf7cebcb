// Package pdffield joins the values of a PDF's form fields to their labels on the page.
package pdffield

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

// Bounds on the distance between a field and its label, in points or as multiples of the label's font size.
const (
	labelLeft     = 220 // maximum distance in points from a label to the text field on its right
	labelRight    = 40  // maximum distance in points from a box to the label on its right
	labelAbove    = 1.6 // maximum distance of a label above or below a field, as a multiple of the label's font size
	labelSlack    = 4   // maximum overlap of a label and a field, in points
	maxPageFields = 2_000
)

// blankToFill matches dots or underscores that a form prints where a value belongs.
var blankToFill = lazyregexp.New(`[ \t]*(?:[_.…·‧]{3,}|(?:[_.] ){3,}[_.]?)[ \t]*$`)

// Place joins form field values to their labels: "Name: Smith", "☒ by post". If a value has no label on the page, Place
// labels it with the field's name, at the field's position. In a table of fields, the column names are the labels;
// `inTables` reports which fields are in such a table. `lines` and `fields` are not modified.
func Place(lines []pdftext.Line, fields []pdftext.Field, inTables func([]pdftext.Line, []pdftext.Field) []bool) []pdftext.Line {
	if len(fields) == 0 {
		return lines
	}
	f := placer{lines: slices.Clone(lines), fields: slices.Clone(fields[:min(len(fields), maxPageFields)])}
	for i := range f.lines {
		f.lines[i].Cells = slices.Clone(f.lines[i].Cells)
	}
	slices.SortStableFunc(f.fields, func(a, b pdftext.Field) int {
		if a.Box.Y0 < b.Box.Y1 && b.Box.Y0 < a.Box.Y1 { // side by side: start on the right to keep indexes valid
			return cmp.Compare(b.Box.X0, a.Box.X0)
		}
		return cmp.Compare(b.Box.Y1, a.Box.Y1)
	})
	inTable := inTables(f.lines, f.fields)
	for i, field := range f.fields {
		if inTable[i] {
			f.insertCell(field)
		} else {
			f.place(field)
		}
	}
	return f.lines
}

// insertCell inserts a field's value in a table.
func (f *placer) insertCell(field pdftext.Field) {
	text := field.Value
	if field.Kind != pdftext.TextField {
		text = markOf(field)
	}
	if text == "" {
		return
	}
	f.insert(field, pdftext.Placed(text, field.Box.X0, field.Box.X1))
	for i := range f.lines {
		f.lines[i].Filled = f.lines[i].Filled && !atHeight(f.lines[i], field.Box)
	}
}

func markOf(field pdftext.Field) string {
	if field.On {
		return "☒"
	}
	return "☐"
}

type placer struct {
	lines  []pdftext.Line
	fields []pdftext.Field
}

func (f *placer) place(field pdftext.Field) {
	if field.Kind != pdftext.TextField {
		f.placeBox(field)
		return
	}
	if field.Value == "" {
		return
	}
	value := pdftext.Placed(field.Value, field.Box.X0, field.Box.X1)
	if i, k := f.labelLeftOf(field, labelLeft); i >= 0 {
		cells := f.lines[i].Cells
		parts := cells[k].Cut(field.Box.X0 + labelSlack)
		label := withColon(parts[0])
		joined := label.Before(value)
		if rest := parts[1]; rest.Text != "" && blankToFill().ReplaceAllString(rest.Text, "") != "" {
			rest.Text, _ = strings.CutPrefix(rest.Text, leadingBlank(rest.Text))
			joined = joined.Before(pdftext.Placed(strings.TrimSpace(rest.Text), rest.X0, rest.X1))
		}
		cells[k], f.lines[i].Filled = joined, true
		return
	}
	i, k := f.labelOver(field)
	if i < 0 {
		i, k = f.labelUnder(field)
	}
	if i >= 0 {
		cells := f.lines[i].Cells
		f.lines[i].Filled = true
		cells[k] = withColon(cells[k]).Before(value)
		return
	}
	if field.Name != "" {
		value = withColon(pdftext.Placed(field.Name, field.Box.X0, field.Box.X0)).Before(value)
	}
	f.insert(field, value)
}

// leadingBlank returns a string's leading dots, underscores and spaces.
func leadingBlank(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "_.… \t"))]
}

// withColon strips trailing dots or underscores from a label. It adds a colon unless the label ends in another
// separator.
func withColon(label pdftext.Cell) pdftext.Cell {
	text := strings.TrimRight(blankToFill().ReplaceAllString(label.Text, ""), " \t_")
	last, _ := utf8.DecodeLastRuneInString(text)
	if unicode.IsLetter(last) || unicode.IsDigit(last) || strings.ContainsRune(")]*%", last) {
		text += ":"
	}
	return pdftext.Placed(text, label.X0, label.X1)
}

// placeBox writes a ticked or empty box next to a check box's label.
func (f *placer) placeBox(field pdftext.Field) {
	cell := pdftext.Placed(markOf(field), field.Box.X0, field.Box.X1)
	if i, k := f.labelLeftOf(field, labelRight); i >= 0 && f.labelsBefore(field) {
		cells := f.lines[i].Cells
		parts := cells[k].Cut(field.Box.X0 + labelSlack)
		joined := parts[0].Before(cell)
		if parts[1].Text != "" {
			joined = joined.Before(parts[1])
		}
		cells[k], f.lines[i].Filled = joined, true
		return
	}
	at, cellAt, least := -1, -1, float64(labelRight)
	for i, line := range f.lines {
		if !atHeight(line, field.Box) {
			continue
		}
		for k, c := range line.Cells {
			for _, w := range c.Words() {
				if gap := w.X0 - field.Box.X1; gap > -labelSlack && gap < least && !f.boxBetween(field, w.X0) && !isBoxSign(w.Text) {
					at, cellAt, least = i, k, gap
				}
			}
		}
	}
	if at >= 0 {
		cells := f.lines[at].Cells
		parts := cells[cellAt].Cut(field.Box.X1 - labelSlack)
		left, right := parts[0], parts[1]
		left.Text = strings.TrimRight(left.Text, "☐□❑❒ ")
		joined := cell.Before(right)
		if left.Text != "" {
			joined = left.Before(joined)
		}
		cells[cellAt], f.lines[at].Filled = joined, true
		return
	}
	if i, k := f.labelLeftOf(field, labelLeft); i >= 0 {
		cells := f.lines[i].Cells
		cells[k], f.lines[i].Filled = cells[k].Before(cell), true
		return
	}
	if field.Name != "" {
		cell = cell.Before(pdftext.Placed(field.Name, field.Box.X1, field.Box.X1))
	}
	f.insert(field, cell)
}

// labelsBefore reports whether the labels of a row's boxes are on the left, i.e. each box is much nearer to the word
// before it than to the one after it.
func (f *placer) labelsBefore(field pdftext.Field) bool {
	const nearer = 2
	boxes := 0
	for _, o := range f.fields {
		if o.Kind == pdftext.TextField || o.Box.Y0 >= field.Box.Y1 || field.Box.Y0 >= o.Box.Y1 {
			continue
		}
		boxes++
		before, after, label := math.Inf(1), math.Inf(1), ""
		for _, line := range f.lines {
			if !atHeight(line, o.Box) {
				continue
			}
			for _, c := range line.Cells {
				for _, w := range c.Words() {
					switch {
					case isBoxSign(w.Text) || w.Text == "☒":
					case w.Middle() < o.Box.X0:
						if gap := max(o.Box.X0-w.X1, 0); gap < before {
							before, label = gap, w.Text
						}
					default:
						after = min(after, max(w.X0-o.Box.X1, 0))
					}
				}
			}
		}
		if before*nearer >= after || !strings.ContainsFunc(label, unicode.IsLetter) {
			return false
		}
	}
	return boxes > 1 // for a single box, placeBox looks on both sides
}

func isBoxSign(s string) bool { return strings.Trim(s, "☐□❑❒") == "" }

// atHeight reports whether a line is level with a box or, if the box is tall, with its top.
func atHeight(line pdftext.Line, b pdftext.Box) bool {
	middle := line.Y + pdftext.MiddleHeight*line.Size
	return line.Turn == 0 && middle > max(b.Y0, b.Y1-2*line.Size)-1 && middle < b.Y1+1
}

// boxBetween reports whether another field is between a box and a position on its right.
func (f *placer) boxBetween(field pdftext.Field, x float64) bool {
	return slices.ContainsFunc(f.fields, func(o pdftext.Field) bool {
		return o.Box.X0 >= field.Box.X1-1 && o.Box.X0 < x-1 && o.Box.Y0 < field.Box.Y1 && field.Box.Y0 < o.Box.Y1
	})
}

// labelLeftOf finds the nearest cell with a word to the left of a field. It returns the line's index and the cell's
// index in it, or -1 for both if there is none within `within` points.
func (f *placer) labelLeftOf(field pdftext.Field, within float64) (at, cell int) {
	at, cell = -1, -1
	for i, line := range f.lines {
		if !atHeight(line, field.Box) {
			continue
		}
		for k, c := range line.Cells {
			for _, w := range c.Words() {
				gap := field.Box.X0 - min(w.X1, field.Box.X0)
				if w.X0 < field.Box.X0 && w.X1 < field.Box.X1 && gap < within && !f.fieldOver(field, w.X1) {
					at, cell, within = i, k, gap
				}
			}
		}
	}
	return at, cell
}

// fieldOver reports whether another field at the same height lies between x and the left edge of `field`.
func (f *placer) fieldOver(field pdftext.Field, x float64) bool {
	return slices.ContainsFunc(f.fields, func(o pdftext.Field) bool {
		return o.Box != field.Box && o.Box.X1 <= field.Box.X0+1 && o.Box.X0 >= x-labelSlack && o.Box.Y0 < field.Box.Y1 && field.Box.Y0 < o.Box.Y1
	})
}

// labelOver finds the cell directly above a field. It returns the line's index and the cell's index in it, or -1.
func (f *placer) labelOver(field pdftext.Field) (at, cell int) {
	at, cell = -1, -1
	least := math.Inf(1)
	for i, line := range f.lines {
		up := line.Y - field.Box.Y1
		if line.Turn != 0 || up < -0.3*line.Size || up > labelAbove*line.Size || up >= least {
			continue
		}
		for k, c := range line.Cells {
			if c.X0 > field.Box.X0-2*line.Size && c.X0 < field.Box.X1 {
				at, cell, least = i, k, up
				break
			}
		}
	}
	return at, cell
}

// labelUnder finds the cell directly below a field and returns indexes like labelOver. It skips a cell if a field below
// the cell is nearer to it.
func (f *placer) labelUnder(field pdftext.Field) (at, cell int) {
	at, cell = -1, -1
	least := math.Inf(1)
	for i, line := range f.lines {
		down := field.Box.Y0 - line.Y - pdftext.CapitalHeight*line.Size
		if line.Turn != 0 || down < -0.3*line.Size || down > labelAbove*line.Size || down >= least {
			continue
		}
		for k, c := range line.Cells {
			if line.Filled && strings.Contains(c.Text, ": ") {
				continue // the label already has its value
			}
			if c.X0 > field.Box.X0-2*line.Size && c.X0 < field.Box.X1 && !slices.ContainsFunc(f.fields, func(o pdftext.Field) bool {
				return c.X0 > o.Box.X0-2*line.Size && c.X0 < o.Box.X1 && o.Box.Y1 <= line.Y && line.Y-o.Box.Y1 < down
			}) {
				at, cell, least = i, k, down
				break
			}
		}
	}
	return at, cell
}

// insert adds a line for a field's value if the value has no label. The new line goes after the nearest line above the
// field.
func (f *placer) insert(field pdftext.Field, cell pdftext.Cell) {
	const usual = 10
	size := min(usual, max(field.Box.Y1-field.Box.Y0, 1))
	line := pdftext.Line{Cells: []pdftext.Cell{cell}, Filled: true, Size: size, Y: field.Box.Y1 - (min(field.Box.Y1-field.Box.Y0, 1.4*size)+0.7*size)/2}
	at, least := len(f.lines), math.Inf(1)
	for i, l := range f.lines {
		if d := l.Y - line.Y; l.Turn == 0 && d >= -0.3*size && d < least {
			at, least = i+1, d
		}
	}
	if at > 0 && at <= len(f.lines) {
		if l := &f.lines[at-1]; l.Filled && l.Turn == 0 && math.Abs(l.Y-line.Y) < 0.3*size && (l.Cells[0].X0 >= cell.X1 || l.Cells[len(l.Cells)-1].X1 <= cell.X0) {
			k := 0
			if l.Cells[0].X0 < cell.X0 {
				k = len(l.Cells)
			}
			l.Cells = slices.Insert(l.Cells, k, cell)
			return
		}
	}
	f.lines = slices.Insert(f.lines, at, line)
}
