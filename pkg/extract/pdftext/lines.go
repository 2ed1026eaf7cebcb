package pdftext

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/bidi"
)

// Line is a run of text on one baseline.
type Line struct {
	Cells []Cell  // parted by wide gaps; at least one
	Size  float64 // of most of its glyphs, in points
	Bold  bool    // most of its glyphs
	Y     float64 // distance of the baseline along the page's upward direction, in points
	Turn  int     // direction of writing: quarter turns from left-to-right
}

// Cell is a part of a line.
type Cell struct {
	Text   string
	X0, X1 float64 // along the line, in points
}

// Text joins the cells with single tabs.
func (l Line) Text() string {
	parts := make([]string, len(l.Cells))
	for i, c := range l.Cells {
		parts[i] = c.Text
	}
	return strings.Join(parts, "\t")
}

// Gaps between glyphs, in parts of the font size.
const (
	wordGap = 0.18
	cellGap = 1.6
	backGap = 0.6 // a pen this far back starts a new line
)

// lineBuilder makes lines of glyphs in the order in which they are shown, which is the reading order of nearly all
// writers: columns and tables come out right without guessing.
type lineBuilder struct {
	lines []Line

	open        bool
	dx, dy      float64 // direction of writing
	base        float64 // the line's distance from the origin, across
	end         float64 // where the pen stands, along
	text        strings.Builder
	cells       []Cell
	cellStart   float64
	sizes       map[float64]int
	common      float64
	bold, total int
	last        [4]shown // for text that is shown several times to look bold
	lastAt      int
}

// shown is a glyph that has just been shown.
type shown struct {
	text string
	x, y float64
}

// glyph adds one glyph, shown from one point to another.
func (b *lineBuilder) glyph(text string, size, dx, dy float64, from, to [2]float64, bold bool) {
	if text == "" {
		text = "\uFFFD"
	}
	for _, s := range b.last {
		if s.text == text && text != " " && math.Abs(s.x-from[0]) < 0.15*size && math.Abs(s.y-from[1]) < 0.15*size {
			return // the same again, a little beside: fake bold
		}
	}
	b.last[b.lastAt%len(b.last)] = shown{text, from[0], from[1]}
	b.lastAt++

	along, across := from[0]*dx+from[1]*dy, -from[0]*dy+from[1]*dx
	if b.open {
		gap := along - b.end
		limit := 0.45 * max(size, b.size())
		if dx*b.dx+dy*b.dy < 0.98 || math.Abs(across-b.base) > limit || gap < -backGap*max(size, b.size()) {
			b.breakLine()
		} else if gap > cellGap*size {
			b.endCell()
			b.cellStart = along
		} else if gap > wordGap*size {
			b.space()
		}
	}
	if !b.open {
		b.open = true
		b.dx, b.dy, b.base = dx, dy, across
		b.cellStart = along
		b.sizes = map[float64]int{}
		b.bold, b.total, b.common = 0, 0, 0
	}
	b.text.WriteString(text)
	if strings.TrimSpace(text) != "" {
		b.tally(size, bold)
	}
	b.end = to[0]*dx + to[1]*dy
}

// extend moves the pen over glyphs whose text was given otherwise.
func (b *lineBuilder) extend(x, y float64) {
	if b.open {
		b.end = x*b.dx + y*b.dy
	}
}

func (b *lineBuilder) space() {
	if s := b.text.String(); s != "" && !strings.HasSuffix(s, " ") {
		b.text.WriteByte(' ')
	}
}

// size is the size of most glyphs of the open line so far.
func (b *lineBuilder) size() float64 { return b.common }

// tally counts a glyph of the open line.
func (b *lineBuilder) tally(size float64, bold bool) {
	size = math.Round(size*2) / 2
	b.sizes[size]++
	if n := b.sizes[size]; n > b.sizes[b.common] || n == b.sizes[b.common] && size > b.common {
		b.common = size
	}
	b.total++
	if bold {
		b.bold++
	}
}

func (b *lineBuilder) endCell() {
	text := strings.Join(strings.FieldsFunc(b.text.String(), unicode.IsSpace), " ")
	b.text.Reset()
	if text != "" {
		b.cells = append(b.cells, Cell{Text: visualToLogical(text), X0: b.cellStart, X1: b.end})
	}
}

func (b *lineBuilder) breakLine() {
	if !b.open {
		return
	}
	b.endCell()
	b.open = false
	if len(b.cells) == 0 {
		return
	}
	turn := int(math.Round(math.Atan2(b.dy, b.dx)/(math.Pi/2))+4) % 4
	b.lines = append(b.lines, Line{Cells: b.cells, Size: b.size(), Bold: b.bold*2 > b.total, Y: b.base, Turn: turn})
	b.cells = nil
}

func (b *lineBuilder) finish() []Line {
	b.breakLine()
	return b.lines
}

// visualToLogical turns right-to-left text, which PDF files show from left to right, into the order of reading.
func visualToLogical(s string) string {
	rtl, ltr := 0, 0
	for _, r := range s {
		p, _ := bidi.LookupRune(r)
		switch p.Class() {
		case bidi.R, bidi.AL:
			rtl++
		case bidi.L:
			ltr++
		}
	}
	if rtl == 0 || rtl < ltr {
		return s
	}
	runes := []rune(s)
	for i, j := 0, len(runes)-1; i < j; i, j = i+1, j-1 {
		runes[i], runes[j] = runes[j], runes[i]
	}
	// Numbers and Latin words inside were the right way round.
	for i := 0; i < len(runes); {
		if !leftToRight(runes[i]) {
			if m := mirrored[runes[i]]; m != 0 {
				runes[i] = m
			}
			i++
			continue
		}
		j := i
		for j < len(runes) && (leftToRight(runes[j]) || j+1 < len(runes) && strings.ContainsRune(".,:/-%", runes[j]) && leftToRight(runes[j+1])) {
			j++
		}
		for a, z := i, j-1; a < z; a, z = a+1, z-1 {
			runes[a], runes[z] = runes[z], runes[a]
		}
		i = j
	}
	return string(runes)
}

var mirrored = map[rune]rune{'(': ')', ')': '(', '[': ']', ']': '[', '{': '}', '}': '{', '<': '>', '>': '<', '«': '»', '»': '«'}

func leftToRight(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	p, _ := bidi.LookupRune(r)
	return p.Class() == bidi.L || p.Class() == bidi.EN || p.Class() == bidi.AN
}
