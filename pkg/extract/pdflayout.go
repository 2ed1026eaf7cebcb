package extract

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/pdftext"
)

const (
	largerThanBody   = 1.15 // times the size of body text that a heading has at least
	mostHeadingLines = 5
)

// pdfLayout turns the lines of PDF pages into blocks: headings by size, tables by cells, lists by their marks,
// paragraphs by distance and indent.
type pdfLayout struct {
	*pdfSurvey
	p      *parser
	shown  map[string]numberedLine // repeated lines as they were last
	recent [4]map[string]float64   // lines at the edges of the last pages and their heights

	outline outlineLevels
	links   []pdftext.Link // on the page

	// The paragraph being gathered.
	para   []pdftext.Line
	kind   domain.BlockKind
	number int // of the page
}

func newPDFLayout(p *parser, survey *pdfSurvey) *pdfLayout {
	return &pdfLayout{pdfSurvey: survey, p: p, shown: map[string]numberedLine{}}
}

// content is a page's lines without the headers and footers that have been shown before.
func (l *pdfLayout) content(lines []pdftext.Line) []pdftext.Line {
	now := map[string]float64{}
	drop := map[string]bool{}
	if len(lines) > fewLines {
		for _, e := range edgeLines(lines) {
			text := e.Text()
			masked := maskNumbers(text)
			now[masked] = e.Y
			if !l.repeated[masked] && !l.running(masked, e.Y) {
				continue
			}
			numbers, before := numbersOf(text), l.shown[masked]
			if before.page == 0 && countLetters(masked) == 0 || before.page > 0 && countsPages(before, numberedLine{l.number, numbers}) {
				drop[text] = true
			}
			if _, known := l.shown[masked]; known || len(l.shown) < mostShown {
				l.shown[masked] = numberedLine{l.number, numbers}
			}
		}
	}
	l.recent[l.number%len(l.recent)] = now
	if len(drop) == 0 {
		return lines
	}
	edge := map[string]bool{}
	for _, e := range edgeLines(lines) {
		edge[edgeKey(e)] = drop[e.Text()]
	}
	return slices.DeleteFunc(slices.Clone(lines), func(line pdftext.Line) bool { return edge[edgeKey(line)] })
}

func edgeKey(l pdftext.Line) string { return fmt.Sprintf("%g %g %s", l.Y, l.Cells[0].X0, l.Text()) }

// running reports whether a line at the edge of a page stood there on two of the pages just before, as the heading of a
// chapter does.
func (l *pdfLayout) running(masked string, y float64) bool {
	n := 0
	for _, page := range l.recent {
		if at, ok := page[masked]; ok && math.Abs(at-y) < sameHeight {
			n++
		}
	}
	return n >= 2 && isFurniture(masked)
}

// mostShown bounds the repeated lines that are remembered.
const mostShown = 10_000

// numberedLine is a repeated line as it was on a page.
type numberedLine struct {
	page    int
	numbers []int
}

// countsPages reports whether two lines that are the same but for their numbers differ as pages do. A line with another
// number, an invoice's say, tells something new.
func countsPages(a, b numberedLine) bool {
	if len(a.numbers) != len(b.numbers) {
		return false
	}
	for i := range a.numbers {
		if d := b.numbers[i] - a.numbers[i]; d != 0 && d != b.page-a.page {
			return false
		}
	}
	return true
}

