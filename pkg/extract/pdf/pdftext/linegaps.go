package pdftext

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Gaps between glyphs, as multiples of the font size.
const (
	wordGap   = 0.15 // minimum gap between words; tightly set text has spaces of a sixth of the size
	denseGap  = 0.55 // minimum gap between words in scripts without spaces
	cellGap   = 1.6
	spacedGap = 3.0 // minimum gap with blanks between cells

	overlapping = 0.15 // if the median overlap of letters is larger, the font's glyph widths are wrong
)

// cellMaker splits lines into cells. It reuses its buffers from line to line.
type cellMaker struct {
	units []unit
	gaps  []float64

	base, size float64 // baseline and font size of the line
}

// cellsOf splits a line's glyphs into cells and words, in reading order.
func (c *cellMaker) cellsOf(pieces []piece, rtl bool) []Cell {
	if rtl {
		pieces = visualOrder(pieces)
	}
	c.raise(pieces)
	word, joint := c.wordGapOf(pieces), c.letterSpaced(pieces)
	var cells []Cell
	units := c.units[:0] // the open cell's glyphs, with spaces between words
	var from, to float64
	flush := func() {
		if text, spots := joinUnits(units, rtl); text != "" {
			cells = append(cells, Cell{Text: text, X0: from, X1: to, spots: spots})
		}
		units = units[:0]
	}
	prev := -1 // the last visible piece
	pen := 0.0 // end of the previous piece, including blanks
	for i, p := range pieces {
		if p.blank {
			pen = p.x1
			continue
		}
		if prev >= 0 {
			last := pieces[prev]
			switch gap := p.x0 - pen; {
			case joint != nil && joint[i]:
			case gap > cellGap*p.size, prev < i-1 && p.x0-last.x1 > spacedGap*max(p.size, last.size):
				flush()
			case prev < i-1 || partsWords(last, p, gap, word):
				units = append(units, unit{text: " "})
			}
		}
		if len(units) == 0 {
			from = p.x0
		}
		units = append(units, unit{p.text, p.x0, p.x1, p.bold, elevationOf(p, c.base, c.size)})
		prev, pen, to = i, p.x1, p.x1
	}
	flush()
	c.units = units
	if rtl {
		slices.Reverse(cells)
	}
	return cells
}

// partsWords reports whether the gap between glyphs a and b is a space. `gap` is its width in points, and `word` is the
// usual minimum width of a space as a multiple of the font size.
func partsWords(a, b piece, gap, word float64) bool {
	shift := math.Abs(a.base-b.base) > 0.1*max(a.size, b.size)
	if shift || math.Abs(a.size-b.size) > 0.25*max(a.size, b.size) {
		// A raised number before a letter is usually a note number: a word of its own even without a gap. Next to any
		// other superscript or subscript, a small gap is not a space.
		if a.base > b.base && a.size < 0.85*b.size && isDigits(a.text) && startsLetter(b.text) {
			return true
		}
		return gap > 0.25*max(a.size, b.size)
	}
	size := b.size
	last, _ := utf8.DecodeLastRuneInString(a.text)
	first, _ := utf8.DecodeRuneInString(b.text)
	if isUnspacedScript(last) && isUnspacedScript(first) {
		return gap > denseGap*size
	}
	return gap > word*size
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func startsLetter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// startsWord reports whether a string starts with a letter or a digit.
func startsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// isUnspacedScript reports whether a character belongs to a script without spaces between words.
func isUnspacedScript(r rune) bool {
	switch {
	case r < 0xe00:
		return false
	case r < 0x3000:
		return unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	}
	return r <= 0x30ff || r >= 0x3400 && r <= 0x9fff || r >= 0xf900 && r <= 0xfaff || r >= 0xff00 && r <= 0xffef || r >= 0x20000 && r <= 0x3ffff
}

// wordGapOf returns the minimum gap between words on a line, as a multiple of the font size. The gap is unusual on
// three kinds of lines: letter-spaced lines, such as headings; lines in fonts that declare glyph widths that are too
// large; and lines whose words were squeezed to fit.
func (c *cellMaker) wordGapOf(pieces []piece) float64 {
	gaps, spaces := letterGaps(c.gaps[:0], pieces, startsLetter)
	c.gaps = gaps
	const enough = 5
	short := len(gaps) < enough
	if short { // include digits, which are spaced like letters
		gaps, spaces = letterGaps(gaps[:0], pieces, startsWord)
		c.gaps = gaps
	}
	if len(gaps) < enough {
		return wordGap
	}
	slices.Sort(gaps)
	switch median := gaps[len(gaps)/2]; {
	case median > 0.12 && spaces == 0 && gaps[len(gaps)/4] > 0.6*median:
		return max(wordGap, 1.7*median) // letter-spaced
	case median < -overlapping && spaces == 0:
		return median + wordGap // the font declares glyph widths that are too large
	}
	if short || spaces > 0 || len(gaps) < 4*enough {
		return wordGap
	}
	return tightGap(gaps)
}

// letterGaps appends the gaps between adjacent letters of the same font size to `gaps`, as multiples of that size. It
// also returns the number of blanks in `pieces`.
func letterGaps(gaps []float64, pieces []piece, isLetter func(string) bool) (_ []float64, spaces int) {
	for i, p := range pieces {
		if p.blank {
			spaces++
			continue
		}
		if i == 0 || pieces[i-1].blank {
			continue
		}
		a := pieces[i-1]
		if !isLetter(a.text) || !isLetter(p.text) || math.Abs(a.size-p.size) > 0.1*p.size || p.size <= 0 {
			continue
		}
		if gap := (p.x0 - a.x1) / p.size; gap > -1 && gap < cellGap {
			gaps = append(gaps, gap)
		}
	}
	return gaps, spaces
}

// tightGap returns the minimum gap between words on an unusually tight line: the midpoint of the largest step between
// consecutive gaps, or wordGap if that would yield an implausible number of words. `gaps` must be sorted.
func tightGap(gaps []float64) float64 {
	n := len(gaps)
	if wide := n - sortedIndex(gaps, wordGap); wide*9 > n {
		return wordGap // there are enough spaces between the words
	}
	best, at := 0.0, wordGap
	for i := n * 2 / 3; i < n; i++ {
		if gaps[i] > 0.3 {
			break
		}
		step := gaps[i] - gaps[i-1]
		if words := n - i; step > best && gaps[i] > 0.07 && words*14 >= n {
			best, at = step, (gaps[i]+gaps[i-1])/2
		}
	}
	if best < 0.04 {
		return wordGap
	}
	return at
}

func sortedIndex(sorted []float64, v float64) int {
	i, _ := slices.BinarySearch(sorted, v)
	return i
}
