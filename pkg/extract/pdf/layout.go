package pdf

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

const (
	largerThanBody  = 1.15 // minimum font size of a heading, as a multiple of the body text's size
	maxHeadingLines = 5
)

// layout converts the lines of PDF pages to blocks. It recognises headings by size, tables by cells, lists by markers,
// and paragraphs by distance and indentation.
type layout struct {
	*survey
	p      *format.Parser
	shown  map[string]numberedLine // last occurrence of each repeated line
	recent [4]map[string]float64   // heights of lines at the top and bottom of recent pages, by masked text

	outline outlineLevels
	links   []pdftext.Link               // links on the page
	grids   []grid                       // possible tables on the page
	indents []float64                    // left edges of items in the open lists, outermost first
	parted  map[*pdftext.Cell]partedLine // cached results of partAligned, by a line's first cell
	open    *openTable                   // the last table, if nothing has followed it yet

	// The current paragraph.
	para   []pdftext.Line
	kind   domain.BlockKind
	number int // page number
}

func newPDFLayout(p *format.Parser, survey *survey) *layout {
	return &layout{survey: survey, p: p, shown: map[string]numberedLine{}}
}

// page emits one page's blocks. Paragraphs never cross pages, so that citations have a single page per block.
func (l *layout) page(number int, lines []pdftext.Line) error {
	l.number, l.parted = number, nil
	lines = readingOrder(joinMarks(joinContents(joinDropCaps(l.content(lines)))))
	leading := usualLeading(lines)
	items := l.takeGrids(lines)
	for len(items) > 0 {
		if table := items[0].table; table != nil {
			items = items[1:]
			if err := l.emitTable(table); err != nil {
				return err
			}
			continue
		}
		n := slices.IndexFunc(items, func(i placed) bool { return i.table != nil })
		if n < 0 {
			n = len(items)
		}
		text := make([]pdftext.Line, n)
		for i := range text {
			text[i] = items[i].line
		}
		items = items[n:]
		if err := l.text(text, leading); err != nil {
			return err
		}
	}
	return nil
}

