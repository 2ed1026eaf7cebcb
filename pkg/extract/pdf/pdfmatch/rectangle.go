package pdfmatch

import "github.com/sluice/sluice/pkg/domain"

// maxRectangles is the maximum number of rectangles per span.
const maxRectangles = 1000

// PageSize returns a displayed page's width and height in points.
type PageSize func(page int) (width, height float64)

// Rectangles returns the rectangles around the given glyphs, clipped to their pages. Adjacent glyphs on a line share a
// rectangle.
func (t *Text) Rectangles(glyphs []int32, size PageSize) []domain.PageRectangle {
	const bridged = 2 // maximum number of glyphs between two in the same rectangle: punctuation dropped by extraction
	var all []domain.PageRectangle
	var box Box
	last := int32(-1)
	flush := func() {
		if last < 0 || len(all) == maxRectangles {
			return
		}
		page := t.glyphs[last].Page
		width, height := size(page)
		b := Box{max(box.X0, 0), max(box.Y0, 0), min(box.X1, width), min(box.Y1, height)}
		if b.X1 > b.X0 && b.Y1 > b.Y0 {
			all = append(all, domain.PageRectangle{Page: page, X: b.X0, Y: b.Y0, Width: b.X1 - b.X0, Height: b.Y1 - b.Y0})
		}
	}
	for _, i := range glyphs {
		g := &t.glyphs[i]
		if last >= 0 && i-last <= 1+bridged && g.Line == t.glyphs[last].Line && !g.Slanted && !g.Cell {
			box = Box{min(box.X0, g.Box.X0), min(box.Y0, g.Box.Y0), max(box.X1, g.Box.X1), max(box.Y1, g.Box.Y1)}
		} else {
			flush()
			box = g.Box
		}
		last = i
	}
	flush()
	return all
}
