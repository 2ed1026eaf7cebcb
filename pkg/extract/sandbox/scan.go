package sandbox

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/scan"
)

// Files in a child's folder, for data too large for frames.
const (
	pictureFile    = "picture.pgm"     // from the child: a page's picture for OCR
	recognisedFile = "recognised.json" // to the child: recognised pages
)

// maxPictureHead is the maximum size of a picture file's header, in bytes.
const maxPictureHead = 64

// scan writes a page's picture to a file in the child's folder. It returns the picture's rotation, for ScanAngle.
func (c *childServer) scan(src format.Source, req Request) (angle []byte, err error) {
	picture, err := c.tasks.Scan(context.Background(), src, req.Limits, req.Page, req.Turn)
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(os.TempDir(), pictureFile)) //nolint:gosec // the folder belongs to this child alone
	if err != nil {
		return nil, fmt.Errorf("creating a file for a page image: %w", err)
	}
	return strconv.AppendFloat(nil, picture.Angle, 'g', -1, 64), errors.Join(writeGraymap(f, picture.Gray), f.Close())
}

// ScanAngle returns the angle in degrees by which a scanned picture was rotated, or 0 if the child sent no valid angle.
func (a Answer) ScanAngle() float64 {
	angle, err := strconv.ParseFloat(string(a.Picture), 64)
	if err != nil || !(math.Abs(angle) < 90) { // the comparison also rejects NaN
		return 0
	}
	return angle
}

// writeGraymap writes a picture in PGM format, which needs no compression.
func writeGraymap(w io.Writer, g *image.Gray) error {
	width, height := g.Rect.Dx(), g.Rect.Dy()
	if width < 1 || height < 1 || width*height > format.MaxScanPixels {
		return fmt.Errorf("a picture has %d × %d pixels", width, height)
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "P5\n%d %d\n255\n", width, height)
	for y := range height {
		_, _ = b.Write(g.Pix[y*g.Stride : y*g.Stride+width]) // Flush returns the error
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("writing a picture: %w", err)
	}
	return nil
}

// recognisedPages reads the recognised pages that the parent put into the child's folder.
func recognisedPages() (map[int]scan.Page, error) {
	f, err := os.Open(filepath.Join(os.TempDir(), recognisedFile))
	if err != nil {
		return nil, fmt.Errorf("opening recognised text: %w", err)
	}
	defer f.Close()
	return scan.Read(f)
}

// Picture opens the picture that the child wrote for the last request and removes its file. It accepts only a regular
// file of plausible size, because the child may be under an attacker's control.
func (w *Worker) Picture() (*os.File, error) {
	path := filepath.Join(w.Dir, pictureFile)
	defer os.Remove(path)
	info, err := os.Lstat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > format.MaxScanPixels+maxPictureHead) {
		err = fmt.Errorf("the file %s is not a picture that the extraction process may write", pictureFile)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the page image: %w", err)
	}
	f, err := openNoFollow(path)
	if err != nil {
		return nil, fmt.Errorf("opening the page image: %w", err)
	}
	return f, nil
}

// GiveRecognised copies recognised pages to the child's folder. Call it before a request that sets Recognised.
func (w *Worker) GiveRecognised(path string) error {
	from, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening recognised text: %w", err)
	}
	defer from.Close()
	target := filepath.Join(w.Dir, recognisedFile)
	_ = os.Remove(target) // the child may have replaced it with a link
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copying recognised text: %w", err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("copying recognised text: %w", err)
	}
	return nil
}

// ForgetRecognised removes the recognised pages from the child's folder.
func (w *Worker) ForgetRecognised() { _ = os.Remove(filepath.Join(w.Dir, recognisedFile)) }
