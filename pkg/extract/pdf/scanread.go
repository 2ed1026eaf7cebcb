package pdf

import (
	"errors"
	"fmt"
	"image"
	"image/draw"
	"math"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/requests"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/scan"
)

// readScanned lays out pages whose text was recognised in pictures from a document in another format. These pages have
// no size in points, so their size is derived from the pictures' resolution.
func readScanned(p *format.Parser, pages []scan.Page) error {
	const points = 72.0 / format.ScanResolution // per pixel
	s := &source{p: p, pages: len(pages)}
	v := &survey{weight: map[float64]int{}, edges: map[string]tally{}}
	read := make([]page, len(pages))
	for i, found := range pages {
		read[i] = page{need: needText, tried: true, failure: found.Failed}
		if clean := found.WithoutNoise(); found.Failed == "" && clean.Letters() > 0 {
			read[i].lines = scannedLines(clean.Straight(), float64(found.Width)*points, float64(found.Height)*points)
			read[i].letters, read[i].confidence = clean.Letters(), clean.Confidence()
		}
		v.add(read[i].lines)
	}
	v.conclude()
	p.Doc.Pages = len(pages)
	l := newPDFLayout(p, v)
	for i, page := range read {
		if err := p.Ctx.Err(); err != nil {
			return err
		}
		if err := l.page(i+1, page.lines); err != nil {
			return err
		}
		s.scanned.account(i+1, page)
		if s.letters += page.letters; page.confidence > 0 {
			p.Doc.SetRecognised(i+1, page.confidence)
		}
	}
	if s.letters == 0 {
		return s.scanned.noText(len(pages))
	}
	s.scanned.report(p)
	return nil
}

// report records the recognised pages in the document and warns about pages with uncertain or missing text.
func (c *scannedPages) report(p *format.Parser) {
	if n := len(c.unsure); n > 0 {
		p.Out.Warn(fmt.Sprintf("%s: the recognised text is uncertain (%.0f%% confidence on all recognised pages); scan %s again at 300 dpi if words are wrong", pageNumbers(c.unsure), 100*c.mean(), format.Plural(n, "it", "them")))
	}
	if len(c.failed) > 0 {
		p.Out.Warn(pageNumbers(c.failed) + ": " + c.failure)
	}
	if len(c.replaced) > 0 {
		p.Out.Warn(pageNumbers(c.replaced) + ": the text layer does not match the picture, so the text from OCR was used instead")
	}
	if len(c.skipped) > 0 {
		p.Out.Warn(fmt.Sprintf("%s: scanned and not read: OCR reads at most %d pages per file; split the file", pageNumbers(c.skipped), p.Src.Scans.Limit))
	}
}

// route lists the pages whose text was recognised.
func (c *scannedPages) route() string {
	if len(c.recognised) == 0 {
		return ""
	}
	return ", ocr for " + pageNumbers(c.recognised)
}

// mean returns the pages' mean confidence, weighted by number of letters.
func (c *scannedPages) mean() float64 { return c.confidence / float64(max(c.letters, 1)) }

// noText returns the error for a file without text, even after OCR.
func (c *scannedPages) noText(pages int) error {
	if len(c.failed) > 0 && len(c.textless) == 0 {
		return format.Errorf(format.Resources, "the file has no text: %s scanned, and %s; upload a file with a text layer", pagesClause(pages), c.failure)
	}
	return format.Errorf(format.NoText, "the file has no text: no text was recognised in its pictures; scan it again at 300 dpi, or upload the text")
}

// scanPicture returns a page's image for OCR.
func scanPicture(p *format.Parser, number, turn int) (*image.Gray, error) {
	data, err := p.Src.Bytes()
	if err != nil {
		return nil, err
	}
	r, err := openPDFium(p, data)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if number < 1 || number > r.pages {
		return nil, format.Errorf(format.NoPage, "the file has no page %d; its pages are 1 to %d", number, r.pages)
	}
	g, err := r.gray(number - 1)
	if err != nil {
		return nil, &format.Error{Kind: format.Damaged, Message: fmt.Sprintf("page %d cannot be drawn", number), Err: err}
	}
	return format.Turned(g, turn), nil
}

// gray renders page i, counted from 0, in greyscale. It uses the resolution for OCR, or a lower one if the image would
// become too large.
func (r *pdfiumReader) gray(i int) (_ *image.Gray, err error) {
	defer recoverPDFium(&err)
	w, h := r.size(i)
	if !(w > 0 && h > 0) { // the comparison also rejects NaN
		return nil, fmt.Errorf("the page has a size of %g × %g", w, h)
	}
	scale := min(format.ScanResolution/72.0, format.MaxScanSide/max(w, h), math.Sqrt(format.MaxScanPixels/w/h))
	width, height := max(int(w*scale), 1), max(int(h*scale), 1)
	drawn, err := r.instance.RenderPageInPixels(&requests.RenderPageInPixels{
		Page: r.pageAt(i), Width: width, Height: height, RenderFlags: enums.FPDF_RENDER_FLAG_ANNOT, RenderForm: true,
	})
	if err != nil {
		return nil, fmt.Errorf("drawing the page: %w", err)
	}
	defer drawn.CleanupFunc()
	picture := drawn.Result.RenderedImage
	if at := picture.Bounds(); at.Empty() || at.Dx()*at.Dy() > format.MaxScanPixels {
		return nil, errors.New("the page was drawn in a wrong size")
	}
	g := image.NewGray(image.Rect(0, 0, picture.Bounds().Dx(), picture.Bounds().Dy()))
	rgba, ok := picture.(*image.RGBA)
	if !ok {
		draw.Draw(g, g.Rect, image.White, image.Point{}, draw.Src)
		draw.Draw(g, g.Rect, picture, picture.Bounds().Min, draw.Over)
		return g, nil
	}
	for y := range g.Rect.Dy() { // draw.Draw would take ten times longer
		row := rgba.Pix[y*rgba.Stride:]
		for x := range g.Rect.Dx() {
			red, green, blue, alpha := uint32(row[4*x]), uint32(row[4*x+1]), uint32(row[4*x+2]), uint32(row[4*x+3])
			// PDFium leaves the background transparent on pages with transparency, so blend the page with white.
			g.Pix[y*g.Stride+x] = uint8(min((299*red+587*green+114*blue)/1000+255-alpha, 255))
		}
	}
	return g, nil
}

// size returns the width and height of page i, counted from 0, in points.
func (r *pdfiumReader) size(i int) (width, height float64) {
	var err error
	defer recoverPDFium(&err)
	size, err := r.instance.GetPageSize(&requests.GetPageSize{Page: r.pageAt(i)})
	if err != nil {
		return 0, 0
	}
	return size.Width, size.Height
}