// numbersOf are the numbers in a text.
func numbersOf(s string) []int {
	var numbers []int
	for _, digits := range strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(digits); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// page emits the blocks of one page. Paragraphs do not cross pages, so that a block has one page to cite.
func (l *pdfLayout) page(number int, lines []pdftext.Line) error {
	l.number = number
	lines = readingOrder(l.content(lines))
	leading := usualLeading(lines)
	prose := 0 // lines from here on that are known to be no table
	for len(lines) > 0 {
		if prose--; prose < 0 {
			if table, rest := takeTable(lines); table != nil {
				if columns := proseColumns(table); columns != nil {
					lines, prose = append(columns, rest...), len(columns)
					continue
				}
				if err := l.flush(); err != nil {
					return err
				}
				if err := l.table(table); err != nil {
					return err
				}
				lines = rest
				continue
			}
		}
		line := lines[0]
		lines = lines[1:]
		kind := l.kindOf(line)
		if len(l.para) > 0 && !l.continues(line, kind, leading) {
			if err := l.flush(); err != nil {
				return err
			}
		}
		if len(l.para) == 0 {
			l.kind = kind
		}
		l.para = append(l.para, line)
	}
	return l.flush()
}

// usualLeading is the median distance of a page's lines, in parts of their size.
func usualLeading(lines []pdftext.Line) float64 {
	var gaps []float64
	for i := 1; i < len(lines); i++ {
		if gap := (lines[i-1].Y - lines[i].Y) / max(lines[i].Size, 1); gap > 0.5 && gap < 3 {
			gaps = append(gaps, gap)
		}
	}
	if len(gaps) == 0 {
		return 1.2
	}
	slices.Sort(gaps)
	return min(gaps[len(gaps)/2], 2.2)
}

func (l *pdfLayout) kindOf(line pdftext.Line) domain.BlockKind {
	text := line.Text()
	switch {
	case l.outline.level(l.number, text) > 0:
		return domain.BlockHeading
	case line.Size >= l.body*largerThanBody && len(text) < longestHeading && countLetters(text) > 1:
		return domain.BlockHeading
	case startsItem(text):
		return domain.BlockListItem
	}
	return domain.BlockParagraph
}

// continues reports whether a line belongs to the paragraph before it.
func (l *pdfLayout) continues(line pdftext.Line, kind domain.BlockKind, leading float64) bool {
	last := l.para[len(l.para)-1]
	if kind == domain.BlockListItem || (kind == domain.BlockHeading) != (l.kind == domain.BlockHeading) || line.Turn != last.Turn {
		return false
	}
	if math.Abs(line.Size-last.Size) > 0.12*max(line.Size, last.Size) && !l.small(line, last) {
		return false
	}
	if l.kind == domain.BlockHeading {
		gap := (last.Y - line.Y) / max(line.Size, 1)
		return gap > -0.2 && gap < 1.8 && len(l.para) < mostHeadingLines
	}
	if line.Bold != last.Bold && len(l.para) == 1 && len(last.Text()) < 80 {
		return false // a bold line above plain text
	}
	gap := (last.Y - line.Y) / max(line.Size, last.Size, 1)
	text := last.Text()
	switch {
	case gap > leading*1.35 || gap > 2.5:
		return false
	case gap < -0.5: // the next column
		return !endsSentence(text)
	}
	left := l.para[0].Cells[0].X0
	if len(l.para) > 1 {
		left = l.para[1].Cells[0].X0
	}
	if x := line.Cells[0].X0; x > left+0.9*line.Size && x > last.Cells[0].X0+0.9*line.Size && endsSentence(text) && l.kind != domain.BlockListItem {
		return false // an indented first line
	}
	return true
}

// small reports whether one of two lines is a superscript or a fraction beside the other.
func (l *pdfLayout) small(a, b pdftext.Line) bool {
	return math.Abs(a.Y-b.Y) < 0.8*max(a.Size, b.Size)
}

// flush emits the paragraph gathered.
func (l *pdfLayout) flush() error {
	if len(l.para) == 0 {
		return nil
	}
	var b strings.Builder
	for _, line := range l.para {
		appendLine(&b, line.Text())
	}
	first := l.para[0]
	bold := true
	for _, line := range l.para {
		bold = bold && line.Bold
	}
	gathered, n := l.para, len(l.para)
	l.para = l.para[:0]
	text := b.String()
	block := domain.Block{Kind: l.kind, Text: text, Page: l.number, Links: linksOf(l.links, gathered...)}
	level := l.outline.levelOf(l.number, text, gathered)
	switch {
	case level > 0 && n <= mostHeadingLines:
		block.Kind, block.Level = domain.BlockHeading, level
	case l.kind == domain.BlockHeading:
		block.Level = l.level(first.Size)
	case l.kind == domain.BlockListItem:
		block.Level = 1
	case bold && n <= 2 && len(text) < 120 && !endsSentence(text) && first.Size >= l.body*0.95 && countLetters(text) > 2:
		block.Kind, block.Level = domain.BlockHeading, min(len(l.levels), 4)+1
	}
	if block.Kind == domain.BlockHeading {
		block.Text = oneLine(text)
	}
	return l.p.out.add(block)
}

// level is the rank of a heading's size.
func (l *pdfLayout) level(size float64) int {
	rank := 1
	for i, s := range l.levels {
		if i > 0 && l.levels[i-1]-s >= 1 && s >= size {
			rank++
		}
	}
	return min(rank, 5)
}

// appendLine joins a line to the text before it: without a space between characters of scripts that have none, without
// the hyphen of a word that was divided, and with the hyphen of a compound that was parted there.
func appendLine(b *strings.Builder, line string) {
	before := b.String()
	if before == "" || line == "" {
		b.WriteString(line)
		return
	}
	first, _ := utf8.DecodeRuneInString(line)
	last, n := utf8.DecodeLastRuneInString(before)
	if strings.ContainsRune("-‐\u00ad–", last) {
		head := before[:len(before)-n]
		prev, _ := utf8.DecodeLastRuneInString(head)
		switch {
		case !unicode.IsLetter(prev) && !unicode.IsDigit(prev) || !unicode.IsLetter(first) && !unicode.IsDigit(first):
		case last != '–' && unicode.IsLetter(prev) && unicode.IsLower(first) && !hyphenated(head):
			b.Reset()
			b.WriteString(head)
			b.WriteString(line)
			return
		default: // "2014-" and "2016", "Jean-" and "Paul", "state-of-the-" and "art"
			b.WriteString(line)
			return
		}
	}
	if !noSpaceScript(last) || !noSpaceScript(first) {
		b.WriteByte(' ')
	}
	b.WriteString(line)
}

// hyphenated reports whether the last word of a text has a hyphen already, as a compound of several words has.
func hyphenated(s string) bool {
	word := s[strings.LastIndexAny(s, " \t\n")+1:]
	at := strings.IndexAny(word, "-‐")
	return at > 0 && at < len(word)-1
}

// noSpaceScript reports characters of scripts that are written without spaces.
func noSpaceScript(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 && r <= 0xffef
}

func endsSentence(s string) bool {
	s = strings.TrimRight(s, "\"'”’»)] ")
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?:;。！？：؟", r)
}

// startsItem reports whether a line starts with the mark of a list: a bullet, "3." or "b)".
func startsItem(s string) bool {
	first, n := utf8.DecodeRuneInString(s)
	if strings.ContainsRune("•◦▪▫■□●○‣⁃∙·–—*-", first) || first == 0xf0b7 {
		return len(s) > n && (s[n] == ' ' || s[n] == '\t')
	}
	mark, rest, ok := strings.Cut(s, " ")
	if !ok || rest == "" || len(mark) < 2 || len(mark) > 4 {
		return false
	}
	end := mark[len(mark)-1]
	inner := strings.TrimPrefix(mark[:len(mark)-1], "(")
	if end != '.' && end != ')' || inner == "" {
		return false
	}
	digits := strings.Trim(inner, "0123456789") == ""
	return digits && len(inner) <= 2 || end == ')' && len(inner) == 1 && inner[0] >= 'a' && inner[0] <= 'z'
}
