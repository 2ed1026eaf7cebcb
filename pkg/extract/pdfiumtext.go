package extract

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"

	"github.com/sluice/sluice/pkg/extract/pdftext"
)

// maxPDFiumChars is how many characters of a page PDFium is asked for.
const maxPDFiumChars = 500_000

// page reads the lines of page i, from 0, from the places of PDFium's characters, so that its pages get the same
// layout as others.
func (r *pdfiumReader) page(ctx context.Context, i int) (lines []pdftext.Line, err error) {
	defer recoverPDFium(&err)
	loaded, err := r.instance.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: r.pageAt(i)})
	if err != nil {
		return nil, fmt.Errorf("loading page %d with PDFium: %w", i+1, err)
	}
	text := loaded.TextPage
	defer func() {
		defer recoverPDFium(&err)
		_, _ = r.instance.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text})
	}()
	count, err := r.instance.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text})
	if err != nil {
		return nil, fmt.Errorf("counting the characters of page %d with PDFium: %w", i+1, err)
	}
	c := pdfiumChars{r: r, text: text}
	for n := range min(count.Count, maxPDFiumChars) {
		if n&0xff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := c.char(n); err != nil {
			return c.out.Lines(), fmt.Errorf("reading page %d with PDFium: %w", i+1, err)
		}
	}
	return c.out.Lines(), nil
}

// pdfiumChars passes the characters of a page on as glyphs. What costs a call into the sandbox and is the same for a
// run of characters is asked once a run.
type pdfiumChars struct {
	r    *pdfiumReader
	text references.FPDF_TEXTPAGE
	out  pdftext.Builder
	high rune // the first half of a character beyond 16 bits

	// The run: characters on one baseline in one font.
	open        bool
	top, bottom float32
	size        float64
	dx, dy      float64
	base        [2]float64
	bold        bool
}

func (c *pdfiumChars) char(n int) error {
	code, err := c.r.instance.FPDFText_GetUnicode(&requests.FPDFText_GetUnicode{TextPage: c.text, Index: n})
	if err != nil {
		return err
	}
	text := c.decode(rune(code.Unicode & 0x1fffff))
	if text == "" {
		return nil
	}
	box, err := c.r.instance.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: c.text, Index: n})
	if err != nil {
		return nil // a character that PDFium made up, as the ends of lines
	}
	b := box.Rect
	if strings.TrimSpace(text) == "" && b.Right-b.Left <= 0 && b.Top-b.Bottom <= 0 {
		c.out.Blank()
		return nil
	}
	upright := c.dy == 0
	if !c.open || !upright || b.Top != c.top || b.Bottom != c.bottom {
		if !c.startRun(n, b) {
			return nil
		}
	}
	from, to := c.span(b)
	c.out.Glyph(text, c.size, c.dx, c.dy, from, to, c.bold)
	return nil
}

// decode turns a code unit of PDFium into text: "" for what has no place of its own.
func (c *pdfiumChars) decode(r rune) string {
	const hyphen, noncharacter = 2, 0xfffe // PDFium's signs for the hyphen that divides a word
	switch {
	case r == '\r' || r == '\n' || r == 0:
		return ""
	case r == hyphen || r == noncharacter:
		return "-"
	case r >= 0xd800 && r < 0xdc00:
		c.high = r
		return ""
	case r >= 0xdc00 && r < 0xe000 && c.high != 0:
		r = 0x10000 + (c.high-0xd800)<<10 + (r - 0xdc00)
		c.high = 0
	}
	return string(r)
}

// startRun asks for what the characters of a run share. It reports whether there is enough to go on.
func (c *pdfiumChars) startRun(n int, b structs.FPDF_FS_RECTF) bool {
	i := c.r.instance
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

// span is where a character begins and ends on its baseline. Boxes lie along the page's edges, so those of turned
// text are measured along its direction.
func (c *pdfiumChars) span(b structs.FPDF_FS_RECTF) (from, to [2]float64) {
	left, right := float64(b.Left), float64(b.Right)
	switch {
	case c.dy == 0 && c.dx > 0:
		return [2]float64{left, c.base[1]}, [2]float64{right, c.base[1]}
	case c.dy == 0:
		return [2]float64{right, c.base[1]}, [2]float64{left, c.base[1]}
	}
	width := math.Abs(c.dy) * float64(b.Top-b.Bottom)
	if math.Abs(c.dx) > 0.1 {
		width = min(c.size*0.6, math.Hypot(right-left, float64(b.Top-b.Bottom)))
	}
	return c.base, [2]float64{c.base[0] + c.dx*width, c.base[1] + c.dy*width}
}
