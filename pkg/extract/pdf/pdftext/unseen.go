package pdftext

import (
	"math"
	"slices"
	"strings"

	"github.com/ledongthuc/pdf"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfobject"
)

// Unseen counts a page's invisible characters by cause. The page's lines omit characters in hidden layers and outside
// the page, but contain all other invisible characters.
type Unseen struct {
	Layers      []Box // positions of text in hidden layers, in the file's coordinates
	Hidden      int   // in hidden layers
	Outside     int   // outside the page
	White       int   // in white on unpainted paper
	Tiny        int   // too small to be read
	Transparent int   // fully transparent, or in invisible mode without a picture below
	Ground      int   // in the background colour
	Covered     int   // under a region painted later
	Clipped     int   // outside the clipping region
}

const (
	maxPaints     = 5_000  // maximum number of painted regions to track per page
	maxSuspects   = 50_000 // maximum number of strings to track per page
	maxCovers     = 200    // maximum number of regions per page that may cover text
	maxUnseen     = 5_000  // maximum number of text boxes in hidden layers
	tinyText      = 1.0    // maximum size of text too small to read, in points
	tinyShare     = 400    // minimum ratio of the page height to the size of tiny text
	nearWhite     = 0.97   // minimum brightness of white, from 0 to 1
	opaque        = 0.05   // opacity below which paint is invisible, from 0 to 1
	coveredShare  = 0.3    // minimum fraction of a string that must be on paint for the string to be visible
	insideShare   = 0.9    // minimum fraction of a covered string that is inside the region
	invisibleMode = 3
	clipMode      = 7
	thickPaint    = 4 // minimum thickness of a stroke that is a background, in points
)

// paintBox is a painted region on a page.
type paintBox struct {
	rect
	picture bool // an image, a shading, a frame or a shape with curves, not just a background
	fill    colour
	white   bool
}

// suspect is a shown string that may be invisible.
type suspect struct {
	why    suspicion
	at     rect
	glyphs int
	paints int // regions painted before the string
	fill   colour
}

// colour is a colour with red, green and blue components, each rounded to a multiple of 1/64.
type colour struct {
	red, green, blue uint8
	known            bool
}

var black = colour{known: true}

// colourOf returns the colour that an operator sets. A pattern's colour is unknown.
func colourOf(args []pdfobject.Token) colour {
	const steps = 64
	const most = 4
	if len(args) > most {
		return colour{}
	}
	n := make([]float64, 0, most)
	for _, a := range args {
		if a.Kind != pdfobject.Number {
			return colour{}
		}
		n = append(n, min(max(a.Num, 0), 1))
	}
	step := func(v float64) uint8 { return uint8(math.Round(v * steps)) }
	switch len(args) {
	case 1:
		return colour{step(n[0]), step(n[0]), step(n[0]), true}
	case 3:
		return colour{step(n[0]), step(n[1]), step(n[2]), true}
	case 4:
		light := 1 - n[3]
		return colour{step((1 - n[0]) * light), step((1 - n[1]) * light), step((1 - n[2]) * light), true}
	}
	return colour{}
}

// cover is an opaque rectangle that may hide strings shown before it.
type cover struct {
	rect
	suspects int // strings shown before the cover
}

type suspicion byte

const (
	noSuspicion suspicion = iota
	isInvisible
	isWhite
	isTiny
	isTransparent
	isClipped
)

// suspicionOf returns why a string's glyphs may be invisible.
func (in *interpreter) suspicionOf(l textStyle) suspicion {
	s := &in.state
	type3 := s.font != nil && s.font.Type3
	switch {
	case s.mode == invisibleMode:
		return isInvisible
	case s.mode == clipMode || type3:
		return noSuspicion
	case s.alpha < opaque:
		return isTransparent
	case l.size <= tinyText && l.size*tinyShare < in.box.height:
		return isTiny
	}
	fills, strokes := s.mode%4 != 1, s.mode%4 == 1 || s.mode%4 == 2
	if (!fills || s.white) && (!strokes || s.strokeWhite) {
		return isWhite
	}
	return noSuspicion
}

