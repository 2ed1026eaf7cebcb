package pdftext

import (
	"slices"
	"strings"

	"github.com/ledongthuc/pdf"
)

// Unseen counts the characters of a page that a reader does not see. Characters in hidden layers and outside the page are
// not in the lines.
type Unseen struct {
	Layers      []Box // positions of text in hidden layers, in the coordinates of the file
	Hidden      int   // in layers that are off
	Beside      int   // outside the page
	White       int   // in white on the bare page
	Tiny        int   // too small to be read
	Transparent int   // without opacity, or in the invisible mode with no picture below
}

const (
	maxPaints     = 5_000  // painted regions of a page that are tracked
	maxSuspects   = 20_000 // strings of a page that may be invisible
	maxUnseen     = 5_000  // boxes of text in hidden layers
	tinyText      = 1.0    // points up to which text is too small to be read
	tinyShare     = 400    // of the height of a page is larger than tiny text
	nearWhite     = 0.97   // of full brightness from which a colour is white
	opaque        = 0.05   // below this share, paint is not seen
	coveredShare  = 0.3    // of a string that must lie on paint to be seen
	invisibleMode = 3
	clipMode      = 7
	thickPaint    = 4 // points from which a stroke is a background
)

// paintBox is a region that a page paints in another colour than white.
type paintBox struct {
	rect
	picture bool // an image, a shading or a shape with curves, and not just a ground
}

// suspect is a shown string that may not be seen.
type suspect struct {
	why    suspicion
	at     rect
	glyphs int
	paints int // regions painted before it
}

type suspicion byte

const (
	plain suspicion = iota
	isInvisible
	isWhite
	isTiny
	isTransparent
)

// suspicionOf says why the glyphs of a string may not be seen.
func (in *interpreter) suspicionOf(l look) suspicion {
	s := &in.state
	type3 := s.font != nil && s.font.type3
	switch {
	case s.mode == invisibleMode:
		return isInvisible
	case s.mode == clipMode || type3:
		return plain
	case s.alpha < opaque:
		return isTransparent
	case l.size <= tinyText && l.size*tinyShare < in.box.height:
		return isTiny
	}
	fills, strokes := s.mode%4 != 1, s.mode%4 == 1 || s.mode%4 == 2
	if (!fills || s.white) && (!strokes || s.strokeWhite) {
		return isWhite
	}
	return plain
}

// suspectRun notes a string that may not be seen.
func (in *interpreter) suspectRun(why suspicion, at rect, glyphs int) {
	if why == plain || glyphs == 0 || len(in.suspects) >= maxSuspects {
		return
	}
	in.suspects = append(in.suspects, suspect{why, at, glyphs, len(in.paints)})
}

// painted notes that a region is painted.
func (in *interpreter) painted(r rect, picture bool) {
	if in.off > 0 {
		return
	}
	r = r.within(in.state.clip)
	if r.x1 < r.x0 || r.y1 < r.y0 {
		return
	}
	if len(in.paints) >= maxPaints {
		in.paints[maxPaints-1] = paintBox{everywhere, true} // too many regions: treat everything as painted
		return
	}
	in.paints = append(in.paints, paintBox{r, picture})
}

// judge counts the text that is not seen, when the page has been run to its end: a picture may be painted after the text
// that it makes searchable.
func (in *interpreter) judge() {
	u := &in.unseen
	for _, s := range in.suspects {
		switch {
		case s.why == isTiny:
			u.Tiny += s.glyphs
		case s.why == isTransparent:
			u.Transparent += s.glyphs
		case s.why == isInvisible && !covered(s.at, in.paints, true):
			u.Transparent += s.glyphs
		case s.why == isWhite && !covered(s.at, in.paints[:min(s.paints, len(in.paints))], false):
			u.White += s.glyphs
		}
	}
	if all := in.doc.Stats.Glyphs - in.before.Glyphs; u.Tiny*2 > all {
		u.Tiny = 0 // the page is drawn in another unit
	}
}

// covered reports whether paint is under most of a text. With pictures, only pictures count.
func covered(at rect, paints []paintBox, pictures bool) bool {
	return slices.ContainsFunc(paints, func(p paintBox) bool {
		if pictures && !p.picture {
			return false
		}
		both := at.within(p.rect)
		return both.x1 >= both.x0 && both.y1 >= both.y0 &&
			(both.x1-both.x0)*(both.y1-both.y0) >= coveredShare*(at.x1-at.x0)*(at.y1-at.y0)
	})
}

// leaveOut notes where a string of a hidden layer stands.
func (in *interpreter) leaveOut(at rect) {
	if len(in.unseen.Layers) < maxUnseen {
		at = at.through(in.box.toPage.inverse())
		in.unseen.Layers = append(in.unseen.Layers, Box{at.x0, at.y0, at.x1, at.y1})
	}
}

// colour takes an operator that sets a colour. It reports whether there is one.
func (in *interpreter) colour(op string, args []token) bool {
	s := &in.state
	switch op {
	case "g", "rg", "k":
		s.white = whiteOf(args)
	case "G", "RG", "K":
		s.strokeWhite = whiteOf(args)
	case "cs":
		s.space, s.white = in.components(str(args, 0)), false
	case "CS":
		s.strokeSpace, s.strokeWhite = in.components(str(args, 0)), false
	case "sc", "scn":
		s.white = len(args) == s.space && whiteOf(args)
	case "SC", "SCN":
		s.strokeWhite = len(args) == s.strokeSpace && whiteOf(args)
	default:
		return false
	}
	return true
}

// whiteOf reports whether the numbers of a colour of light or ink are those of white.
func whiteOf(args []token) bool {
	for _, a := range args {
		switch {
		case a.kind != tokNumber:
			return false
		case len(args) == 4 && a.num > 1-nearWhite:
			return false
		case len(args) != 4 && a.num < nearWhite:
			return false
		}
	}
	return len(args) == 1 || len(args) == 3 || len(args) == 4
}

// components is how many numbers a colour of a space has, for spaces in which it is known what white is; else -1.
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

// unitSquare is where an image is painted, before its matrix.
var unitSquare = rect{0, 0, 1, 1}
