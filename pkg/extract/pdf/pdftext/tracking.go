package pdftext

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds for recognising letter-spaced (tracked) text, as multiples of the font size unless noted.
const (
	minTracking    = 0.1 // smaller gaps are kerning
	maxTracking    = 1.2 // wider gaps separate words or cells
	unevenTracking = 1.7 // maximum gap inside a word, as a multiple of the median gap
	kernedTracking = 0.05
	minTrackedGaps = 3 // minimum number of gaps for recognising a single letter-spaced word
	minSpelled     = 4 // minimum number of letters in a word typed with blanks between its letters
	maxIdeograms   = 12
)

// trackedGap is a gap between two visible glyphs without a blank between them.
type trackedGap struct {
	at      int     // index of the piece after the gap
	width   float64 // in points
	size    float64 // font size of the larger glyph
	letters bool    // the glyphs on both sides are letters
}

// letterSpaced finds letter-spaced words, whose letters are separated by gaps or blanks. It reports, for each piece,
// whether it continues such a word. It returns nil if the line has none.
func (c *cellMaker) letterSpaced(pieces []piece) []bool {
	var joint []bool
	mark := func(at int) {
		if joint == nil {
			joint = make([]bool, len(pieces))
		}
		joint[at] = true
	}
	markTracked(pieces, mark)
	markSpelled(pieces, mark)
	return joint
}

// markTracked marks the letters of letter-spaced words on lines with blanks between words. On other lines, wordGapOf
// finds the words by gap width.
func markTracked(pieces []piece, mark func(int)) {
	var runs [][]trackedGap // gaps between two blanks
	var run []trackedGap
	blanks := 0
	for i, p := range pieces {
		if p.blank {
			blanks++
			if len(run) > 0 {
				runs, run = append(runs, run), nil
			}
			continue
		}
		if i == 0 || pieces[i-1].blank {
			continue
		}
		a := pieces[i-1]
		run = append(run, trackedGap{i, p.x0 - a.x1, max(a.size, p.size), startsLetter(a.text) && startsLetter(p.text)})
	}
	if len(run) > 0 {
		runs = append(runs, run)
	}
	if blanks == 0 {
		return
	}
	var usual []float64
	for _, run := range runs {
		if median, ok := evenGaps(run); ok {
			usual = append(usual, median)
		}
	}
	if len(usual) == 0 { // all words may be short
		median, ok := evenGaps(slices.Concat(runs...))
		if !ok {
			return
		}
		usual = []float64{median}
	}
	slices.Sort(usual)
	least, most := usual[0], usual[len(usual)-1]
	for _, run := range runs {
		limit := most
		if median, ok := evenGaps(run); ok {
			limit = median
		} else if len(run) > minTrackedGaps && least < most {
			limit = least
		}
		if slices.ContainsFunc(run, func(g trackedGap) bool { return g.width > unevenTracking*limit+kernedTracking*g.size }) {
			continue // words without a blank between them
		}
		for _, g := range run {
			mark(g.at)
		}
	}
}

// evenGaps returns the median gap between letters. `ok` reports whether the gaps are as wide and even as in
// letter-spaced text.
func evenGaps(gaps []trackedGap) (median float64, ok bool) {
	var widths []float64
	size := 0.0
	for _, g := range gaps {
		if g.letters {
			widths = append(widths, g.width)
			size = max(size, g.size)
		}
	}
	if len(widths) < minTrackedGaps {
		return 0, false
	}
	slices.Sort(widths)
	median = widths[len(widths)/2]
	return median, median > minTracking*size && median < maxTracking*size &&
		widths[len(widths)/4] > 0.6*median && widths[len(widths)-1] <= unevenTracking*median+kernedTracking*size
}

