package format

import (
	"context"
	"image"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/scan"
)

// Resolution and maximum size of the page images rendered for OCR. Tesseract works best at 300 dots per inch, which is
// 2,480 × 3,508 pixels for an A4 page.
const (
	ScanResolution = 300      // dots per inch
	MaxScanSide    = 6000     // pixels
	MaxScanPixels  = 16 << 20 // pixels
)

// Scan detects a document's format and renders a page for OCR, with skewed lines of text straightened. Pages are
// counted from 1. In formats without scanned pages, `page` is a picture's number; see domain.Picture. Scan returns an
// *Error if the document cannot be read or a reader panics.
func (r *Registry) Scan(ctx context.Context, src Source, lim Limits, page, turn int) (straight scan.Picture, err error) {
	lim = lim.WithDefaults()
	head, err := readHead(src, lim)
	if err != nil {
		return straight, err
	}
	defer recoverPanic(&err)
	kind := r.Detect(head, src.Name, src.Declared)
	f := r.byType(kind)
	if f == nil {
		return straight, r.Unsupported(kind)
	}
	var picture *image.Gray
	if f.Scan == nil {
		if picture, err = r.scanPicture(ctx, src, lim, kind, head, page, turn); err != nil {
			return straight, err
		}
		return scan.Straightened(picture), nil
	}
	p := &Parser{Ctx: ctx, Src: src, Lim: lim, Formats: r, Doc: &domain.Document{MIMEType: kind}}
	p.Out = &Sink{Left: lim.MaxText, Max: lim.MaxText, Emit: func(domain.Block) error { return nil }}
	if picture, err = f.Scan(p, page, turn); err != nil {
		return straight, err
	}
	return scan.Straightened(picture), nil
}

// ReadScanned lays out pages recognised by OCR, using the one format that has a Scanned function.
func (p *Parser) ReadScanned(pages []scan.Page) error {
	for i := range p.Formats.formats {
		if f := &p.Formats.formats[i]; f.Scanned != nil {
			return f.Scanned(p, pages)
		}
	}
	return Errorf(Unsupported, "no document format supports OCR")
}

// Turned returns a picture rotated clockwise by the given number of quarter turns.
func Turned(g *image.Gray, turn int) *image.Gray {
	w, h := g.Rect.Dx(), g.Rect.Dy()
	turn = (turn%4 + 4) % 4
	if turn == 0 {
		return g
	}
	out := image.NewGray(image.Rect(0, 0, w, h))
	if turn != 2 {
		out = image.NewGray(image.Rect(0, 0, h, w))
	}
	for y := range h {
		row := g.Pix[y*g.Stride : y*g.Stride+w]
		for x, v := range row {
			switch turn {
			case 1:
				out.Pix[x*out.Stride+h-1-y] = v
			case 2:
				out.Pix[(h-1-y)*out.Stride+w-1-x] = v
			default:
				out.Pix[(w-1-x)*out.Stride+y] = v
			}
		}
	}
	return out
}
