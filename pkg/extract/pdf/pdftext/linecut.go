package pdftext

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// word is a stretch of a cell's text that column borders never split: adjacent letters, or one letter in a script
// without spaces.
type word struct {
	from, to int    // byte range in the text
	spots    []spot // its glyphs' positions
	x0, x1   float64
}

func (w word) middle() float64 { return (w.x0 + w.x1) / 2 }

// maxGlyphGap is the maximum gap between glyphs in a word, as a multiple of the cell's usual glyph width. It is small
// because words in neighbouring table cells can be closer together than words in running text.
const maxGlyphGap = 0.15

// words splits a cell's text into words. A cell not created by this package is one word.
func (c Cell) words() []word {
	if len(c.spots) == 0 {
		return []word{{to: len(c.Text), x0: min(c.X0, c.X1), x1: max(c.X0, c.X1)}}
	}
	glyph := float32(math.Abs(c.X1-c.X0)) / float32(len(c.spots))
	var words []word
	last := utf8.RuneError
	for i, s := range c.spots {
		end := len(c.Text)
		if i+1 < len(c.spots) {
			end = int(c.spots[i+1].at)
		}
		at, x0, x1 := int(s.at), float64(min(s.x0, s.x1)), float64(max(s.x0, s.x1))
		r, _ := utf8.DecodeRuneInString(c.Text[at:])
		apart := i == 0 || c.Text[at-1] == ' ' || isUnspacedScript(r) || isUnspacedScript(last)
		if i > 0 && max(s.x0-c.spots[i-1].x1, c.spots[i-1].x0-s.x1) > maxGlyphGap*glyph {
			apart = true
		}
		if apart {
			words = append(words, word{at, end, c.spots[i : i+1], x0, x1})
		} else {
			w := &words[len(words)-1]
			w.to, w.x0, w.x1 = end, min(w.x0, x0), max(w.x1, x1)
			w.spots = c.spots[i-len(w.spots) : i+1]
		}
		last = r
	}
	return words
}

// Pitch returns the common width of all the cell's characters, as in monospaced fonts, or 0 if widths differ.
func (c Cell) Pitch() float64 {
	const fewest, equal = 4, 0.03 // minimum number of letters; maximum difference as a fraction of the width
	letters, pitch := 0, 0.0
	for i, s := range c.spots {
		end := len(c.Text)
		if i+1 < len(c.spots) {
			end = int(c.spots[i+1].at)
		}
		n := 0
		for _, r := range strings.TrimRight(c.Text[s.at:end], " ") {
			if n++; unicode.IsLetter(r) {
				letters++
			}
		}
		width := math.Abs(float64(s.x1-s.x0)) / float64(max(n, 1))
		pitch = cmp.Or(pitch, width)
		if math.Abs(width-pitch) > equal*pitch {
			return 0
		}
	}
	if letters < fewest {
		return 0
	}
	return pitch
}

// Words returns a cell's words, which are never split further, with their positions.
func (c Cell) Words() []Cell {
	words := c.words()
	cells := make([]Cell, len(words))
	for i, w := range words {
		cells[i] = Cell{Text: strings.TrimSpace(c.Text[w.from:w.to]), X0: w.x0, X1: w.x1}
	}
	return cells
}

// Cut splits a cell at ascending positions along the line. It returns one more cell than there are positions. Cells may
// be empty. A word is never split: it goes to the cell that contains its midpoint.
func (c Cell) Cut(at ...float64) []Cell {
	parts, texts := make([]Cell, len(at)+1), make([][]byte, len(at)+1)
	for _, w := range c.words() {
		i, _ := slices.BinarySearch(at, w.middle())
		p, text := &parts[i], texts[i]
		switch {
		case len(text) == 0:
			p.X0, p.X1 = w.x0, w.x1
		case w.from > 0 && c.Text[w.from-1] == ' ':
			text = append(text, ' ')
		}
		for _, s := range w.spots {
			p.spots = append(p.spots, spot{s.at - int32(w.from) + int32(len(text)), s.x0, s.x1, s.bold, s.elevation})
		}
		texts[i] = append(text, strings.TrimSpace(c.Text[w.from:w.to])...)
		p.X0, p.X1 = min(p.X0, w.x0), max(p.X1, w.x1)
	}
	for i, text := range texts {
		parts[i].Text = string(text)
	}
	return parts
}

// Placed returns a cell whose text runs from x0 to x1 along the line in characters of equal width.
func Placed(text string, x0, x1 float64) Cell {
	c := Cell{Text: text, X0: x0, X1: x1}
	n := utf8.RuneCountInString(text)
	step := (x1 - x0) / float64(max(n, 1))
	i := 0
	for at, r := range text {
		if r != ' ' {
			left := x0 + float64(i)*step
			c.spots = append(c.spots, spot{at: int32(at), x0: float32(left), x1: float32(left + step)})
		}
		i++
	}
	return c
}

// Prefixed returns the cell with `text` prepended. The added text has no width.
func (c Cell) Prefixed(text string) Cell {
	joined := Cell{Text: text + c.Text, X0: c.X0, X1: c.X1}
	if c.spots == nil {
		return joined
	}
	x := float32(c.X0)
	joined.spots = append(make([]spot, 0, len(c.spots)+1), spot{x0: x, x1: x})
	for _, s := range c.spots {
		joined.spots = append(joined.spots, spot{s.at + int32(len(text)), s.x0, s.x1, s.bold, s.elevation})
	}
	return joined
}

// Before joins c and the cell after it, with a space between their texts.
func (c Cell) Before(next Cell) Cell {
	shift := int32(len(c.Text) + 1)
	joined := Cell{Text: c.Text + " " + next.Text, X0: c.X0, X1: next.X1}
	if c.spots == nil || next.spots == nil {
		return joined
	}
	joined.spots = append(append(make([]spot, 0, len(c.spots)+len(next.spots)), c.spots...), next.spots...)
	for i := len(c.spots); i < len(joined.spots); i++ {
		joined.spots[i].at += shift
	}
	return joined
}
