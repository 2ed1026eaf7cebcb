package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"runtime/debug"

	"github.com/klippa-app/go-pdfium/enums"
	"github.com/klippa-app/go-pdfium/requests"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// Limits on the image of a page: its width and height in pixels, and its size in bytes as PNG. The image of an A4 page
// has 1,130 × 1,600 pixels.
const (
	maxPictureWidth  = 1600
	maxPictureHeight = 1600
	maxPictureBytes  = 8 << 20
)

// Picture renders a page of a PDF as a PNG image, including annotations and filled-in forms. Pages are counted from 1.
// Nothing in the PDF is executed: PDFium is compiled without scripting and has no access to files or the network.
func Picture(ctx context.Context, src format.Source, lim format.Limits, page int) (_ []byte, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = &format.Error{Kind: format.Damaged, Message: "the page cannot be drawn", Err: fmt.Errorf("%w: %v\n%s", format.ErrPanic, x, debug.Stack())}
		}
	}()
	lim = lim.WithDefaults()
	if src.Size > lim.MaxInput {
		return nil, format.Errorf(format.TooLarge, "the file has %s; the limit is %s", format.SizeText(src.Size), format.SizeText(lim.MaxInput))
	}
	data, err := src.Bytes()
	if err != nil {
		return nil, err
	}
	r, err := openPDFium(&format.Parser{Ctx: ctx, Src: src, Lim: lim, Doc: &domain.Document{}}, data)
	if format.KindOf(err) != "" {
		return nil, err
	}
	if err != nil {
		return nil, &format.Error{Kind: format.Damaged, Message: "the file is damaged or not a PDF", Err: err}
	}
	defer r.close()
	if page < 1 || page > r.pages {
		return nil, format.Errorf(format.NoPage, "the file has no page %d; its pages are 1 to %d", page, r.pages)
	}
	drawn, err := r.picture(page - 1)
	if err != nil {
		return nil, &format.Error{Kind: format.Damaged, Message: fmt.Sprintf("page %d cannot be drawn", page), Err: err}
	}
	return drawn, nil
}

// picture renders page i, counted from 0.
func (r *pdfiumReader) picture(i int) (_ []byte, err error) {
	defer recoverPDFium(&err)
	size, err := r.instance.GetPageSize(&requests.GetPageSize{Page: r.pageAt(i)})
	if err != nil {
		return nil, fmt.Errorf("measuring the page: %w", err)
	}
	if !(size.Width > 0 && size.Height > 0) { // the comparison also rejects NaN
		return nil, fmt.Errorf("the page has a size of %g × %g", size.Width, size.Height)
	}
	drawn, err := r.instance.RenderPageInPixels(&requests.RenderPageInPixels{
		Page: r.pageAt(i), Width: maxPictureWidth, Height: maxPictureHeight, RenderFlags: enums.FPDF_RENDER_FLAG_ANNOT, RenderForm: true,
	})
	if err != nil {
		return nil, fmt.Errorf("drawing the page: %w", err)
	}
	defer drawn.CleanupFunc()
	// PDFium leaves the background transparent on pages with transparency, so paint it white first.
	paper := image.NewRGBA(drawn.Result.RenderedImage.Bounds())
	draw.Draw(paper, paper.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(paper, paper.Bounds(), drawn.Result.RenderedImage, drawn.Result.RenderedImage.Bounds().Min, draw.Over)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, paper); err != nil {
		return nil, fmt.Errorf("encoding the picture: %w", err)
	}
	if out.Len() > maxPictureBytes {
		return nil, errors.New("the picture has too many bytes")
	}
	return out.Bytes(), nil
}
