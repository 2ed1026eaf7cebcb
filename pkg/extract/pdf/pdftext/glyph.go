package pdftext

import "math"

// Assumed height above and depth below the baseline, as multiples of the font size. They cover accented capitals and
// descenders in nearly all fonts.
const (
	ascent  = 0.92
	descent = 0.25
)

// Glyph is a visible glyph on a line.
type Glyph struct {
	Cell int    // its cell's index
	Text string // its characters and any spaces after it
	Box  Box    // its area in the line's coordinates
}

// Glyphs lists a line's glyphs in reading order. Their boxes are derived from the font size, so they enclose the
// visible shapes but are not exact.
func (l Line) Glyphs() []Glyph {
	var out []Glyph
	for i, c := range l.Cells {
		if len(c.spots) == 0 {
			out = append(out, Glyph{Cell: i, Text: c.Text, Box: l.box(min(c.X0, c.X1), max(c.X0, c.X1), elevation{})})
			continue
		}
		for k, s := range c.spots {
			end := len(c.Text)
			if k+1 < len(c.spots) {
				end = int(c.spots[k+1].at)
			}
			out = append(out, Glyph{Cell: i, Text: c.Text[s.at:end], Box: l.box(float64(min(s.x0, s.x1)), float64(max(s.x0, s.x1)), s.elevation)})
		}
	}
	return out
}

// Slanted reports whether the line is parallel to neither edge of the page.
func (l Line) Slanted() bool {
	const parallel = 0.02
	dx, dy := l.direction()
	return math.Abs(dx) > parallel && math.Abs(dy) > parallel
}

func (l Line) direction() (dx, dy float64) {
	if l.dx == 0 && l.dy == 0 {
		return [4]float64{1, 0, -1, 0}[l.Turn&3], [4]float64{0, 1, 0, -1}[l.Turn&3]
	}
	return float64(l.dx), float64(l.dy)
}

// box returns the area of a glyph with elevation e that extends from x0 to x1 along the line.
func (l Line) box(x0, x1 float64, e elevation) Box {
	size := l.Size * (1 + float64(e.scale)/elevationSteps)
	base := l.Y + l.Size*float64(e.rise)/elevationSteps
	low, high := base-descent*size, base+ascent*size
	if l.vertical {
		low, high = base-size/2, base+size/2
	}
	dx, dy := l.direction()
	r := rect{x0, low, x1, high}.transform(matrix{dx, dy, -dy, dx, 0, 0})
	return Box{r.x0, r.y0, r.x1, r.y1}
}

// Frame is a page's visible part and how viewers display it.
type Frame struct{ box pageBox }

// Size of a page without a media box, in points: US Letter, as most viewers assume.
const (
	defaultWidth  = 612
	defaultHeight = 792
)

// Frame returns the frame of page i, counted from 0.
func (d *Document) Frame(i int) Frame { return Frame{d.box(d.pages[i])} }

// FrameOf returns the frame of a page with the given visible part, in the file's coordinates, and clockwise rotation in
// degrees.
func FrameOf(visible Box, rotate int) Frame {
	return Frame{boxOf(rect{visible.X0, visible.Y0, visible.X1, visible.Y1}, int64(rotate))}
}

// Size returns the displayed page's width and height in points.
func (f Frame) Size() (width, height float64) {
	if f.box.width == 0 || f.box.height == 0 {
		return defaultWidth, defaultHeight
	}
	return f.box.width, f.box.height
}

// Upright converts a box from the file's coordinates to those of the visible page, which Line uses too.
func (f Frame) Upright(b Box) Box {
	r := rect{b.X0, b.Y0, b.X1, b.Y1}.transform(f.box.toPage)
	return Box{r.x0, r.y0, r.x1, r.y1}
}

// FromTop converts a box on the visible page to the displayed page's coordinates, whose origin is the upper left corner
// and whose y grows downwards.
func (f Frame) FromTop(b Box) Box {
	_, height := f.Size()
	return Box{b.X0, height - b.Y1, b.X1, height - b.Y0}
}
