package pdf

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/pdf/pdfgarbled"
	"github.com/sluice/sluice/pkg/extract/pdf/pdftext"
)

// source reads a file's pages with one of two readers: package pdftext, which understands fonts, table cells and form
// fields, or PDFium, which is compiled to WebAssembly and sandboxed. PDFium reads files that pdftext cannot open and
// pages whose text pdftext seems to have decoded wrongly.
type source struct {
	p     *format.Parser
	data  []byte
	pages int
	own   *pdftext.Document // nil if pdftext cannot open the file

	pdfium    *pdfiumReader // opened for the first page that needs it
	pdfiumErr error         // why PDFium cannot be used; it is not tried again
	poor      bool          // the document has hardly any text, so PDFium also reads pages without text
	budget    pdfiumBudget
	pageCache map[int]page

	// Results. Page numbers start at 1.
	letters          int
	why              string // the first reason for using PDFium
	byPDFium         []int
	scans            []int // pages with pictures and no text
	broken           []int
	skippedUnhelpful []int // pages not passed to PDFium because it did not know earlier pages' characters
	skippedCallLimit []int // pages not passed to PDFium because of its call limit
	unseen           unseenPages
	garbled          garbledPages
	scanned          scannedPages
}

// page is one page's content.
type page struct {
	lines    []pdftext.Line
	grids    []grid // possible tables
	letters  int
	image    bool       // the page has a picture
	broken   bool       // the page could not be read to the end
	byPDFium string     // why PDFium read the page; "" if pdftext read it
	skipped  skipReason // why PDFium did not read the page despite doubtful text
	fields   []pdftext.Field
	unseen   pdftext.Unseen
	unknown  pdfgarbled.Unknown // characters the reader could not decode
	drawn    drawnPage

	substituted bool // the letters look substituted; see pdfgarbled.HasSubstitutedLetters

	need       scanNeed // why the page needs OCR
	tried      bool     // OCR was tried
	failure    string   // why OCR failed; "" if it did not
	confidence float64  // mean confidence of the recognised text, from 0 to 1; 0 if not recognised
	compared   bool     // the text layer was compared with recognised text
	disagrees  bool     // the text layer was replaced by recognised text
}

// drawnPage describes what a page shows other than text.
type drawnPage struct {
	pictured float64 // share of the page covered by pictures
	shapes   int     // curved shapes
	layered  bool    // most text is an invisible layer over a picture
}

// openPDF opens a file with the first reader that can read it.
func openPDF(p *format.Parser, data []byte) (*source, error) {
	s := &source{p: p, data: data, pageCache: map[int]page{}}
	own, err := pdftext.Open(data)
	if err == nil {
		s.own, s.pages = own, own.NumPages()
	} else {
		if err := p.Ctx.Err(); err != nil {
			return nil, err
		}
		if !pdftext.HasContent(data) && !errors.Is(err, pdftext.ErrEncrypted) {
			return nil, damagedPDF("it has no pages", err)
		}
		if s.fallback() == nil {
			return nil, unreadableError(fmt.Errorf("opening the PDF: %w", err), s.pdfiumErr)
		}
		s.pages = s.pdfium.pages
	}
	if s.pages > p.Lim.MaxPages {
		s.close()
		return nil, format.Errorf(format.TooLarge, "the file has %d pages, more than the limit of %d", s.pages, p.Lim.MaxPages)
	}
	return s, nil
}

func (s *source) close() {
	if s.pdfium != nil {
		s.pdfium.close()
	}
}

// fallback returns PDFium with the file open, or nil if PDFium cannot be used. Starting PDFium takes a second, so
// fallback also returns nil if the pages have no content for PDFium to find.
func (s *source) fallback() *pdfiumReader {
	if s.pdfium != nil || s.pdfiumErr != nil {
		return s.pdfium
	}
	if s.own != nil && !pdftext.HasContent(s.data) {
		s.pdfiumErr = errors.New("the pages have no content")
		return nil
	}
	s.pdfium, s.pdfiumErr = openPDFium(s.p, s.data)
	return s.pdfium
}

// page reads page i, counted from 0.
func (s *source) page(i int) (page, error) {
	if err := s.p.Ctx.Err(); err != nil {
		return page{}, err
	}
	if page, ok := s.pageCache[i]; ok {
		delete(s.pageCache, i)
		return page, nil
	}
	page, doubt := s.readOwn(i)
	page, err := s.readBetter(i, page, doubt)
	return s.recognised(i, page), err
}

