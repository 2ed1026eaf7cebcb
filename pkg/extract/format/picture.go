package format

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"strings"
	"unicode"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/scan"
)

// Limits on the pictures in documents that go through OCR. Pictures below the minimum area or side length are icons or
// lines.
const (
	MaxPictureBytes  = 16 << 20   // size of a picture's file
	MaxPicturePixels = 64_000_000 // pixels; decoding takes up to eight bytes per pixel
	minPictureArea   = 20_000     // pixels
	minPictureSide   = 16         // pixels
	maxPictures      = 10_000     // different pictures to look at in a document
	maxSaid          = 0.8        // share of a block's words that are also in the picture's description
	MaxPictureKey    = 100        // bytes of a picture's key
)

// Picture is a picture within a document, such as a screenshot in a report.
type Picture struct {
	// Key identifies the picture's content. It has at most MaxPictureKey bytes.
	Key  string
	Size int64  // bytes
	Alt  string // the description that is read in addition to the picture; "" if none
	Open func() (io.ReadCloser, error)
}

// pictures tracks the pictures in a document and its embedded files.
type pictures struct {
	scans   Scans
	numbers map[string]int       // by key
	places  []int                // number of times that the document shows each picture
	unread  []domain.Picture     // pictures whose text must be recognised first, and those already recognised
	pages   map[string]scan.Page // recognised text by key

	find  int // number of the picture to copy to found; 0 if none is wanted
	found []byte

	tooMany, tooLarge int
	failed            int
	failure           string
	unsure            int
	confidence        float64 // sum for all unsure pictures
}

func newPictures(scans Scans) *pictures {
	c := &pictures{scans: scans, numbers: map[string]int{}, pages: map[string]scan.Page{}}
	for _, page := range scans.Pages {
		if page.Key != "" {
			c.pages[page.Key] = page
		}
	}
	return c
}

// errFound stops reading once the wanted picture has been copied.
var errFound = errors.New("the picture was found")

// Picture returns a picture's recognised text as blocks, or none. If OCR hasn't run yet, Picture records the picture
// for OCR instead. Readers call it when they reach a picture, and must stop if it returns an error.
//
// If a document shows the same picture several times, its text is returned only the first time. Pictures too small for
// text are skipped; those that exceed a limit are skipped with a warning.
func (p *Parser) Picture(pic Picture) ([]domain.Block, error) {
	c := p.pictures
	if c == nil || pic.Key == "" || len(pic.Key) > MaxPictureKey || pic.Size <= 0 {
		return nil, nil
	}
	if n, again := c.numbers[pic.Key]; again {
		c.places[n-1]++
		return nil, nil
	}
	if len(c.numbers) == maxPictures {
		return nil, nil
	}
	n := len(c.numbers) + 1
	c.numbers[pic.Key] = n
	c.places = append(c.places, 1)
	switch {
	case c.find == n:
		data, err := readPicture(pic)
		if err != nil {
			return nil, &Error{Kind: Damaged, Message: "the picture is damaged", Err: err}
		}
		c.found = data
		return nil, errFound
	case c.find > 0:
		return nil, nil
	case pic.Size > MaxPictureBytes:
		c.tooLarge++
		return nil, nil
	}
	width, height, known := p.Formats.pictureSize(pic)
	switch {
	case !known, min(width, height) < minPictureSide, width*height < minPictureArea:
		return nil, nil
	case width > MaxPicturePixels/height:
		c.tooLarge++
		return nil, nil
	case len(c.unread) == c.scans.Pictures:
		c.tooMany++
		return nil, nil
	}
	c.unread = append(c.unread, domain.Picture{Number: n, Key: pic.Key})
	page, read := c.pages[pic.Key]
	if !read {
		return nil, nil
	}
	if page.Failed != "" {
		c.failed++
		c.failure = page.Failed
		return nil, nil
	}
	return p.recognisedBlocks(page, pic.Alt)
}

// embeddedPicture reads an attached picture's text, under a heading with the file's name.
func (p *Parser) embeddedPicture(content []byte, name string, level int) error {
	sum := sha256.Sum256(content)
	blocks, err := p.Picture(Picture{
		Key: hex.EncodeToString(sum[:]), Size: int64(len(content)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil },
	})
	if err != nil || len(blocks) == 0 {
		return err
	}
	if err := p.Out.Heading(level, name, 0); err != nil {
		return err
	}
	for _, b := range blocks {
		if err := p.Out.Add(b); err != nil {
			return err
		}
	}
	return nil
}

// finish records the document's unread pictures and adds warnings about skipped pictures.
func (c *pictures) finish(p *Parser) {
	if c == nil {
		return
	}
	if c.scans.Report {
		for _, u := range c.unread {
			u.Places = c.places[u.Number-1]
			p.Doc.Unread = append(p.Doc.Unread, u)
		}
	}
	count := func(n int) string { return fmt.Sprintf("%d %s", n, Plural(n, "picture", "pictures")) }
	was := func(n int) string { return Plural(n, "was", "were") }
	if n := c.tooMany; n > 0 {
		p.Out.Warn(fmt.Sprintf("the text in %s %s not read: OCR reads at most %d pictures per document", count(n), was(n), c.scans.Pictures))
	}
	if n := c.tooLarge; n > 0 {
		p.Out.Warn(fmt.Sprintf("the text in %s %s not read: a picture may have at most %s and %d million pixels", count(n), was(n), SizeText(MaxPictureBytes), MaxPicturePixels/1_000_000))
	}
	if n := c.failed; n > 0 {
		p.Out.Warn(fmt.Sprintf("the text in %s %s not read: %s", count(n), was(n), c.failure))
	}
	if n := c.unsure; n > 0 {
		p.Out.Warn(fmt.Sprintf("the text recognised in %s is uncertain (%.0f%% confidence)", count(n), 100*c.confidence/float64(n)))
	}
}

