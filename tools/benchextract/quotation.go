package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/tools/internal/bench"
)

// Minimum fraction of a glyph's box that must be inside the rectangles for the glyph to count as covered.
const coveredShare = 0.9

// quoteScore counts letters and digits in quotations.
type quoteScore struct {
	quotes, exact             int // exact quotations were compared glyph by glyph
	letters, covered, foreign int
	missing                   []quotedChar // an exact quotation's uncovered letters
}

func (s *quoteScore) add(o quoteScore) {
	s.quotes += o.quotes
	s.exact += o.exact
	s.letters += o.letters
	s.covered += o.covered
	s.foreign += o.foreign
}

func (s *quoteScore) row(out io.Writer, name string) {
	fmt.Fprintf(out, "| %s | %d | %d | %s | %s |\n", name, s.quotes, s.letters, bench.Figure("%.3f", bench.Share(s.covered, s.letters)), bench.Figure("%.3f", bench.Share(s.foreign, s.letters)))
}

// letters returns a text's letters and digits in Unicode compatibility form, without accents.
func letters(text string) []rune {
	var out []rune
	for _, r := range norm.NFKD.String(text) {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			out = append(out, r)
		}
	}
	return out
}

// pageLetter is a letter on a page, and whether it is inside a quotation's rectangles.
type pageLetter struct {
	r       rune
	inside  bool // the rectangles cover the glyph
	touched bool // a rectangle contains the glyph's middle
	ends    bool // last letter of a word
	char    quotedChar
}

// scoreQuotation compares a quotation with the text on its page and on neighbouring pages.
func scoreQuotation(q quotation, pages map[int][]quotedChar) quoteScore {
	var page []pageLetter
	for number := q.page - quotedNeighbour; number <= q.page+quotedNeighbour; number++ {
		chars := pages[number]
		for i, c := range chars {
			if i > 0 && len(page) > 0 && (c.line != chars[i-1].line && chars[i-1].text != "-" && chars[i-1].text != "\u00ad") {
				page[len(page)-1].ends = true
			}
			all := letters(c.text)
			if len(all) == 0 && len(page) > 0 && c.text != "-" && c.text != "\u00ad" {
				page[len(page)-1].ends = true
			}
			inside, touched := covers(q.rectangles, c)
			for _, r := range all {
				page = append(page, pageLetter{r: r, inside: inside, touched: touched, char: c})
			}
		}
		if len(page) > 0 {
			page[len(page)-1].ends = true
		}
	}
	want := letters(q.text)
	s := quoteScore{quotes: 1, letters: len(want)}
	inWant := map[rune]int{}
	for _, r := range want {
		inWant[r]++
	}
	for _, l := range page {
		if !l.touched {
			continue
		}
		if inWant[l.r]--; inWant[l.r] < 0 {
			s.foreign++
		}
	}
	best := -1
	for at := 0; at+len(want) <= len(page); at++ {
		n := 0
		for n < len(want) && page[at+n].r == want[n] {
			n++
		}
		if n < len(want) {
			continue
		}
		covered := 0
		var missing []quotedChar
		for _, l := range page[at : at+n] {
			if l.inside {
				covered++
			} else {
				missing = append(missing, l.char)
			}
		}
		if covered > best {
			best, s.missing = covered, missing
		}
	}
	if best >= 0 {
		s.exact, s.covered = 1, best
		return s
	}
	s.letters, s.covered = coveredWords(withoutRepeatedLabels(q.text), page)
	return s
}

// withoutRepeatedLabels removes labels that have already occurred. A label is the part of "label: value" before the
// colon, e.g. a column name that recurs in every table row.
func withoutRepeatedLabels(text string) string {
	var out strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		for part := range strings.SplitAfterSeq(line, "; ") {
			if label, value, ok := strings.Cut(part, ": "); ok && strings.Contains(out.String(), label) {
				part = value
			}
			out.WriteString(part)
		}
	}
	return out.String()
}

// covers compares a character's box with the rectangles. `inside` is true if the rectangles cover at least coveredShare
// of the box. `touched` is true if a rectangle contains the centre of the box.
func covers(rectangles []domain.PageRectangle, c quotedChar) (inside, touched bool) {
	share := 0.0
	for _, r := range rectangles {
		if r.Page != c.page {
			continue
		}
		w := min(c.x1, r.X+r.Width) - max(c.x0, r.X)
		h := min(c.y1, r.Y+r.Height) - max(c.y0, r.Y)
		if w > 0 && h > 0 {
			share += w * h / max((c.x1-c.x0)*(c.y1-c.y0), 1e-9)
		}
		x, y := (c.x0+c.x1)/2, (c.y0+c.y1)/2
		touched = touched || x > r.X && x < r.X+r.Width && y > r.Y && y < r.Y+r.Height
	}
	return share >= coveredShare, touched
}

// coveredWords returns the number of letters in a quotation's words (`all`) and how many of them are inside the
// rectangles (`covered`). If the quotation repeats a word, e.g. a column name, more often than the page does, the extra
// repetitions don't count.
func coveredWords(text string, page []pageLetter) (all, covered int) {
	onPage, inside := map[string]int{}, map[string]int{}
	spare := map[rune]int{} // covered letters of words not in the quotation
	var word []rune
	whole := true
	for _, l := range page {
		word, whole = append(word, l.r), whole && l.inside
		if !l.ends {
			continue
		}
		if onPage[string(word)]++; whole {
			inside[string(word)]++
		}
		word, whole = word[:0], true
	}
	for _, l := range page {
		if l.inside {
			spare[l.r]++
		}
	}
	type rest struct{ runes []rune }
	var parts []rest
	for _, field := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.Is(unicode.M, r) }) {
		runes := letters(field)
		if key := string(runes); onPage[key] > 0 || inside[key] > 0 {
			onPage[key]--
			all += len(runes)
			if inside[key] > 0 {
				inside[key]--
				covered += len(runes)
				for _, r := range runes {
					spare[r]--
				}
			}
			continue
		} else if _, shown := onPage[key]; shown {
			continue // repeated more often than on the page
		}
		parts = append(parts, rest{runes})
	}
	for _, p := range parts { // words that are split on the page, or missing
		all += len(p.runes)
		for _, r := range p.runes {
			if spare[r] > 0 {
				spare[r]--
				covered++
			}
		}
	}
	return all, covered
}