// suspectRun records a string for countInvisible.
func (in *interpreter) suspectRun(why suspicion, at rect, glyphs int) {
	if glyphs == 0 || len(in.suspects) >= maxSuspects {
		return
	}
	const slack = 1 // tolerance, in points
	if c := in.state.clip; why == noSuspicion && (at.x1 < c.x0-slack || at.x0 > c.x1+slack || at.y1 < c.y0-slack || at.y0 > c.y1+slack) {
		why = isClipped
	}
	s := suspect{why: why, at: at, glyphs: glyphs, paints: len(in.paints)}
	if in.state.mode%4 == 0 && in.grounds[in.state.fill] {
		s.fill = in.state.fill // otherwise no region can have this colour
	}
	in.suspects = append(in.suspects, s)
}

// painted records that a region is painted in a colour other than white.
func (in *interpreter) painted(r rect, picture bool) {
	in.paintedBox(paintBox{rect: r, picture: picture})
}

// picture records that an image is painted and what fraction of the page it covers.
func (in *interpreter) picture(r rect) {
	in.painted(r, true)
	width, height := Frame{in.box}.Size()
	r = r.intersect(in.state.clip).intersect(rect{0, 0, width, height})
	if in.off == 0 && r.x1 > r.x0 && r.y1 > r.y0 {
		in.pictured += (r.x1 - r.x0) * (r.y1 - r.y0) / (width * height)
	}
}

// filled records a filled subpath. A subpath nested in another one may be hollow, so it is neither a background nor a
// cover.
func (in *interpreter) filled(s subpath, nested bool) {
	g := &in.state
	if in.off > 0 || g.alpha < opaque {
		return
	}
	if !s.upright {
		in.shapes++
	}
	in.paintedBox(paintBox{rect: s.around, picture: !s.upright || nested, fill: g.fill, white: g.white})
	r := s.around.intersect(g.clip)
	if in.covering && !nested && g.alpha > 1-opaque && !g.blend && !g.shaped && g.fill.known && s.isRectangle() && len(in.suspects) > 0 &&
		len(in.covers) < maxCovers && min(r.x1-r.x0, r.y1-r.y0) >= thickPaint {
		in.covers = append(in.covers, cover{r, len(in.suspects)})
	}
}

func (in *interpreter) paintedBox(p paintBox) {
	if in.off > 0 {
		return
	}
	p.rect = p.intersect(in.state.clip)
	if p.x1 < p.x0 || p.y1 < p.y0 {
		return
	}
	if len(in.paints) >= maxPaints {
		in.paints[maxPaints-1] = paintBox{rect: infiniteRect, picture: true} // too many: treat everything as painted
		return
	}
	if in.paints = append(in.paints, p); p.fill.known && !p.white {
		if in.grounds == nil {
			in.grounds = map[colour]bool{}
		}
		in.grounds[p.fill] = true
	}
}

// countInvisible counts the invisible text. Call it after reading the whole page, because a scanned page may paint its
// picture after the invisible text that makes the page searchable.
func (in *interpreter) countInvisible() {
	u := &in.unseen
	for i, s := range in.suspects {
		paints := in.paints[:min(s.paints, len(in.paints))]
		switch {
		case s.why == isTiny:
			u.Tiny += s.glyphs
		case s.why == isTransparent:
			u.Transparent += s.glyphs
		case s.why == isInvisible && !covered(s.at, in.paints, true):
			u.Transparent += s.glyphs
		case s.why == isInvisible:
			in.layered += s.glyphs
		case s.why == isWhite && !covered(s.at, paints, false):
			u.White += s.glyphs
		case s.why == isClipped:
			u.Clipped += s.glyphs
		case s.why == noSuspicion && s.fill.known && matchesBackground(s, paints):
			u.Ground += s.glyphs
		case s.why == noSuspicion && slices.ContainsFunc(in.covers, func(c cover) bool { return c.suspects > i && shareIn(s.at, c.rect) > insideShare }):
			u.Covered += s.glyphs
		}
	}
	if all := in.doc.Stats.Glyphs - in.before.Glyphs; u.Tiny*2 > all {
		u.Tiny = 0 // the page uses a different unit
	}
}

