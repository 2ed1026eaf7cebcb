package pdf

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"

	"github.com/sluice/sluice/pkg/extract/pdf/pdfgarbled"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// maxPDFiumChars is the maximum number of characters to request from PDFium per page.
const maxPDFiumChars = 500_000

// Bounds for splitting a word where the height of its characters changes: the minimum difference in height, in points,
// and the maximum length of the word.
const (
	uneven        = 0.5
	maxUnevenWord = 64
)

// pdfiumPage is a page as read by PDFium.
type pdfiumPage struct {
	lines []pdftext.Line
	chars int // characters found on the page, without blanks
	known int // characters that PDFium could decode

	unknown pdfgarbled.Unknown // undecoded characters in words
}

// page reads page i, counted from 0. It builds lines from word positions, so that the page goes through the same layout
// analysis as any other.
func (r *pdfiumReader) page(ctx context.Context, i int, hidden []pdftext.Box) (read pdfiumPage, err error) {
	defer recoverPDFium(&err)
	loaded, err := r.instance.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: r.pageAt(i)})
	if err != nil {
		return pdfiumPage{}, fmt.Errorf("loading page %d with PDFium: %w", i+1, err)
	}
	text := loaded.TextPage
	defer func() {
		defer recoverPDFium(&err)
		_, _ = r.instance.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text})
	}()
	count, err := r.instance.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text})
	if err != nil {
		return pdfiumPage{}, fmt.Errorf("counting the characters of page %d with PDFium: %w", i+1, err)
	}
	c := pdfiumWords{r: r, text: text, hidden: hidden}
	if box, err := r.instance.FPDF_GetPageBoundingBox(&requests.FPDF_GetPageBoundingBox{Page: r.pageAt(i)}); err == nil {
		c.page = box.Rect
	}
	units, err := c.units(min(count.Count, maxPDFiumChars))
	if err != nil {
		return pdfiumPage{}, fmt.Errorf("reading page %d with PDFium: %w", i+1, err)
	}
	for _, u := range units {
		if u == 0 || !isBlank(u) {
			read.chars++
			if pdfgarbled.IsDecoded(u) {
				read.known++
			}
		}
	}
	read.unknown.AddWords(units)
	for from := 0; from < len(units); {
		to := from + 1
		for !endsWord(units[to-1]) && to < len(units) && !isBlank(units[to]) {
			to++
		}
		if from&0xff == 0 && ctx.Err() != nil {
			return pdfiumPage{}, ctx.Err()
		}
		c.word(units[from:to], from)
		from = to
	}
	read.lines = c.out.Lines()
	return read, nil
}

// pdfiumWords passes a page's words to a Builder, each as one glyph. A sandbox call costs as much as laying out a line.
// So pdfiumWords requests positions only for a word's first and last characters, and requests the properties that a
// run's characters share only once.
type pdfiumWords struct {
	r      *pdfiumReader
	text   references.FPDF_TEXTPAGE
	hidden []pdftext.Box         // positions of text in hidden layers, which PDFium reads like ordinary text
	page   structs.FPDF_FS_RECTF // the page's visible part; empty if unknown
	out    pdftext.Builder

	// The current run: words on one baseline in one font.
	open        bool
	top, bottom float32
	size        float64
	dx, dy      float64
	base        [2]float64
	bold        bool
}

// units returns the UTF-16 code units of a page's characters.
func (c *pdfiumWords) units(count int) ([]rune, error) {
	units := make([]rune, 0, count)
	if count == 0 {
		return units, nil
	}
	c.r.calls++
	all, err := c.r.instance.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: c.text, StartIndex: 0, Count: count})
	if err == nil {
		for _, r := range strings.TrimSuffix(all.Text, "\x00") {
			if r >= 0x10000 {
				break // otherwise positions and text would be out of step
			}
			units = append(units, r)
		}
		if len(units) == count {
			return units, nil
		}
	}
	units = units[:0]
	c.r.calls += count
	for n := range count {
		code, err := c.r.instance.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: c.text, Index: n})
		if err != nil {
			return nil, err
		}
		units = append(units, rune(code.Unicode&0x1fffff))
	}
	return units, nil
}

// PDFium's characters for a hyphen that divides a word at the end of a line.
const (
	pdfiumHyphen       = 2
	pdfiumNoncharacter = 0xfffe
)

// endsWord reports whether r ends a word: a blank, or a hyphen that divides the word.
func endsWord(r rune) bool { return isBlank(r) || r == pdfiumHyphen || r == pdfiumNoncharacter }

func isBlank(r rune) bool { return r == 0 || unicode.IsSpace(r) }

// word passes a word or a blank to the Builder. n is the index of its first character.
func (c *pdfiumWords) word(units []rune, n int) {
	if isBlank(units[0]) {
		if units[0] == ' ' {
			c.out.Blank()
		}
		return
	}
	first, ok := c.box(n)
	if !ok {
		return // PDFium inserted the character, so it has no position on the page
	}
	last, raised := first, first
	if len(units) > 1 {
		if b, ok := c.box(n + len(units) - 1); ok {
			last, raised = b, b
		}
		if end := lastLetter(units); end > 0 && end < len(units)-1 { // in "m2)", the end is on the baseline again
			if b, ok := c.box(n + end); ok {
				raised = b
			}
		}
	}
	if len(units) <= maxUnevenWord && differInSize(first, raised) && c.parts(units, n, first) {
		return
	}
	if c.outside(first, last) || inBoxes(c.hidden, float64(min(first.Left, last.Left)+max(first.Right, last.Right))/2, float64(min(first.Bottom, last.Bottom)+max(first.Top, last.Top))/2) {
		return
	}
	if (!c.open || c.dy != 0 || first.Top != c.top || first.Bottom != c.bottom) && !c.startRun(n, first) {
		return
	}
	from, to := c.span(first, last)
	c.out.Glyph(wordText(units), c.size, c.dx, c.dy, from, to, c.bold)
}

