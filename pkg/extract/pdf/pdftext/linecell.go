package pdftext

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// Cell is a section of a line.
type Cell struct {
	Text   string
	X0, X1 float64 // position along the line, in points

	spots []spot
}

// Middle returns a cell's centre along its line.
func (c Cell) Middle() float64 { return (c.X0 + c.X1) / 2 }

// spot is a glyph's position, both in the cell's text and along the line.
type spot struct {
	at     int32 // byte offset in the text
	x0, x1 float32
	bold   bool
	elevation
}

// elevation is a glyph's height and size relative to the rest of its line. Its two bytes fit into spot's padding.
type elevation struct {
	rise  int8 // distance above the line's baseline, in 1/elevationSteps of its font size
	scale int8 // the glyph's size minus the line's, in 1/elevationSteps of the line's font size
}

const elevationSteps = 32

// elevationOf returns a glyph's elevation on a line with the given baseline and font size.
func elevationOf(p piece, base, size float64) elevation {
	if p.base == base && p.size == size || size <= 0 {
		return elevation{}
	}
	step := func(v float64) int8 {
		return int8(math.Round(min(max(v/size*elevationSteps, math.MinInt8), math.MaxInt8)))
	}
	return elevation{step(p.base - base), step(p.size - size)}
}

func (s spot) middle() float64 { return (float64(s.x0) + float64(s.x1)) / 2 }

// Bold reports whether most glyphs in the cell are bold.
func (c Cell) Bold() bool {
	n := 0
	for _, s := range c.spots {
		if s.bold {
			n++
		}
	}
	return n*2 > len(c.spots)
}

// Between returns the text of the glyphs whose midpoint is between two positions along the line, with surrounding white
// space trimmed. If the cell has no glyph positions because another package created it, Between returns its whole text
// if most of the cell is in that range, and "" otherwise.
func (c Cell) Between(x0, x1 float64) string {
	if c.spots == nil {
		from, to := min(c.X0, c.X1), max(c.X0, c.X1)
		if min(to, x1)-max(from, x0) > (to-from)/2 {
			return c.Text
		}
		return ""
	}
	from, to := len(c.Text), 0
	for i, m := range c.spots {
		if x := m.middle(); x < x0 || x > x1 {
			continue
		}
		end := len(c.Text)
		if i+1 < len(c.spots) {
			end = int(c.spots[i+1].at)
		}
		from, to = min(from, int(m.at)), max(to, end)
	}
	if from >= to {
		return ""
	}
	return strings.TrimSpace(c.Text[from:to])
}

// unit is a glyph to add to a cell's text.
type unit struct {
	text   string
	x0, x1 float64 // position along the line
	bold   bool
	elevation
}

// joinUnits joins a cell's glyphs, given in visual order from left to right, into text in reading order. It collapses
// white space and also returns each glyph's position in the text and on the line.
func joinUnits(units []unit, rtl bool) (string, []spot) {
	if rtl {
		units = logicalOrder(slices.Clone(units))
	} else {
		turnWords(units)
	}
	var b strings.Builder
	b.Grow(len(units) + len(units)/8) // most glyphs are one byte
	spots := make([]spot, 0, len(units))
	space := false
	for _, u := range units {
		marked := false
		for _, r := range u.text {
			if r == '\u2060' {
				continue // word joiner, without width
			}
			if unicode.IsSpace(r) {
				space = b.Len() > 0
				continue
			}
			if space {
				b.WriteByte(' ')
				space = false
			}
			if !marked {
				spots = append(spots, spot{int32(b.Len()), float32(u.x0), float32(u.x1), u.bold, u.elevation})
				marked = true
			}
			b.WriteRune(r)
		}
	}
	return b.String(), spots
}