// shareIn returns the fraction of a text's area `at` that is inside a region.
func shareIn(at, region rect) float64 {
	both := at.intersect(region)
	if both.x1 < both.x0 || both.y1 < both.y0 {
		return 0
	}
	return (both.x1 - both.x0) * (both.y1 - both.y0) / max((at.x1-at.x0)*(at.y1-at.y0), 1e-9)
}

// covered reports whether at least coveredShare of a text's area `at` is on a region painted in a colour other than
// white. If `pictures` is true, only pictures count.
func covered(at rect, paints []paintBox, pictures bool) bool {
	return slices.ContainsFunc(paints, func(p paintBox) bool {
		return !p.white && (p.picture || !pictures) && shareIn(at, p.rect) >= coveredShare
	})
}

// matchesBackground reports whether a string has the same colour as the last region painted under it.
func matchesBackground(s suspect, paints []paintBox) bool {
	for _, p := range slices.Backward(paints) {
		if share := shareIn(s.at, p.rect); share > insideShare {
			return !p.picture && p.fill == s.fill
		} else if share > 0 {
			return false
		}
	}
	return false
}

// recordHidden records the position of a string in a hidden layer.
func (in *interpreter) recordHidden(at rect) {
	if len(in.unseen.Layers) < maxUnseen {
		at = at.transform(in.box.toPage.inverse())
		in.unseen.Layers = append(in.unseen.Layers, Box{at.x0, at.y0, at.x1, at.y1})
	}
}

// colour executes an operator that sets a colour. For other operators, it returns false.
func (in *interpreter) colour(op string, args []pdfobject.Token) bool {
	s := &in.state
	switch op {
	case "g", "rg", "k":
		s.white, s.fill = whiteOf(args), colourOf(args)
	case "G", "RG", "K":
		s.strokeWhite = whiteOf(args)
	case "cs":
		s.space, s.white, s.fill = in.components(str(args, 0)), false, colour{}
	case "CS":
		s.strokeSpace, s.strokeWhite = in.components(str(args, 0)), false
	case "sc", "scn":
		if s.white, s.fill = false, (colour{}); len(args) == s.space {
			s.white, s.fill = whiteOf(args), colourOf(args)
		}
	case "SC", "SCN":
		s.strokeWhite = len(args) == s.strokeSpace && whiteOf(args)
	default:
		return false
	}
	return true
}

// whiteOf reports whether the given components of an additive or subtractive colour yield white.
func whiteOf(args []pdfobject.Token) bool {
	for _, a := range args {
		switch {
		case a.Kind != pdfobject.Number:
			return false
		case len(args) == 4 && a.Num > 1-nearWhite:
			return false
		case len(args) != 4 && a.Num < nearWhite:
			return false
		}
	}
	return len(args) == 1 || len(args) == 3 || len(args) == 4
}

// components returns the number of components in a colour space, or -1 if it does not define white.
func (in *interpreter) components(name string) int {
	switch name {
	case "DeviceGray", "G", "CalGray":
		return 1
	case "DeviceRGB", "RGB", "CalRGB":
		return 3
	case "DeviceCMYK", "CMYK":
		return 4
	}
	v := in.res.get("ColorSpace", name)
	switch v.Kind() {
	case pdf.Name:
		if strings.HasPrefix(v.Name(), "Device") && v.Name() != name {
			return in.components(v.Name())
		}
	case pdf.Array:
		switch v.Index(0).Name() {
		case "ICCBased":
			return int(v.Index(1).Key("N").Int64())
		case "CalGray":
			return 1
		case "CalRGB":
			return 3
		}
	}
	return -1
}

// unitSquare is an image's area before the current transformation.
var unitSquare = rect{0, 0, 1, 1}