// lastLetter returns the index of the last letter or digit in a word, or -1 if there is none.
func lastLetter(units []rune) int {
	end := len(units) - 1
	for end >= 0 && !unicode.IsLetter(units[end]) && !unicode.IsDigit(units[end]) {
		end--
	}
	return end
}

func differInSize(a, b structs.FPDF_FS_RECTF) bool {
	return math.Abs(float64(a.Top-b.Top)) > uneven || math.Abs(float64(a.Bottom-b.Bottom)) > uneven
}

// parts splits a word at changes in its characters' height, as in a number with an exponent, and passes the parts to
// the Builder. If all characters have the same height, it does nothing and returns false.
func (c *pdfiumWords) parts(units []rune, n int, first structs.FPDF_FS_RECTF) bool {
	last, from := first, 0
	for i := 1; i < len(units); i++ {
		b, ok := c.box(n + i)
		if !ok || !differInSize(b, last) {
			continue
		}
		c.word(units[from:i], n+from)
		from, last = i, b
	}
	if from == 0 {
		return false
	}
	c.word(units[from:], n+from)
	return true
}

func (c *pdfiumWords) box(n int) (structs.FPDF_FS_RECTF, bool) {
	c.r.calls++
	b, err := c.r.instance.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: c.text, Index: n})
	if err != nil || b.Rect.Right-b.Rect.Left <= 0 && b.Rect.Top-b.Rect.Bottom <= 0 {
		return structs.FPDF_FS_RECTF{}, false
	}
	return b.Rect, true
}

// outside reports whether a word is outside the page and thus invisible.
func (c *pdfiumWords) outside(first, last structs.FPDF_FS_RECTF) bool {
	if c.page.Right <= c.page.Left || c.page.Top <= c.page.Bottom {
		return false
	}
	return min(first.Left, last.Left) >= c.page.Right || max(first.Right, last.Right) <= c.page.Left ||
		min(first.Bottom, last.Bottom) >= c.page.Top || max(first.Top, last.Top) <= c.page.Bottom
}

// wordText converts PDFium's code units to text.
func wordText(units []rune) string {
	var b strings.Builder
	for i := 0; i < len(units); i++ {
		r := units[i]
		switch {
		case r == pdfiumHyphen || r == pdfiumNoncharacter:
			r = '-'
		case utf16.IsSurrogate(r) && i+1 < len(units):
			r = utf16.DecodeRune(r, units[i+1])
			i++
		}
		b.WriteRune(r)
	}
	return b.String()
}

// startRun requests the properties that a run's characters share. It returns false if the run has no position or an
// implausible size.
func (c *pdfiumWords) startRun(n int, b structs.FPDF_FS_RECTF) bool {
	i := c.r.instance
	c.r.calls += 4 // for origin, matrix, size and font
	c.open, c.top, c.bottom = true, b.Top, b.Bottom
	c.dx, c.dy, c.size = 1, 0, math.Abs(float64(b.Top-b.Bottom))
	origin, err := i.FPDFText_GetCharOrigin(&requests.FPDFText_GetCharOrigin{TextPage: c.text, Index: n})
	if err != nil {
		return false
	}
	c.base = [2]float64{origin.X, origin.Y}
	if m, err := i.FPDFText_GetMatrix(&requests.FPDFText_GetMatrix{TextPage: c.text, Index: n}); err == nil {
		across, along := math.Hypot(float64(m.Matrix.C), float64(m.Matrix.D)), math.Hypot(float64(m.Matrix.A), float64(m.Matrix.B))
		if along > 0 {
			c.dx, c.dy = float64(m.Matrix.A)/along, float64(m.Matrix.B)/along
		}
		if s, err := i.FPDFText_GetFontSize(&requests.FPDFText_GetFontSize{TextPage: c.text, Index: n}); err == nil && s.FontSize*across > 0 {
			c.size = s.FontSize * across
		}
	}
	if math.Abs(c.dy) < 0.02 {
		c.dx, c.dy = math.Copysign(1, c.dx), 0
	}
	c.bold = false
	if info, err := i.FPDFText_GetFontInfo(&requests.FPDFText_GetFontInfo{TextPage: c.text, Index: n}); err == nil {
		name := strings.ToLower(info.FontName)
		c.bold = strings.Contains(name, "bold") || strings.Contains(name, "black") || strings.Contains(name, "heavy")
	}
	return c.size > 0 && c.size < 1e5
}

// span returns the start and end of a word on its baseline. PDFium's boxes are axis-aligned, so the end of a rotated
// word is computed from its direction.
func (c *pdfiumWords) span(first, last structs.FPDF_FS_RECTF) (from, to [2]float64) {
	left, right := float64(min(first.Left, last.Left)), float64(max(first.Right, last.Right))
	bottom, top := float64(min(first.Bottom, last.Bottom)), float64(max(first.Top, last.Top))
	switch {
	case c.dy == 0 && c.dx > 0:
		return [2]float64{left, c.base[1]}, [2]float64{right, c.base[1]}
	case c.dy == 0:
		return [2]float64{right, c.base[1]}, [2]float64{left, c.base[1]}
	}
	length := math.Abs(c.dy) * (top - bottom)
	if math.Abs(c.dx) > 0.1 {
		length = math.Hypot(right-left, top-bottom) - 0.5*c.size
	}
	return c.base, [2]float64{c.base[0] + c.dx*length, c.base[1] + c.dy*length}
}
