package pdf

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium/requests"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfmatch"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
	"github.com/sluice/sluice/pkg/extract/scan"
	"github.com/sluice/sluice/pkg/lists"
)

const (
	nearPages       = 2    // how many pages away from the passage's page to search
	sufficientShare = 0.98 // found fraction of a span that ends the search for it
	minShare        = 0.6  // a span counts as not found below this fraction, as in text from another file
	minPageLetters  = 20   // PDFium may read a page with fewer letters, as in a document without text
	linesOfPage     = 1 << 20
	maxRectangles   = 50_000 // after this number of rectangles, no more passages are located
)

// locate finds passages of the extracted text on the pages.
func locate(p *format.Parser, passages []format.Passage) ([][][]domain.PageRectangle, error) {
	data, err := p.Src.Bytes()
	if err != nil {
		return nil, err
	}
	s, err := openPDF(p, data)
	if err != nil {
		return nil, err
	}
	defer s.close()
	l := &locator{source: s, glyphs: map[int][]pdfmatch.Glyph{}, frames: map[int]pdftext.Frame{}, unread: map[int]bool{}}
	rectangles := make([][][]domain.PageRectangle, len(passages))
	n := 0
	for i, passage := range passages {
		if n > maxRectangles {
			rectangles[i] = make([][]domain.PageRectangle, len(passage.Spans))
			continue
		}
		if rectangles[i], err = l.locate(passage); err != nil {
			return nil, err
		}
		for _, span := range rectangles[i] {
			n += len(span)
		}
	}
	if len(l.unread) > 0 && p.Src.Scans.Report {
		return nil, &format.Error{Kind: format.Scanned, Pages: slices.Sorted(maps.Keys(l.unread)), Message: "the passages are on scanned pages, which need OCR"}
	}
	return rectangles, nil
}

// locator finds passages on a file's pages. It caches the pages it has read.
type locator struct {
	*source
	glyphs map[int][]pdfmatch.Glyph // by page, from 1
	frames map[int]pdftext.Frame
	unread map[int]bool // scanned pages with passages, whose text has not been recognised
}

// locate finds the spans of one passage. It searches the passage's page first. If a span isn't found there completely,
// locate searches neighbouring pages, too.
func (l *locator) locate(passage format.Passage) ([][]domain.PageRectangle, error) {
	rectangles, shares := make([][]domain.PageRectangle, len(passage.Spans)), make([]float64, len(passage.Spans))
	spans := lists.Map(passage.Spans, func(s [2]int) pdfmatch.Span { return pdfmatch.Span{Start: s[0], End: s[1]} })
	for near := range nearPages + 1 {
		text, err := l.text(passage.Page-near, passage.Page+near, passage.Page)
		if err != nil {
			return nil, err
		}
		if l.unread[passage.Page] {
			break
		}
		missing := false
		for i, m := range text.Find(passage.Text, spans) {
			if m.Share > shares[i] && m.Share >= minShare {
				shares[i], rectangles[i] = m.Share, text.Rectangles(m.Glyphs, func(page int) (width, height float64) { return l.frames[page].Size() })
			}
			missing = missing || shares[i] < sufficientShare
		}
		if !missing {
			break
		}
	}
	return rectangles, nil
}

// text returns the text of pages `from` to `to` (1-based, inclusive). If page `wanted` needs OCR first, text adds it to
// l.unread.
func (l *locator) text(from, to, wanted int) (*pdfmatch.Text, error) {
	var all []pdfmatch.Glyph
	for number := max(from, 1); number <= min(to, l.pages); number++ {
		glyphs, known := l.glyphs[number]
		if !known {
			var err error
			var scanned bool
			if glyphs, scanned, err = l.read(number); err != nil {
				return nil, err
			}
			if scanned && number == wanted {
				l.unread[number] = true
			}
			l.glyphs[number] = glyphs
		}
		all = append(all, glyphs...)
	}
	return pdfmatch.NewText(all), nil
}

