package pdftext

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/extract/pdf/pdffont"
)

// Heights above the baseline that fit most fonts, as multiples of the font size.
const (
	MiddleHeight  = 0.3 // vertical middle of a line
	CapitalHeight = 0.72
)

// Line is a run of text on one baseline.
type Line struct {
	Cells []Cell  // separated by wide gaps; at least one
	Size  float64 // most glyphs' font size in points
	Bold  bool    // most glyphs are bold
	Y     float64 // the baseline's height, perpendicular to the writing direction, in points
	Turn  int     // writing direction in quarter turns; 0 is left to right
	// Artifact is set if the file marks the line as an artifact, such as a running title or page number.
	Artifact bool
	// Filled is set if the line contains form field values. This package never sets it.
	Filled bool

	dx, dy   float32 // writing direction, of length 1; both are 0 if it is Turn's direction
	vertical bool    // glyphs are centred on the baseline, as in vertical writing
}

// Text joins the cells with single tabs.
func (l Line) Text() string {
	parts := make([]string, len(l.Cells))
	for i, c := range l.Cells {
		parts[i] = c.Text
	}
	return strings.Join(parts, "\t")
}

// Pen movements that separate lines, as multiples of the font size.
const (
	backGap    = 0.6  // a pen that moves back this far starts another line
	bracketGap = 0.5  // a blank this close to the left of a number stays on the line, because a bracket may follow
	shiftLine  = 0.45 // a baseline this far away is another line; a closer one is a superscript or subscript
)

// lineBuilder builds lines from glyphs in file order. Nearly all programs write files in reading order, including
// columns and tables, so lineBuilder does not have to recognise these. Right-to-left text, which may be written in
// either direction, becomes one line as long as it stays on its baseline.
type lineBuilder struct {
	lines []Line

	open     bool
	vertical bool    // the next glyphs are written vertically
	upright  bool    // the line's glyphs are written vertically
	dx, dy   float64 // writing direction
	base     float64 // baseline of the line's first glyph, measured like Line.Y
	end      float64 // the pen's position along the line
	left     float64 // leftmost position of the line's glyphs along the line
	pieces   []piece
	cells    cellMaker
	sizes    []sizeCount
	common   float64 // size of most glyphs so far
	most     int     // number of glyphs of that size
	bold     int     // number of visible bold glyphs
	visible  int
	rtl, ltr int // number of glyphs in each direction

	artifact bool // the next glyphs belong to artifacts

	last      [4]recentGlyph // last glyphs, to detect text repeated to look bold
	lastAt    int
	positions map[string][]linePosition // positions of the lines so far, by text, to detect repeated lines
}

// maxSizes is the maximum number of distinct glyph sizes on a line. Real lines have only a few.
const maxSizes = 32

// sizeCount counts a line's visible glyphs of one size.
type sizeCount struct {
	size   float64
	glyphs int
}

// piece is a glyph on the open line.
type piece struct {
	text   string
	x0, x1 float64 // position along the line
	base   float64 // baseline, measured like Line.Y
	size   float64
	blank  bool // white space
	bold   bool
}

type recentGlyph struct {
	text     string
	from, to [2]float64
}

// linePosition is a line's start and direction.
type linePosition struct {
	x, y float64
	turn int
}

// glyph adds a glyph that extends from point `from` to point `to`.
func (b *lineBuilder) glyph(text string, size, dx, dy float64, from, to [2]float64, bold bool) {
	text = cmp.Or(text, "\uFFFD")
	for _, s := range b.last {
		if s.text == text && text != " " && isNear(s.from, from, 0.15*size) && (s.from == s.to || !isNear(s.to, from, 0.01*size)) {
			return // the same glyph again, slightly shifted to look bold
		}
	}
	b.last[b.lastAt%len(b.last)] = recentGlyph{text, from, to}
	b.lastAt++

	p := piece{text: text, size: size, blank: strings.TrimSpace(text) == "", bold: bold}
	p.x0, p.base = from[0]*dx+from[1]*dy, -from[0]*dy+from[1]*dx
	p.x1 = to[0]*dx + to[1]*dy
	way := directionOf(text)
	if b.open && (dx*b.dx+dy*b.dy < 0.98 || b.isOutsideLine(p, way)) {
		b.breakLine()
	}
	if !b.open {
		b.open = true
		b.dx, b.dy, b.base, b.left, b.upright = dx, dy, p.base, p.x0, b.vertical
		b.sizes = b.sizes[:0]
		b.bold, b.visible, b.common, b.most, b.rtl, b.ltr = 0, 0, 0, 0, 0, 0
	}
	b.pieces = append(b.pieces, p)
	b.end, b.left = p.x1, min(b.left, p.x0)
	if !p.blank {
		b.tally(p, way)
	}
}

func isNear(a, b [2]float64, d float64) bool {
	return math.Abs(a[0]-b[0]) <= d && math.Abs(a[1]-b[1]) <= d
}

