package pdftext

import "github.com/ledongthuc/pdf"

// pageBox is a page's visible part and its rotation.
type pageBox struct {
	toPage        matrix  // from the file's coordinates to the visible page's, whose origin is its lower left corner
	width, height float64 // in points; 0 if unknown
}

// box returns a page's visible part (its crop box within its media box), turned upright.
func (d *Document) box(p pageRef) pageBox {
	seen := p.above.forChildren(p.value())
	media, ok := rectOf(seen.mediaBox)
	if !ok {
		return pageBox{toPage: identity}
	}
	if crop, ok := rectOf(seen.cropBox); ok {
		both := rect{max(media.x0, crop.x0), max(media.y0, crop.y0), min(media.x1, crop.x1), min(media.y1, crop.y1)}
		if both.x1-both.x0 >= 1 && both.y1-both.y0 >= 1 {
			media = both
		}
	}
	return boxOf(media, seen.rotate.Int64())
}

// boxOf returns a pageBox. `media` is the page's visible part, and `rotate` is its clockwise rotation in degrees.
func boxOf(media rect, rotate int64) pageBox {
	b := pageBox{width: media.x1 - media.x0, height: media.y1 - media.y0}
	switch turn := (rotate%360 + 360) % 360; turn {
	case 90:
		b.toPage = matrix{0, -1, 1, 0, -media.y0, media.x1}
		b.width, b.height = b.height, b.width
	case 180:
		b.toPage = matrix{-1, 0, 0, -1, media.x1, media.y1}
	case 270:
		b.toPage = matrix{0, 1, -1, 0, media.y1, -media.x0}
		b.width, b.height = b.height, b.width
	default:
		b.toPage = matrix{1, 0, 0, 1, -media.x0, -media.y0}
	}
	return b
}

// outside reports whether a glyph of the given font size between `from` and `to` is outside the page's visible part.
func (b pageBox) outside(from, to [2]float64, size float64) bool {
	if b.width == 0 {
		return false
	}
	x0, x1 := min(from[0], to[0]), max(from[0], to[0])
	y0, y1 := min(from[1], to[1]), max(from[1], to[1])
	return x1 < 0 || x0 > b.width || y1+size < 0 || y0-0.2*size > b.height
}

// rect is an upright rectangle.
type rect struct{ x0, y0, x1, y1 float64 }

// rectOf reads a rectangle from two opposite corners. `ok` is false if its area is zero.
func rectOf(v pdf.Value) (r rect, ok bool) {
	if v.Len() != 4 {
		return rect{}, false
	}
	var n [4]float64
	for i := range n {
		n[i] = v.Index(i).Float64()
	}
	r = rect{min(n[0], n[2]), min(n[1], n[3]), max(n[0], n[2]), max(n[1], n[3])}
	return r, r.x1 > r.x0 && r.y1 > r.y0 && matrix{n[0], n[1], n[2], n[3]}.finite()
}

// transform returns r's bounding box after transforming r by a matrix.
func (r rect) transform(m matrix) rect {
	out := rect{}
	for i, p := range [4][2]float64{{r.x0, r.y0}, {r.x1, r.y0}, {r.x0, r.y1}, {r.x1, r.y1}} {
		x, y := m.apply(p[0], p[1])
		if i == 0 {
			out = rect{x, y, x, y}
		}
		out = rect{min(out.x0, x), min(out.y0, y), max(out.x1, x), max(out.y1, y)}
	}
	return out
}

func (m matrix) apply(x, y float64) (float64, float64) {
	return m[0]*x + m[2]*y + m[4], m[1]*x + m[3]*y + m[5]
}