// read returns a page's glyphs in reading order, using the same reader as extraction. `scanned` means the page needs
// OCR first.
func (l *locator) read(number int) (glyphs []pdfmatch.Glyph, scanned bool, err error) {
	if err := l.p.Ctx.Err(); err != nil {
		return nil, false, err
	}
	page, doubt := l.readOwn(number - 1)
	if doubt.why == "" && page.letters < minPageLetters {
		doubt = doubtOf(pdftext.Stats{}, pdftext.Stats{}, page, true)
	}
	if page, err = l.readBetter(number-1, page, doubt); err != nil {
		return nil, false, err
	}
	frame := l.frame(number - 1)
	l.frames[number] = frame
	page = l.recognised(number-1, page)
	if page.confidence > 0 {
		width, _ := frame.Size()
		return scannedGlyphs(l.p.Src.Scans.Pages[number].WithoutNoise(), number, width), false, nil
	}
	scanned = !page.tried && page.need != needNone && page.need != needCheck
	place := frame.FromTop
	if page.byPDFium != "" {
		place = func(b pdftext.Box) pdftext.Box { return frame.FromTop(frame.Upright(b)) } // PDFium's positions are in the file's coordinates
	}
	for i, line := range readingOrder(withFields(page)) {
		slanted, cell := line.Slanted(), -1
		begins := true
		for _, g := range line.Glyphs() {
			b := place(g.Box)
			glyphs = append(glyphs, pdfmatch.Glyph{
				Page: number, Line: number*linesOfPage + i, Text: strings.TrimRightFunc(g.Text, unicode.IsSpace), Box: pdfmatch.Box{X0: b.X0, Y0: b.Y0, X1: b.X1, Y1: b.Y1},
				Size: line.Size, Begins: begins, Cell: g.Cell != cell, Slanted: slanted,
			})
			last, _ := utf8.DecodeLastRuneInString(g.Text)
			begins, cell = unicode.IsSpace(last), g.Cell
		}
	}
	return glyphs, scanned, nil
}

// scannedGlyphs returns a recognised page's words at their positions on the displayed page, in points. `width` is the
// page's width.
func scannedGlyphs(found scan.Page, number int, width float64) []pdfmatch.Glyph {
	var glyphs []pdfmatch.Glyph
	for i, line := range found.Lines {
		for _, w := range line.Words {
			x0, y0, x1, y1, pixels := found.Original(w)
			scale := width / pixels
			glyphs = append(glyphs, pdfmatch.Glyph{
				Page: number, Line: number*linesOfPage + i, Text: w.Text, Box: pdfmatch.Box{X0: x0 * scale, Y0: y0 * scale, X1: x1 * scale, Y1: y1 * scale},
				Size: line.Size * scale, Begins: true, Slanted: found.Angle != 0,
			})
		}
	}
	return glyphs
}

// frame returns the frame of page i, counted from 0.
func (l *locator) frame(i int) pdftext.Frame {
	if l.own != nil {
		return l.own.Frame(i)
	}
	if frame, err := l.pdfium.frame(i); err == nil {
		return frame
	}
	return pdftext.FrameOf(pdftext.Box{}, 0)
}

// frame asks PDFium for the frame of page i, counted from 0.
func (r *pdfiumReader) frame(i int) (frame pdftext.Frame, err error) {
	defer recoverPDFium(&err)
	r.calls += 2
	box, err := r.instance.FPDF_GetPageBoundingBox(&requests.FPDF_GetPageBoundingBox{Page: r.pageAt(i)})
	if err != nil {
		return frame, fmt.Errorf("reading the size of page %d with PDFium: %w", i+1, err)
	}
	turn, err := r.instance.FPDFPage_GetRotation(&requests.FPDFPage_GetRotation{Page: r.pageAt(i)})
	if err != nil {
		return frame, fmt.Errorf("reading the rotation of page %d with PDFium: %w", i+1, err)
	}
	const quarter = 90
	return pdftext.FrameOf(pdftext.Box{
		X0: float64(box.Rect.Left), Y0: float64(box.Rect.Bottom), X1: float64(box.Rect.Right), Y1: float64(box.Rect.Top),
	}, quarter*int(turn.PageRotation)), nil
}