// minSurePicture is the mean confidence below which a picture's recognised text is uncertain.
const minSurePicture = 0.75

// recognisedBlocks returns a picture's recognised text as blocks, without the blocks that only repeat the picture's
// description `alt`. Headings become paragraphs, because the text after the picture doesn't belong to them.
func (p *Parser) recognisedBlocks(page scan.Page, alt string) ([]domain.Block, error) {
	if page.Letters() == 0 {
		return nil, nil
	}
	said := map[string]bool{}
	for _, w := range wordsOf(alt) {
		said[w] = true
	}
	const steps = 1000 // confidences are rounded to a multiple of 1/steps
	confidence := math.Round(page.Confidence()*steps) / steps
	var blocks []domain.Block
	q := *p
	q.Doc = &domain.Document{}
	q.Out = &Sink{Left: p.Out.Left, Max: p.Out.Max, Emit: func(b domain.Block) error {
		if b.Kind == domain.BlockHeading {
			b.Kind, b.Level = domain.BlockParagraph, 0
		}
		if !repeats(b.Text, said) {
			blocks = append(blocks, domain.Block{Kind: b.Kind, Level: b.Level, Text: b.Text, Confidence: confidence})
		}
		return nil
	}}
	if err := q.ReadScanned([]scan.Page{page}); err != nil {
		if kind := KindOf(err); kind == TooLarge || kind == "" {
			return nil, err
		}
		return nil, nil // there is no text
	}
	if len(blocks) > 0 && confidence < minSurePicture {
		p.pictures.unsure++
		p.pictures.confidence += confidence
	}
	return blocks, nil
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// repeats reports whether most of a text's words are in `said`.
func repeats(text string, said map[string]bool) bool {
	if len(said) == 0 {
		return false
	}
	words, both := wordsOf(text), 0
	for _, w := range words {
		if said[w] {
			both++
		}
	}
	return float64(both) >= maxSaid*float64(len(words))
}

// readPicture reads a picture's file.
func readPicture(pic Picture) ([]byte, error) {
	r, err := pic.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, MaxPictureBytes+1))
	if err == nil && len(data) > MaxPictureBytes {
		err = fmt.Errorf("it has more than %s", SizeText(MaxPictureBytes))
	}
	if err != nil {
		return nil, fmt.Errorf("reading a picture: %w", err)
	}
	return data, nil
}

// pictureSize returns a picture's size in pixels. It returns false if the file is damaged or in an unknown format.
func (r *Registry) pictureSize(pic Picture) (width, height int, known bool) {
	file, err := pic.Open()
	if err != nil {
		return 0, 0, false
	}
	defer file.Close()
	b := bufio.NewReaderSize(io.LimitReader(file, MaxPictureBytes), HeadBytes)
	head, _ := b.Peek(HeadBytes) // the error would only say that the file is shorter
	f := r.pictureFormat(head)
	if f == nil {
		return 0, 0, false
	}
	width, height, err = f.PictureSize(b)
	return width, height, err == nil && width > 0 && height > 0
}

// pictureFormat returns the format of a picture that starts with these bytes, or nil if it is unknown.
func (r *Registry) pictureFormat(head []byte) *Format {
	for i := range r.formats {
		if f := &r.formats[i]; f.PictureSize != nil && f.Sniff(head, "") {
			return f
		}
	}
	return nil
}

// isSinglePicture reports whether files of a type hold a single picture.
func (r *Registry) isSinglePicture(mimeType string) bool {
	f := r.byType(mimeType)
	return f != nil && f.PictureSize != nil && f.Type != TypeTIFF
}

// scanPicture returns picture `number` in a document for OCR. If the picture has no text, like most photographs, it
// returns a NoText error.
func (r *Registry) scanPicture(ctx context.Context, src Source, lim Limits, kind string, head []byte, number, turn int) (*image.Gray, error) {
	p := &Parser{Ctx: ctx, Src: src, Lim: lim, Formats: r, Doc: &domain.Document{MIMEType: kind}, pictures: newPictures(Scans{})}
	p.pictures.find = number
	p.Out = &Sink{Left: lim.MaxText, Max: lim.MaxText, Emit: func(domain.Block) error { return nil }}
	if err := r.read(p, head); err != nil && p.pictures.found == nil {
		return nil, err
	}
	data := p.pictures.found
	f := r.pictureFormat(data[:min(len(data), HeadBytes)])
	if f == nil {
		return nil, Errorf(NoPage, "the document has no picture %d", number)
	}
	q := &Parser{Ctx: ctx, Src: Source{Data: bytes.NewReader(data), Size: int64(len(data))}, Lim: lim, Formats: r, Doc: &domain.Document{MIMEType: f.Type}}
	q.Out = &Sink{Left: lim.MaxText, Max: lim.MaxText, Emit: p.Out.Emit}
	picture, err := f.Scan(q, 1, turn)
	if err == nil && turn == 0 && !scan.HasText(picture) {
		err = Errorf(NoText, "the picture has no text")
	}
	return picture, err
}