// readOwn reads page i with pdftext. It also returns the reason, if any, to doubt the page's text.
func (s *source) readOwn(i int) (page, doubt) {
	if s.own == nil {
		return page{}, doubt{why: "open"}
	}
	before := s.own.Stats
	read, err := s.own.Page(s.p.Ctx, i)
	page := page{lines: read.Lines, letters: letters(read.Lines), broken: err != nil, fields: read.Fields, unseen: read.Unseen}
	page.unknown = pdfgarbled.UnknownIn(read.Lines)
	for _, f := range read.Fields {
		page.letters += format.CountLetters(f.Value)
	}
	page.grids = gridsOf(read.Drawn, mainTurn(read.Lines))
	page.drawn = drawnPage{pictured: read.Pictured, shapes: read.Shapes, layered: read.Layered*2 > s.own.Stats.Glyphs-before.Glyphs}
	page.image = page.letters == 0 && s.own.HasImage(i)
	return page, doubtOf(before, s.own.Stats, page, s.poor)
}

// readBetter has PDFium read a page whose pdftext result is doubtful, and returns the better of the two results.
func (s *source) readBetter(i int, page page, d doubt) (page, error) {
	if d.why == "" {
		return page, nil
	}
	other := s.fallback()
	if other == nil {
		return page, s.p.Ctx.Err()
	}
	if why := s.budget.next(other.calls, s.own != nil); why != skipNone {
		return page.withoutPDFium(why, d), nil
	}
	if page.unseen.Hidden+page.unseen.Outside > 0 && (d.why == "sparse" || d.why == "empty") {
		return page, nil // PDFium would only add invisible text
	}
	read, err := other.page(s.p.Ctx, i, page.unseen.Layers)
	if ctxErr := s.p.Ctx.Err(); ctxErr != nil {
		return page, ctxErr
	}
	s.budget.record(read)
	letters := letters(read.lines)
	switch {
	case err != nil && s.own == nil:
		page.broken = true
		return page, nil
	case err != nil, d.readable && page.letters*10 >= letters*d.margin:
		return page, nil
	case s.own != nil && s.budget.exhausted():
		return page.withoutPDFium(skipUnhelpful, d), nil
	}
	page.lines, page.letters, page.byPDFium, page.broken = read.lines, letters, d.why, false
	page.unknown = read.unknown
	page.image = letters == 0 && (page.image || other.hasImage(i))
	return page, nil
}

// withoutPDFium returns pdftext's version of a page that PDFium did not read or could not improve.
func (page page) withoutPDFium(why skipReason, d doubt) page {
	page.skipped = why
	if d.why == "open" {
		page.broken = true
	}
	if !d.readable {
		page.lines = pdfgarbled.WithoutUnknown(page.lines)
	}
	return page
}

func (s *source) account(i int, page page) {
	s.letters += page.letters
	if page.byPDFium != "" {
		s.byPDFium = append(s.byPDFium, i+1)
		s.why = cmp.Or(s.why, page.byPDFium)
	}
	s.scanned.account(i+1, page)
	if page.confidence > 0 {
		s.p.Doc.SetRecognised(i+1, page.confidence)
	}
	if page.image && page.letters == 0 && !page.tried && (page.need != needNone || s.p.Src.Scans.Limit == 0) {
		s.scans = append(s.scans, i+1)
	}
	if page.broken {
		s.broken = append(s.broken, i+1)
	}
	s.unseen.add(i+1, page.unseen)
	s.garbled.add(i+1, page)
	switch page.skipped {
	case skipUnhelpful:
		s.skippedUnhelpful = append(s.skippedUnhelpful, i+1)
	case skipCallLimit:
		s.skippedCallLimit = append(s.skippedCallLimit, i+1)
	}
}

// doubt is the reason why the text that pdftext read from a page may be wrong.
type doubt struct {
	why      string // reason for the doubt; "" if there is none
	readable bool   // the text is still useful
	margin   int    // keep pdftext's result if it has at least margin/10 of the letters that PDFium finds
}

// doubtOf returns the first sign that a page was decoded wrongly.
func doubtOf(before, after pdftext.Stats, page page, poor bool) doubt {
	glyphs := after.Glyphs - before.Glyphs
	undecoded, odd := after.Undecoded-before.Undecoded, after.Odd-before.Odd
	many := func(bad, share int) bool { return bad*share > glyphs && (bad >= 10 || bad*4 > glyphs) }
	d := doubt{readable: (undecoded+odd)*4 <= glyphs && page.letters > 0, margin: 10}
	switch {
	case page.broken:
		d.why = "failed"
	case many(undecoded, 20):
		d.why, d.margin = "undecoded", 12
	case many(odd, 33):
		d.why, d.margin = "odd", 12
	case poor && page.letters == 0:
		d.why = "empty"
	case poor && page.letters < 20:
		d.why = "sparse"
	}
	return d
}

func letters(lines []pdftext.Line) int {
	n := 0
	for _, l := range lines {
		for _, c := range l.Cells {
			n += format.CountLetters(c.Text)
		}
	}
	return n
}
