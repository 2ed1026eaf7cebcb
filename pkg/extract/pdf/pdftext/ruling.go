package pdftext

import (
	"math"

	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

// Box is an upright rectangle on a page, in points from the visible page's lower left corner.
type Box struct{ X0, Y0, X1, Y1 float64 }

// Drawn holds a page's drawings that may separate table cells, clipped to the page's visible part.
type Drawn struct {
	Rules []Box // horizontal and vertical strokes and thin rectangles, as lines without width
	Fills []Box // filled rectangles, such as cell backgrounds
}

const (
	maxRules      = 20_000 // maximum number of rules and filled rectangles per page
	maxSegments   = 4_000  // maximum number of segments and of subpaths to examine per path
	thinRule      = 2.5    // maximum thickness of a filled rectangle that is a rule, in points
	thickStroke   = 5      // minimum thickness of a stroke that is not a rule, in points
	shortRule     = 3      // minimum length of a rule, in points
	slant         = 0.3    // maximum deviation of a rule from the vertical or horizontal, in points
	largeFill     = 0.5    // minimum fraction of the page that a background covers; smaller filled rectangles may be cells
	maxCoordinate = 1e7    // maximum distance of a coordinate from the page's corner, in points
)

// path is the PDF path under construction, in the page's coordinates.
type path struct {
	start, at [2]float64
	subs      []subpath
	segments  []Box // horizontal and vertical segments
	clips     bool  // the path becomes the clip
}

// subpath is a section of a path, with the properties that show whether it fills a rectangle.
type subpath struct {
	around  rect
	lines   int  // straight segments
	upright bool // all segments are horizontal or vertical, and there is no curve
}

// pathOperator executes the operators that build, paint or clip with paths.
func (in *interpreter) pathOperator(op string, args []pdfobject.Token) {
	p, m := &in.path, in.state.ctm
	switch op {
	case "m":
		p.move(m.point(num(args, 0), num(args, 1)))
	case "l":
		p.line(m.point(num(args, 0), num(args, 1)))
	case "c":
		p.curve(m.point(num(args, 4), num(args, 5)))
	case "v", "y":
		p.curve(m.point(num(args, 2), num(args, 3)))
	case "h":
		p.close()
	case "re":
		p.rectangle(m, rect{num(args, 0), num(args, 1), num(args, 0) + num(args, 2), num(args, 1) + num(args, 3)})
	case "W", "W*":
		p.clips = true
	case "w":
		in.state.width = num(args, 0)
	case "s", "b", "b*":
		p.close()
		in.paint(true, op != "s")
	case "S":
		in.paint(true, false)
	case "f", "F", "f*":
		in.paint(false, true)
	case "B", "B*":
		in.paint(true, true)
	case "n":
		in.paint(false, false)
	}
}

func (p *path) move(x, y float64) {
	p.start, p.at = [2]float64{x, y}, [2]float64{x, y}
	if len(p.subs) < maxSegments {
		p.subs = append(p.subs, subpath{around: rect{x, y, x, y}, upright: true})
	}
}

// reach extends the open subpath's bounds to include a point.
func (p *path) reach(x, y float64) *subpath {
	if len(p.subs) == 0 {
		p.move(x, y)
	}
	s := &p.subs[len(p.subs)-1]
	s.around = rect{min(s.around.x0, x), min(s.around.y0, y), max(s.around.x1, x), max(s.around.y1, y)}
	return s
}

func (p *path) line(x, y float64) {
	s := p.reach(x, y)
	s.lines++
	along := Box{min(p.at[0], x), min(p.at[1], y), max(p.at[0], x), max(p.at[1], y)}
	p.at = [2]float64{x, y}
	if min(along.X1-along.X0, along.Y1-along.Y0) > slant {
		s.upright = false
		return
	}
	if max(along.X1-along.X0, along.Y1-along.Y0) >= shortRule && len(p.segments) < maxSegments {
		p.segments = append(p.segments, along)
	}
}

func (p *path) curve(x, y float64) {
	p.reach(x, y).upright = false
	p.at = [2]float64{x, y}
}

func (p *path) close() {
	if len(p.subs) > 0 && p.at != p.start {
		p.line(p.start[0], p.start[1])
	}
}

func (p *path) rectangle(m matrix, r rect) {
	p.move(m.point(r.x0, r.y0))
	p.line(m.point(r.x1, r.y0))
	p.line(m.point(r.x1, r.y1))
	p.line(m.point(r.x0, r.y1))
	p.close()
}

// paint ends the path and records what it draws. If a clipping operator came before the painting operator, the path
// then becomes the clip.
func (in *interpreter) paint(stroke, fill bool) {
	p := &in.path
	defer func() {
		p.subs, p.segments, p.clips = p.subs[:0], p.segments[:0], false
	}()
	if in.off == 0 && stroke && in.state.width*in.state.ctm.scale() < thickStroke {
		for _, s := range p.segments {
			in.rule(s)
		}
	}
	if in.off == 0 && fill {
		for i, s := range p.subs {
			in.fill(s)
			in.filled(s, p.nested(i))
		}
	}
	if thick := in.state.width * in.state.ctm.scale(); stroke && thick >= thickPaint && !in.state.strokeWhite {
		for _, s := range p.subs {
			in.painted(rect{s.around.x0 - thick/2, s.around.y0 - thick/2, s.around.x1 + thick/2, s.around.y1 + thick/2}, false)
		}
	}
	if p.clips && len(p.subs) > 0 {
		around := p.subs[0].around
		for _, s := range p.subs[1:] {
			around = rect{min(around.x0, s.around.x0), min(around.y0, s.around.y0), max(around.x1, s.around.x1), max(around.y1, s.around.y1)}
		}
		in.state.clip = in.state.clip.intersect(around)
		in.state.shaped = in.state.shaped || len(p.subs) > 1 || !p.subs[0].isRectangle()
	}
}

// nested reports whether a subpath contains another one or is inside one, like the two rectangles of a frame. For paths
// with many subpaths, it always returns true, to bound the running time.
func (p *path) nested(i int) bool {
	const many = 16
	if len(p.subs) > many {
		return true
	}
	for j, o := range p.subs {
		if j != i && (o.around.intersect(p.subs[i].around) == o.around || p.subs[i].around.intersect(o.around) == p.subs[i].around) {
			return true
		}
	}
	return false
}

// isRectangle reports whether a subpath is an upright rectangle.
func (s subpath) isRectangle() bool {
	const corners = 4
	return s.upright && s.lines >= corners-1 && s.lines <= corners+1
}

// fill records a filled rectangle, or a rule if the rectangle is thin.
func (in *interpreter) fill(s subpath) {
	r := s.around
	thin := min(r.x1-r.x0, r.y1-r.y0) <= thinRule
	if thin {
		in.rule(Box{r.x0, r.y0, r.x1, r.y1})
		return
	}
	if !s.isRectangle() {
		return
	}
	b, ok := in.clipped(Box{r.x0, r.y0, r.x1, r.y1})
	if ok && len(in.drawn.Fills)+len(in.drawn.Rules) < maxRules && (b.X1-b.X0)*(b.Y1-b.Y0) < largeFill*in.box.width*in.box.height {
		in.drawn.Fills = append(in.drawn.Fills, b)
	}
}

// rule records a thin box as a ruled line along its centre.
func (in *interpreter) rule(b Box) {
	b, ok := in.clipped(b)
	if !ok || len(in.drawn.Fills)+len(in.drawn.Rules) >= maxRules {
		return
	}
	if b.X1-b.X0 >= b.Y1-b.Y0 {
		b.Y0 = (b.Y0 + b.Y1) / 2
		b.Y1 = b.Y0
	} else {
		b.X0 = (b.X0 + b.X1) / 2
		b.X1 = b.X0
	}
	if max(b.X1-b.X0, b.Y1-b.Y0) >= shortRule {
		in.drawn.Rules = append(in.drawn.Rules, b)
	}
}

// clipped returns the part of a box inside the clip and the page.
func (in *interpreter) clipped(b Box) (Box, bool) {
	const slack = 1 // distance outside the clip, in points; lines have a width, so they may still be visible
	c := in.state.clip
	if in.box.width > 0 {
		c = c.intersect(rect{0, 0, in.box.width, in.box.height})
	}
	b = Box{max(b.X0, c.x0-slack), max(b.Y0, c.y0-slack), min(b.X1, c.x1+slack), min(b.Y1, c.y1+slack)}
	return b, b.X0 <= b.X1 && b.Y0 <= b.Y1
}

// infiniteRect is a page's clip before a smaller one is set.
var infiniteRect = rect{math.Inf(-1), math.Inf(-1), math.Inf(1), math.Inf(1)}

// intersect returns the intersection of two rectangles. If they don't overlap, the result's corners are reversed.
func (r rect) intersect(o rect) rect {
	return rect{max(r.x0, o.x0), max(r.y0, o.y0), min(r.x1, o.x1), min(r.y1, o.y1)}
}

// point transforms a point on a path. It clamps coordinates to ±maxCoordinate and turns NaN into maxCoordinate.
func (m matrix) point(x, y float64) (float64, float64) {
	near := func(v float64) float64 {
		if math.IsNaN(v) {
			return maxCoordinate
		}
		return min(max(v, -maxCoordinate), maxCoordinate)
	}
	x, y = m.apply(x, y)
	return near(x), near(y)
}

// scale returns the factor by which a matrix scales line widths.
func (m matrix) scale() float64 { return math.Sqrt(math.Abs(m[0]*m[3] - m[1]*m[2])) }