// markSpelled marks the letters of words typed with a blank after each letter: "S U M M A R Y".
func markSpelled(pieces []piece, mark func(int)) {
	var alone []int // indexes of consecutive pieces that are single characters between blanks
	all := true     // all of the line's visible pieces are such characters
	visible := 0
	flush := func() {
		markSpelledWords(pieces, alone, mark)
		alone = alone[:0]
	}
	for i, p := range pieces {
		if p.blank {
			continue
		}
		visible++
		if utf8.RuneCountInString(p.text) == 1 && (i == 0 || pieces[i-1].blank) && (i+1 == len(pieces) || pieces[i+1].blank) {
			alone = append(alone, i)
			continue
		}
		all = false
		flush()
	}
	if all && visible >= 2 && visible <= maxIdeograms && ideograms(pieces, alone) {
		for _, at := range alone[1:] {
			mark(at)
		}
		return
	}
	flush()
}

// markSpelledWords marks the words in a sequence of single letters. Letters of a word are separated by a blank, and
// words by a wider gap. `alone` holds the letters' indexes in `pieces`.
func markSpelledWords(pieces []piece, alone []int, mark func(int)) {
	if len(alone) < minSpelled {
		return
	}
	gaps := make([]float64, len(alone)-1)
	for k := range gaps {
		gaps[k] = pieces[alone[k+1]].x0 - pieces[alone[k]].x1
	}
	sorted := slices.Clone(gaps)
	slices.Sort(sorted)
	usual := sorted[len(sorted)/2]
	if usual <= 0 || usual > maxTracking*pieces[alone[0]].size {
		return
	}
	var words, others [][]int // words of letters, and groups of digits
	for from := 0; from < len(alone); {
		to := from + 1
		for to < len(alone) && gaps[to-1] <= unevenTracking*usual {
			to++
		}
		switch word := alone[from:to]; {
		case lettersOnly(pieces, word):
			words = append(words, word)
		case !slices.ContainsFunc(word, func(i int) bool { return !isDigits(pieces[i].text) }):
			others = append(others, word)
		}
		from = to
	}
	if len(words) == 1 && len(others) == 0 && !isSpelledWord(pieces, words[0]) {
		return
	}
	if slices.ContainsFunc(words, func(w []int) bool { return len(w) >= minSpelled }) {
		words = append(words, others...) // mark digits next to words, such as the year after a month
	}
	for _, word := range words {
		for _, at := range word[1:] {
			mark(at)
		}
	}
}

// lettersOnly reports whether the pieces with the given indexes are letters, possibly with punctuation around them.
func lettersOnly(pieces []piece, at []int) bool {
	const around = `.,:;!?()"'`
	for len(at) > 0 && strings.Contains(around, pieces[at[0]].text) {
		at = at[1:]
	}
	for len(at) > 0 && strings.Contains(around, pieces[at[len(at)-1]].text) {
		at = at[:len(at)-1]
	}
	return len(at) > 0 && !slices.ContainsFunc(at, func(i int) bool { return !startsLetter(pieces[i].text) })
}

// isSpelledWord reports whether letters form a word rather than just a list of letters: they have the same case, aren't
// in alphabetical order and, in Latin script, include a vowel.
func isSpelledWord(pieces []piece, at []int) bool {
	ascending, upper, latin, vowel := true, 0, true, false
	last := rune(0)
	letters := 0
	for _, i := range at {
		shown, _ := utf8.DecodeRuneInString(pieces[i].text)
		r := unicode.ToLower(shown)
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		ascending = ascending && r > last
		last = r
		if unicode.IsUpper(shown) {
			upper++
		}
		latin = latin && unicode.Is(unicode.Latin, r)
		vowel = vowel || strings.ContainsRune("aeiouäöüåæøéèêáàâíóôúı", r)
	}
	return !ascending && letters >= minSpelled && (upper == 0 || upper == letters) && (vowel || !latin)
}

// ideograms reports whether the pieces with the given indexes are evenly spaced East Asian characters, as in short
// headings: "目 录", "목 차".
func ideograms(pieces []piece, at []int) bool {
	least, most := maxTracking*4, 0.0
	for k, i := range at {
		r, _ := utf8.DecodeRuneInString(pieces[i].text)
		if !unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana) {
			return false
		}
		if k > 0 {
			gap := (pieces[i].x0 - pieces[at[k-1]].x1) / max(pieces[i].size, 1e-3)
			least, most = min(least, gap), max(most, gap)
		}
	}
	return most <= cellGap && most <= unevenTracking*max(least, 0)
}
