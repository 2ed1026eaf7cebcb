package html

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// pictureText returns the text recognised in a picture embedded as a data: URL. Other pictures aren't fetched. The
// result is cached because a page may be walked several times. `alt` is the picture's description. The walker writes
// the description too, so recognised text that only repeats it is dropped.
func (w *walker) pictureText(img *html.Node, alt string) []domain.Block {
	if blocks, done := w.p.pictured[img]; done {
		return blocks
	}
	pic := dataPicture(attr(img, "src"))
	if pic.Key == "" {
		return nil
	}
	pic.Alt = alt
	blocks, err := w.p.Picture(pic)
	if err != nil {
		w.err = err
		return nil
	}
	if w.p.pictured == nil {
		w.p.pictured = map[*html.Node][]domain.Block{}
	}
	w.p.pictured[img] = blocks
	return blocks
}

// dataPicture decodes a data: URL (RFC 2397). The result has no key if the URL holds no picture.
func dataPicture(address string) format.Picture {
	head, data, found := strings.Cut(strings.TrimSpace(address), ",")
	head = strings.ToLower(head)
	if !found || !strings.HasPrefix(head, "data:image/") || !strings.HasSuffix(head, ";base64") {
		return format.Picture{}
	}
	sum := sha256.Sum256([]byte(data))
	return format.Picture{
		Key: hex.EncodeToString(sum[:]), Size: int64(base64.StdEncoding.DecodedLen(len(data))),
		Open: func() (io.ReadCloser, error) {
			if strings.Contains(data, "%") {
				if plain, err := url.PathUnescape(data); err == nil {
					data = plain
				}
			}
			return io.NopCloser(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data))), nil
		},
	}
}

// keepPictures keeps text from a picture if the block before or after it is kept. The article extractor does not know
// that text.
func keepPictures(blocks []block, main, keep []bool) {
	for i, b := range blocks {
		if b.Confidence > 0 && main[i] && (i > 0 && keep[i-1] || i+1 < len(keep) && keep[i+1]) {
			keep[i] = true
		}
	}
}
