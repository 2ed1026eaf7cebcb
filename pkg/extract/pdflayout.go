package extract

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/pdftext"
)

// pdfLayout turns the lines of PDF pages into blocks: headings by size, tables by cells, lists by their marks,
// paragraphs by distance and indent. What it knows of the whole document is gathered first.
type pdfLayout struct {
	p        *parser
	body     float64         // size of most text, in points
	levels   []float64       // sizes of headings, largest first
	repeated map[string]bool // headers and footers, digits masked
	shown    map[string]bool // of these, the ones already emitted once

	// The paragraph being gathered.
	para  []pdftext.Line
	kind  domain.BlockKind
	pages int
}

func newPDFLayout(p *parser, pages [][]pdftext.Line) *pdfLayout {
	l := &pdfLayout{p: p, shown: map[string]bool{}}
	weight := map[float64]int{}
	for _, lines := range pages {
		for _, line := range lines {
			weight[line.Size] += len(line.Text())
		}
	}
	most := 0
	for size, w := range weight {
		if w > most || w == most && size < l.body {
			l.body, most = size, w
		}
	}
	for size := range weight {
		if size >= l.body*1.15 {
			l.levels = append(l.levels, size)
		}
	}
	slices.SortFunc(l.levels, func(a, b float64) int { return int(2 * (b - a)) })
	l.repeated = repeatedLines(pages)
	return l
}

// repeatedLines finds the texts that stand at the same height at the top or bottom of many pages.
func repeatedLines(pages [][]pdftext.Line) map[string]bool {
	const atLeast = 4
	found := map[string]bool{}
	if len(pages) < atLeast {
		return found
	}
	type tally struct {
		y     float64
		pages int
	}
	count := map[string]tally{}
	for _, lines := range pages {
		onPage := map[string]bool{}
		if len(lines) <= 6 {
			continue
		}
		for _, line := range edgeLines(lines) {
			text := maskDigits(line.Text())
			t, known := count[text]
			if !known {
				t.y = line.Y
			}
			if !onPage[text] && math.Abs(t.y-line.Y) < 4 {
				onPage[text] = true
				t.pages++
				count[text] = t
			}
		}
	}
	for text, t := range count {
		if t.pages >= atLeast && t.pages*5 >= len(pages)*2 && isFurniture(text) { // left and right pages may differ
			found[text] = true
		}
	}
	return found
}

// isFurniture reports whether a repeated text is words or a page's number, and not the figures of a table that goes on
// over pages.
func isFurniture(masked string) bool {
	return countLetters(strings.ReplaceAll(masked, "#", "")) > 0 || strings.Count(masked, "#") <= 2 && len(masked) <= 12
}

// edgeLines are the two highest and the two lowest lines of a page.
func edgeLines(lines []pdftext.Line) []pdftext.Line {
	turn := mainTurn(lines)
	var upright []pdftext.Line
	for _, l := range lines {
		if l.Turn == turn {
			upright = append(upright, l)
		}
	}
	slices.SortStableFunc(upright, func(a, b pdftext.Line) int { return cmp.Compare(b.Y, a.Y) })
	if len(upright) <= 4 {
		return upright
	}
	return append(upright[:2:2], upright[len(upright)-2:]...)
}

// mainTurn is the direction of most of a page's text.
func mainTurn(lines []pdftext.Line) int {
	var size [4]int
	for _, l := range lines {
		for _, c := range l.Cells {
			size[l.Turn&3] += len(c.Text)
		}
	}
	most := 0
	for turn, n := range size {
		if n > size[most] {
			most = turn
		}
	}
	return most
}

