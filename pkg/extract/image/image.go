// Package image reads pictures of text: photographs and scans in PNG, JPEG, TIFF and WebP. A TIFF file may have several
// pages. This package only prepares the pictures; another program recognises the text.
package image

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"

	xdraw "golang.org/x/image/draw"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/scan"
)

// Picture formats.
var (
	PNG = format.Format{
		Type: "image/png", Extensions: []string{".png"}, Name: "a PNG picture", Label: "PNG",
		Sniff: prefixed("\x89PNG\r\n\x1a\n"), Read: read, Scan: pngKind.scan, PictureSize: pngKind.size,
	}
	JPEG = format.Format{
		Type: "image/jpeg", Aliases: []string{"image/jpg", "image/pjpeg"}, Extensions: []string{".jpg", ".jpeg", ".jpe"}, Name: "a JPEG picture", Label: "JPEG",
		Sniff: prefixed("\xff\xd8\xff"), Read: read, Scan: jpegKind.scan, PictureSize: jpegKind.size,
	}
	TIFF = format.Format{
		Type: format.TypeTIFF, Aliases: []string{"image/tif"}, Extensions: []string{".tif", ".tiff"}, Name: "a TIFF picture", Label: "TIFF",
		Sniff: prefixed("II*\x00", "MM\x00*"), Read: readTIFF, Scan: scanTIFF, PictureSize: tiffKind.size,
	}
	WebP = format.Format{
		Type: "image/webp", Extensions: []string{".webp"}, Name: "a WebP picture", Label: "WebP",
		Sniff: isWebP, Read: read, Scan: webpKind.scan, PictureSize: webpKind.size,
	}
)

func prefixed(prefixes ...string) func([]byte, string) bool {
	return func(head []byte, _ string) bool {
		for _, p := range prefixes {
			if bytes.HasPrefix(head, []byte(p)) {
				return true
			}
		}
		return false
	}
}

func isWebP(head []byte, _ string) bool {
	return len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP"
}

// read reads a single-page picture.
func read(p *format.Parser) error { return readPages(p, 1) }

// readPages reads a picture with `count` pages, using the text that OCR has recognised so far. If OCR has not run yet,
// it returns a Scanned error that lists the pages to recognise.
func readPages(p *format.Parser, count int) error {
	scans := p.Src.Scans
	if scans.Limit == 0 || !scans.Report && len(scans.Pages) == 0 {
		return format.Errorf(format.NoText, "the file is a picture; its text can be read only with OCR: %s", scans.Advice())
	}
	most := min(count, scans.Limit)
	if len(scans.Pages) == 0 {
		wanted := make([]int, most)
		for i := range wanted {
			wanted[i] = i + 1
		}
		return &format.Error{Kind: format.Scanned, Pages: wanted, Message: "the file is a picture and needs OCR"}
	}
	pages := make([]scan.Page, most)
	for i := range pages {
		pages[i] = scans.Pages[i+1]
	}
	if count > most {
		p.Out.Warn(fmt.Sprintf("pages %d to %d were not read: OCR reads at most %d pages per file; split the file", most+1, count, scans.Limit))
	}
	p.Doc.Route = "image/ocr"
	return p.ReadScanned(pages)
}

// Pictures whose longer side is below smallSide pixels are enlarged, because their letters are too small for OCR.
const (
	smallSide = 1600
	enlarged  = 2 // factor by which small pictures are enlarged
)

// kind holds the functions that decode pictures in one format.
type kind struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

var (
	pngKind  = kind{png.DecodeConfig, png.Decode}
	jpegKind = kind{jpeg.DecodeConfig, jpeg.Decode}
	tiffKind = kind{tiff.DecodeConfig, tiff.Decode}
	webpKind = kind{webp.DecodeConfig, webp.Decode}
)

// size returns the width and height of the picture in a file, from the file's first bytes.
func (k kind) size(file io.Reader) (width, height int, err error) {
	size, err := k.config(file)
	return size.Width, size.Height, err
}

// scan prepares the picture in a single-page file for OCR.
func (k kind) scan(p *format.Parser, page, turn int) (*image.Gray, error) {
	if page != 1 {
		return nil, format.Errorf(format.NoPage, "the file has no page %d; it has one page", page)
	}
	data, err := p.Src.Bytes()
	if err != nil {
		return nil, err
	}
	return k.gray(func() io.Reader { return bytes.NewReader(data) }, turn)
}

// gray decodes a picture, converts it to greyscale and scales it for OCR.
func (k kind) gray(open func() io.Reader, turn int) (*image.Gray, error) {
	size, err := k.config(open())
	if err != nil {
		return nil, damaged(err)
	}
	if size.Width < 1 || size.Height < 1 {
		return nil, damaged(fmt.Errorf("it has %d × %d pixels", size.Width, size.Height))
	}
	if size.Width > format.MaxPicturePixels/size.Height {
		return nil, format.Errorf(format.TooLarge, "the picture has %d × %d pixels, more than %d million; scan it at 300 dpi", size.Width, size.Height, format.MaxPicturePixels/1_000_000)
	}
	picture, err := k.decode(open())
	if err != nil {
		return nil, damaged(err)
	}
	return format.Turned(grayOf(picture), turn), nil
}

func damaged(err error) error {
	return &format.Error{Kind: format.Damaged, Message: "the picture is damaged or in an unsupported format; save it as PNG", Err: err}
}

// grayOf converts a picture to greyscale, with transparent areas in white. It enlarges small pictures and shrinks very
// large ones.
func grayOf(picture image.Image) *image.Gray {
	from := picture.Bounds()
	w, h := from.Dx(), from.Dy()
	if max(w, h) < smallSide {
		w, h = w*enlarged, h*enlarged
	}
	for w*h > format.MaxScanPixels || max(w, h) > format.MaxScanSide {
		w, h = max(w*9/10, 1), max(h*9/10, 1)
		if min(w, h) == 1 {
			w, h = min(w, format.MaxScanSide), min(h, format.MaxScanSide)
		}
	}
	g := image.NewGray(image.Rect(0, 0, w, h))
	draw.Draw(g, g.Rect, image.White, image.Point{}, draw.Src)
	if colours, ok := picture.(*image.YCbCr); ok { // a JPEG picture's brightness is stored separately
		picture = &image.Gray{Pix: colours.Y, Stride: colours.YStride, Rect: colours.Rect}
	}
	if w == from.Dx() && h == from.Dy() {
		draw.Draw(g, g.Rect, picture, from.Min, draw.Over)
	} else {
		xdraw.ApproxBiLinear.Scale(g, g.Rect, picture, from, draw.Over, nil)
	}
	return g
}

func readTIFF(p *format.Parser) error {
	pages, err := directories(p.Src.Data, p.Src.Size)
	if err != nil {
		return damaged(err)
	}
	if len(pages) > p.Lim.MaxPages {
		return format.Errorf(format.TooLarge, "the file has %d pages, more than the limit of %d", len(pages), p.Lim.MaxPages)
	}
	return readPages(p, len(pages))
}

func scanTIFF(p *format.Parser, page, turn int) (*image.Gray, error) {
	pages, err := directories(p.Src.Data, p.Src.Size)
	if err != nil {
		return nil, damaged(err)
	}
	if page < 1 || page > len(pages) {
		return nil, format.Errorf(format.NoPage, "the file has no page %d; its pages are 1 to %d", page, len(pages))
	}
	open := func() io.Reader { return io.NewSectionReader(startingAt{p.Src.Data, pages[page-1]}, 0, p.Src.Size) }
	return tiffKind.gray(open, turn)
}