// isOutsideLine reports whether a glyph starts another line.
func (b *lineBuilder) isOutsideLine(p piece, way direction) bool {
	size := max(p.size, b.common)
	if math.Abs(p.base-b.base) > shiftLine*size && !b.isSuperOrSubscript(p) {
		return true
	}
	if p.x0-b.end >= -backGap*size {
		return false
	}
	// The pen has moved to the left. Only right-to-left text can continue on the same line.
	leftOf := p.x1 <= b.left+0.3*size
	switch {
	case way == rightToLeft && b.rtl >= b.ltr, way == neutral && b.rtl > b.ltr:
		return !leftOf
	case way == neutral && b.rtl+b.ltr == 0 && !isLeftToRight(p.text):
		// Stay on the line for a bracket to the left of a number.
		return !leftOf || p.x1 < b.left-wordGap*size && (!p.blank || p.x1 < b.left-bracketGap*size)
	}
	return true
}

// isSuperOrSubscript reports whether a small glyph above or below the open line is a superscript or subscript. The
// glyph must directly follow the line's last glyph.
func (b *lineBuilder) isSuperOrSubscript(p piece) bool {
	// Multiples of the line's font size, except `fewest`, a number of glyphs.
	const small, smallest, maxRaisedGap, fewest = 0.8, 0.4, 0.3, 2
	return b.most >= fewest && p.size <= small*b.common && p.size >= smallest*b.common &&
		math.Abs(p.base-b.base) < maxRise*b.common && math.Abs(p.x0-b.end) < maxRaisedGap*b.common
}

// setArtifact sets whether the glyphs that follow belong to artifacts such as running titles.
func (b *lineBuilder) setArtifact(is bool) {
	b.breakLine()
	b.artifact = is
}

// extend moves the pen past glyphs whose text has been replaced.
func (b *lineBuilder) extend(x, y float64) {
	if n := len(b.pieces); b.open && n > 0 {
		b.end = x*b.dx + y*b.dy
		b.pieces[n-1].x1 = b.end
	}
}

// tally counts a visible glyph on the open line.
func (b *lineBuilder) tally(p piece, way direction) {
	b.tallySize(math.Round(p.size*2) / 2)
	b.visible++
	if p.bold {
		b.bold++
	}
	switch way {
	case rightToLeft:
		b.rtl++
	case leftToRight:
		b.ltr++
	}
}

func (b *lineBuilder) tallySize(size float64) {
	at := slices.IndexFunc(b.sizes, func(s sizeCount) bool { return s.size == size })
	if at < 0 {
		if len(b.sizes) == maxSizes {
			return
		}
		at = len(b.sizes)
		b.sizes = append(b.sizes, sizeCount{size: size})
	}
	b.sizes[at].glyphs++
	if n := b.sizes[at].glyphs; n > b.most || n == b.most && size > b.common {
		b.common, b.most = size, n
	}
}

func (b *lineBuilder) breakLine() {
	if !b.open {
		return
	}
	b.open = false
	pieces := b.pieces
	b.pieces = b.pieces[:0]
	if b.visible == 0 {
		return
	}
	line := Line{Artifact: b.artifact, Size: b.common, Bold: b.bold*2 > b.visible, Y: b.base, dx: float32(b.dx), dy: float32(b.dy), vertical: b.upright}
	line.Turn = int(math.Round(math.Atan2(b.dy, b.dx)/(math.Pi/2))+4) % 4
	for _, p := range pieces { // the first glyph may be a superscript
		if !p.blank && math.Abs(p.size-b.common) <= 0.25 {
			line.Y = p.base
			break
		}
	}
	b.cells.base, b.cells.size = line.Y, b.common
	line.Cells = b.cells.cellsOf(pieces, b.rtl > b.ltr)
	if len(line.Cells) > 0 && !b.isRepeated(line) {
		b.lines = append(b.lines, line)
	}
}

// isRepeated reports whether the same line was already shown at the same position. Some programs paint text several
// times to create shadows and outlines.
func (b *lineBuilder) isRepeated(l Line) bool {
	if b.positions == nil {
		b.positions = map[string][]linePosition{}
	}
	const most = 16 // maximum number of positions to store per text
	text, at := l.Text(), linePosition{l.Cells[0].X0, l.Y, l.Turn}
	for _, p := range b.positions[text] {
		if p.turn == at.turn && math.Abs(p.x-at.x) < 0.3*l.Size && math.Abs(p.y-at.y) < 0.3*l.Size {
			return true
		}
	}
	if len(b.positions[text]) < most {
		b.positions[text] = append(b.positions[text], at)
	}
	return false
}

func (b *lineBuilder) finish() []Line {
	b.breakLine()
	return b.lines
}

// Builder builds lines from positioned glyphs that another reader provides. The zero value is ready to use.
type Builder struct{ b lineBuilder }

// Glyph adds a glyph between two points, in points from the page's lower left corner. dx and dy are the writing
// direction as a unit vector. `text` is "" if the character is unknown.
func (b *Builder) Glyph(text string, size, dx, dy float64, from, to [2]float64, bold bool) {
	if shown := pdffont.Readable(text); shown != "" || text == "" { // otherwise the character is invisible
		b.b.glyph(shown, size, dx, dy, from, to, bold)
	}
}

// Blank adds a zero-width space after the last glyph.
func (b *Builder) Blank() {
	if n := len(b.b.pieces); b.b.open && n > 0 && !b.b.pieces[n-1].blank {
		last := b.b.pieces[n-1]
		b.b.pieces = append(b.b.pieces, piece{text: " ", x0: last.x1, x1: last.x1, base: last.base, size: last.size, blank: true})
	}
}

// Lines ends the page and returns its lines.
func (b *Builder) Lines() []Line { return b.b.finish() }