func maskDigits(s string) string {
	var b strings.Builder
	was := false
	for _, r := range s {
		is := unicode.IsDigit(r)
		if is && was {
			continue
		}
		was = is
		if is {
			r = '#'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// page emits the blocks of one page. Paragraphs do not cross pages, so that a block has one page to cite.
func (l *pdfLayout) page(number int, lines []pdftext.Line) error {
	l.pages = number
	leading := usualLeading(lines)
	edges := map[string]bool{}
	if len(lines) > 6 { // a page of few lines is all content
		for _, e := range edgeLines(lines) {
			edges[e.Text()] = true
		}
	}
	for i := 0; i < len(lines); {
		line := lines[i]
		if text := line.Text(); edges[text] {
			if masked := maskDigits(text); l.repeated[masked] {
				if l.shown[masked] || countLetters(strings.ReplaceAll(masked, "#", "")) == 0 {
					i++
					continue
				}
				l.shown[masked] = true
			}
		}
		if n := tableLength(lines[i:]); n > 0 {
			if err := l.flush(); err != nil {
				return err
			}
			if err := l.table(lines[i : i+n]); err != nil {
				return err
			}
			i += n
			continue
		}
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
		i++
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

// tableLength is how many lines from the first on are rows of a table: at least two with several cells each.
func tableLength(lines []pdftext.Line) int {
	n := 0
	for n < len(lines) && len(lines[n].Cells) >= 2 && len(lines[n].Text()) < 600 && (n == 0 || lines[n].Y < lines[n-1].Y) {
		n++
	}
	if n < 2 {
		return 0
	}
	return n
}

// table emits rows. Columns are named only when all rows have the same cells: a row with a gap could be misread.
func (l *pdfLayout) table(lines []pdftext.Line) error {
	regular := len(lines) >= 3
	for _, line := range lines {
		regular = regular && len(line.Cells) == len(lines[0].Cells)
	}
	w := &rowWriter{out: l.p.out, page: l.pages, plain: l.p.src.PlainRows || !regular}
	for _, line := range lines {
		cells := make([]string, len(line.Cells))
		for i, c := range line.Cells {
			cells[i] = c.Text
		}
		if err := w.add(cells); err != nil {
			return err
		}
	}
	return w.flush()
}

func (l *pdfLayout) kindOf(line pdftext.Line) domain.BlockKind {
	text := line.Text()
	switch {
	case line.Size >= l.body*1.15 && len(text) < 250 && countLetters(text) > 1:
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
		return gap > -0.2 && gap < 1.8 && len(l.para) < 5
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
	n := len(l.para)
	l.para = l.para[:0]
	text := b.String()
	switch {
	case l.kind == domain.BlockHeading:
		return l.p.out.heading(l.level(first.Size), text, l.pages)
	case l.kind == domain.BlockListItem:
		return l.p.out.item(1, text, l.pages)
	case bold && n <= 2 && len(text) < 120 && !endsSentence(text) && first.Size >= l.body*0.95 && countLetters(text) > 2:
		return l.p.out.heading(min(len(l.levels), 4)+1, text, l.pages)
	}
	return l.p.out.paragraph(text, l.pages)
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

// appendLine joins a line to the text before it: without a space between CJK characters, without the hyphen of a
// word that was divided.
func appendLine(b *strings.Builder, line string) {
	before := b.String()
	if before == "" || line == "" {
		b.WriteString(line)
		return
	}
	first, _ := utf8.DecodeRuneInString(line)
	last, n := utf8.DecodeLastRuneInString(before)
	if (last == '-' || last == '‐' || last == '\u00ad') && unicode.IsLower(first) {
		prev, _ := utf8.DecodeLastRuneInString(before[:len(before)-n])
		if unicode.IsLetter(prev) {
			kept := before[:len(before)-n]
			b.Reset()
			b.WriteString(kept)
			b.WriteString(line)
			return
		}
	}
	if !noSpaceScript(last) || !noSpaceScript(first) {
		b.WriteByte(' ')
	}
	b.WriteString(line)
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

// paragraphsOfLines joins lines of text without positions to paragraphs: a line that is well short of its
// neighbours, or ends a sentence and is followed by a capital or a list mark, ends one.
func paragraphsOfLines(text string) []string {
	// PDFium writes U+0002 or U+FFFE for a hyphen that divides a word.
	text = strings.NewReplacer("\u0002\r\n", "", "\u0002\n", "", "\u0002", "", "\ufffe\r\n", "", "\ufffe", "", "\r\n", "\n", "\r", "\n").Replace(text)
	lines := strings.Split(text, "\n")
	width := 0
	for _, l := range lines {
		width = max(width, utf8.RuneCountInString(l))
	}
	var paras []string
	var b strings.Builder
	flush := func() {
		if s := strings.TrimSpace(b.String()); s != "" {
			paras = append(paras, s)
		}
		b.Reset()
	}
	for i, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" {
			flush()
			continue
		}
		if startsItem(line) {
			flush()
		}
		appendLine(&b, line)
		short := utf8.RuneCountInString(line)*10 < width*7
		if i+1 < len(lines) && short {
			next, _ := utf8.DecodeRuneInString(strings.TrimSpace(lines[i+1]))
			if endsSentence(line) || unicode.IsUpper(next) || unicode.IsDigit(next) {
				flush()
			}
		}
	}
	flush()
	return paras
}