// text emits the blocks in consecutive lines.
func (l *layout) text(lines []pdftext.Line, leading float64) error {
	prose := 0 // number of following lines known not to be a table
	for len(lines) > 0 {
		if prose--; prose < 0 {
			if table, rest := l.takeAligned(lines); table != nil {
				if err := l.flush(); err != nil {
					return err
				}
				if err := l.emitTable(table); err != nil {
					return err
				}
				lines = rest
				continue
			}
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

// usualLeading returns the median distance between a page's lines, as a multiple of their font size.
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

func (l *layout) kindOf(line pdftext.Line) domain.BlockKind {
	text := line.Text()
	switch {
	case l.outline.level(l.number, text) > 0:
		return domain.BlockHeading
	case line.Size >= l.body*largerThanBody && len(text) < maxHeadingLength && format.CountLetters(text) > 1:
		return domain.BlockHeading
	case startsItem(text), isContents(text):
		return domain.BlockListItem
	}
	return domain.BlockParagraph
}

// continues reports whether a line belongs to the paragraph before it.
func (l *layout) continues(line pdftext.Line, kind domain.BlockKind, leading float64) bool {
	last := l.para[len(l.para)-1]
	if line.Filled || last.Filled || isContents(last.Text()) || numbersOn(line.Text(), l.para[0].Text()) {
		return false
	}
	if kind == domain.BlockListItem && !l.endsEntry(line, last, leading) || (kind == domain.BlockHeading) != (l.kind == domain.BlockHeading) || line.Turn != last.Turn {
		return false
	}
	if math.Abs(line.Size-last.Size) > 0.12*max(line.Size, last.Size) && !l.isScriptDistance(line, last) {
		return false
	}
	if l.kind == domain.BlockHeading {
		gap := (last.Y - line.Y) / max(line.Size, 1)
		return gap > -0.2 && gap < 1.8 && len(l.para) < maxHeadingLines
	}
	gap := (last.Y - line.Y) / max(line.Size, last.Size, 1)
	if startsApart(l.para, line, gap > leading*widerLeading) {
		return false
	}
	if line.Bold != last.Bold && len(l.para) == 1 && len(last.Text()) < 80 {
		return false // a bold line above plain text
	}
	text := last.Text()
	switch {
	case gap > leading*1.35 || gap > 2.5:
		return false
	case gap < -0.5: // a line further up starts the next column
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

// endsEntry reports whether `line` ends a multi-line table of contents entry.
func (l *layout) endsEntry(line, last pdftext.Line, leading float64) bool {
	text := line.Text()
	gap := (last.Y - line.Y) / max(line.Size, 1)
	return isContents(text) && !startsItem(text) && numbering().FindString(text) == "" && numbering().MatchString(l.para[0].Text()) && gap > 0 && gap <= leading*widerLeading
}

// isScriptDistance reports whether two lines are so close vertically that one may be a superscript of the other or both
// may be parts of a fraction.
func (l *layout) isScriptDistance(a, b pdftext.Line) bool {
	return math.Abs(a.Y-b.Y) < 0.8*max(a.Size, b.Size)
}

// flush emits the current paragraph.
func (l *layout) flush() error {
	if len(l.para) == 0 {
		return nil
	}
	var joined []byte
	for _, line := range l.para {
		joined = appendLine(joined, line.Text())
	}
	first := l.para[0]
	bold := true
	for _, line := range l.para {
		bold = bold && line.Bold
	}
	gathered, n := l.para, len(l.para)
	l.para = l.para[:0]
	text := string(joined)
	block := domain.Block{Kind: l.kind, Text: text, Page: l.number, Links: linksOf(l.links, gathered...)}
	level := l.outline.levelOf(l.number, text, gathered)
	switch {
	case level > 0 && n <= maxHeadingLines:
		block.Kind, block.Level = domain.BlockHeading, level
	case l.kind == domain.BlockHeading:
		block.Level = l.level(first.Size)
	case l.kind == domain.BlockListItem:
		block.Level = l.itemLevel(gathered[0])
	case bold && n <= 2 && len(text) < 120 && !endsSentence(text) && first.Size >= l.body*0.95 && format.CountLetters(text) > 2:
		block.Kind, block.Level = domain.BlockHeading, min(len(l.levels), 4)+1
	}
	if block.Kind == domain.BlockHeading {
		block.Text = format.OneLine(text)
	}
	l.open = nil
	if block.Kind != domain.BlockListItem && len(l.indents) > 0 && first.Cells[0].X0 < l.indents[0]+sameIndent*first.Size {
		l.indents = nil // the list has ended: an item's text would be indented more than its marker
	}
	return l.p.Out.Add(block)
}

const (
	sameIndent = 0.5 // maximum distance between markers on one level, as a multiple of the font size
	farIndent  = 10  // minimum distance between markers in different columns, as a multiple of the font size
)

// itemLevel derives a list item's level from its indentation.
func (l *layout) itemLevel(first pdftext.Line) int {
	x, size := first.Cells[0].X0, first.Size
	if n := len(l.indents); n > 0 && max(x-l.indents[n-1], l.indents[n-1]-x) > farIndent*size {
		l.indents = nil
	}
	for n := len(l.indents); n > 0 && l.indents[n-1] > x+sameIndent*size; n-- {
		l.indents = l.indents[:n-1]
	}
	if n := len(l.indents); n == 0 || x > l.indents[n-1]+sameIndent*size {
		l.indents = append(l.indents, x)
	}
	return len(l.indents)
}

// level returns the heading level for a font size.
func (l *layout) level(size float64) int {
	rank := 1
	for i, s := range l.levels {
		if i > 0 && l.levels[i-1]-s >= 1 && s >= size {
			rank++
		}
	}
	return min(rank, 5)
}

func endsSentence(s string) bool {
	s = strings.TrimRight(s, "\"'”’»)] ")
	r, _ := utf8.DecodeLastRuneInString(s)
	return strings.ContainsRune(".!?:;。！？：؟", r)
}

// startsItem reports whether a line starts with a list marker: a bullet, "3." or "b)".
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
