package extract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/sandbox"
	"github.com/sluice/sluice/pkg/extract/scan"
	"github.com/sluice/sluice/pkg/extract/tesseract"
)

// maxScanRounds is the maximum number of OCR rounds per document. The first round covers pages without text and samples
// of pages with a text layer. If the samples don't match the pictures, a second round covers all other pages.
const maxScanRounds = 2

// Recognition describes the installed OCR program: its version and the languages it can recognise.
type Recognition struct {
	Version   string
	Languages []string
}

// Recognises describes the OCR program that recognises text on scanned pages. If there is none, the error says why.
func (x *Extractor) Recognises() (Recognition, error) {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return Recognition{}, errClosed
	}
	x.active.Add(1)
	x.mu.Unlock()
	defer x.active.Done()
	version, languages, err := x.ocr.Check(x.ctx)
	return Recognition{version, languages}, err
}

// extract reads a document, with OCR if necessary. The child that reads the document reports the pages and pictures
// that need OCR. They go through OCR one by one, without occupying a child. Then another child reads the document
// again, this time with the recognised text.
func (x *Extractor) extract(ctx context.Context, req Request) (*domain.Document, error) {
	scans := format.Scans{Report: true, Limit: x.opts.MaxScans, Pictures: x.opts.MaxPictures}
	if missing := x.ocr.Missing(); missing != "" {
		scans = format.Scans{Hint: missing}
	}
	answer, err := x.askNext(ctx, req, task{scans: scans})
	if err == nil && len(answer.Document.Unread) > 0 {
		return x.withPictures(ctx, req, answer.Document)
	}
	if KindOf(err) != Scanned || req.Defer {
		return answer.Document, err
	}
	_, installed, checkErr := x.ocr.Check(x.ctx)
	if checkErr != nil {
		x.opts.Log.WarnContext(ctx, "text on scanned pages cannot be recognised", "error", checkErr)
		answer, err = x.askNext(ctx, req, task{scans: format.Scans{Hint: format.Cut(checkErr.Error(), maxHint)}})
		return answer.Document, err
	}
	r, fileErr := x.newRecognition(req, installed)
	if fileErr != nil {
		return nil, fileErr
	}
	defer r.close()
	for round := 1; KindOf(err) == Scanned; round++ {
		if err := r.pages(ctx, pagesOf(err)); err != nil {
			return nil, err
		}
		scans := format.Scans{Report: round < maxScanRounds, Limit: x.opts.MaxScans, Hint: "no text was recognised in its pictures"}
		answer, err = x.askNext(ctx, req, task{scans: scans, recognised: r.out.Name()})
	}
	return r.finish(answer.Document, err)
}

// withPictures runs OCR on the pictures in doc.Unread and reads the document again with their text. If the request
// defers OCR, withPictures returns doc unchanged, or an error if doc has no text.
func (x *Extractor) withPictures(ctx context.Context, req Request, doc *domain.Document) (*domain.Document, error) {
	if req.Defer && len(doc.Blocks) > 0 {
		return doc, nil
	}
	if req.Defer {
		return nil, format.Errorf(Scanned, "the document contains only pictures, which need OCR")
	}
	_, installed, err := x.ocr.Check(x.ctx)
	if err != nil {
		x.opts.Log.WarnContext(ctx, "text in pictures cannot be recognised", "error", err)
		answer, err := x.askNext(ctx, req, task{scans: format.Scans{Hint: format.Cut(err.Error(), maxHint)}})
		return answer.Document, err
	}
	r, err := x.newRecognition(req, installed)
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := r.pictures(ctx, doc.Unread); err != nil {
		return nil, err
	}
	answer, err := x.askNext(ctx, req, task{scans: format.Scans{Pictures: x.opts.MaxPictures}, recognised: r.out.Name()})
	return r.finish(answer.Document, err)
}

// maxHint is the maximum length, in bytes, of the hint that tells users why a document was read without OCR.
const maxHint = 300

// pagesOf returns the pages listed in an error of kind Scanned.
func pagesOf(err error) []int {
	if e, ok := errors.AsType[*format.Error](err); ok {
		return e.Pages
	}
	return nil
}

// recognition runs OCR on a document's scanned pages.
type recognition struct {
	x         *Extractor
	req       Request
	installed []string
	out       *os.File // receives the recognised pages
	done      int      // number of pages so far
	missing   []string // requested languages that are not installed
	inPicture bool     // the pages are pictures within a document
}

func (x *Extractor) newRecognition(req Request, installed []string) (*recognition, error) {
	file, err := os.CreateTemp(x.opts.TempDir, "sluice-recognised-")
	if err != nil {
		return nil, fmt.Errorf("creating a temporary file for recognised text: %w", err)
	}
	return &recognition{x: x, req: req, installed: installed, out: file}, nil
}

// close removes the file of recognised pages.
func (r *recognition) close() {
	_ = r.out.Close()
	_ = os.Remove(r.out.Name())
}

// finish adds a warning about OCR languages that are not installed.
func (r *recognition) finish(doc *domain.Document, err error) (*domain.Document, error) {
	if err == nil && len(r.missing) > 0 {
		doc.Warnings = append(doc.Warnings, fmt.Sprintf("OCR ran without some languages because they are not installed on the machine that processes documents: %s", strings.Join(r.missing, ", ")))
	}
	return doc, err
}

// pictures runs OCR on pictures within a document, as pages does on pages. Many pictures have no text. All pictures
// together may take Options.PictureTime, not counting the time they wait for their turn.
func (r *recognition) pictures(ctx context.Context, pictures []domain.Picture) error {
	r.inPicture = true
	pictures = slices.DeleteFunc(pictures, func(p domain.Picture) bool { // an attacker may control the child that found them
		return p.Number < 1 || len(p.Key) > format.MaxPictureKey
	})
	pictures = pictures[:min(len(pictures), r.x.opts.MaxPictures)]
	var spent time.Duration
	for _, p := range pictures {
		page := scan.Page{Width: 1, Height: 1, Failed: fmt.Sprintf("OCR reached its time limit of %g minutes per document", r.x.opts.PictureTime.Minutes())}
		if spent < r.x.opts.PictureTime {
			var took time.Duration
			var err error
			if page, took, err = r.next(ctx, p.Number, len(pictures)); err != nil {
				return err
			}
			spent += took
		}
		page.Key = p.Key
		if err := r.write(page.InDocument(p.Places), p.Number); err != nil {
			return err
		}
	}
	return nil
}

// pages runs OCR on the given pages. Workspaces take turns page by page, so a long document does not hold up documents
// from other workspaces. Pages whose OCR fails are recorded as failed. An error means that the document cannot be read
// at the moment.
func (r *recognition) pages(ctx context.Context, numbers []int) error {
	numbers = numbers[:min(len(numbers), r.x.opts.MaxScans-r.done)]
	total := r.done + len(numbers)
	for _, n := range numbers {
		page, _, err := r.next(ctx, n, total)
		if err != nil {
			return err
		}
		if err := r.write(page, n); err != nil {
			return err
		}
	}
	return nil
}

func (r *recognition) write(page scan.Page, number int) error {
	page.Number = number
	r.done++
	return scan.Write(r.out, page)
}

// next waits for the workspace's turn and then runs OCR on page or picture `number`. It first passes the number of
// pages done and `total` to Request.Progress. `took` is the time that OCR took, without the wait.
func (r *recognition) next(ctx context.Context, number, total int) (page scan.Page, took time.Duration, err error) {
	if r.req.Progress != nil {
		r.req.Progress(r.done, total)
	}
	slot, ok := r.x.pages.Enter(ctx, cmp.Or(r.req.Workspace, r.req.Path))
	if !ok {
		return page, 0, fmt.Errorf("waiting for text recognition: %w", context.Cause(ctx))
	}
	began := time.Now()
	page, err = r.page(ctx, number)
	slot.Leave()
	took = time.Since(began)
	switch {
	case ctx.Err() != nil:
		return page, took, fmt.Errorf("recognising text: %w", context.Cause(ctx))
	case r.inPicture && KindOf(err) == NoText:
		page = scan.Page{Width: 1, Height: 1}
	case err != nil:
		r.x.opts.Log.WarnContext(ctx, "recognising the text of a page failed", "name", r.req.Name, "page", number, "error", err)
		page = scan.Page{Width: 1, Height: 1, Failed: failure(err)}
	}
	return page, took, nil
}

// failure returns a message that tells users why OCR failed for a page.
func failure(err error) string {
	switch e, _ := errors.AsType[*format.Error](err); {
	case e != nil:
		return e.Message
	case errors.Is(err, sandbox.ErrTimeout):
		return "OCR took too long"
	}
	return "OCR failed"
}

// minSure is the minimum mean confidence at which a page's first OCR result is accepted. If the confidence is lower,
// the page may be rotated or in another script.
const minSure = 0.75

// page runs OCR on one page. If the result is doubtful, it tries again with the orientation and script that the program
// detects, and returns the better result.
func (r *recognition) page(ctx context.Context, number int) (scan.Page, error) {
	picture, angle, err := r.picture(ctx, number, 0)
	if err != nil {
		return scan.Page{}, err
	}
	defer picture.Close()
	languages, missing := tesseract.Choose(r.installed, r.req.Languages, "")
	for _, l := range missing {
		if !slices.Contains(r.missing, l) {
			r.missing = append(r.missing, l)
		}
	}
	first, err := r.x.ocr.Page(ctx, picture, languages)
	if err != nil {
		return scan.Page{}, err
	}
	first.Angle = angle
	if first.Confidence() >= minSure || r.inPicture && first.Letters() == 0 {
		return first, nil
	}
	layout, err := r.x.ocr.Layout(ctx, picture)
	if err != nil {
		return scan.Page{}, err
	}
	others, _ := tesseract.Choose(r.installed, r.req.Languages, layout.Script)
	if layout.Script == "" || len(others) == 0 || slices.Equal(others, languages) {
		others = languages
	}
	if layout.Turn == 0 && slices.Equal(others, languages) {
		return first, nil
	}
	if layout.Turn != 0 {
		turned, turnedAngle, err := r.picture(ctx, number, layout.Turn)
		if err != nil {
			return scan.Page{}, err
		}
		angle = turnedAngle
		defer turned.Close()
		picture = turned
	}
	second, err := r.x.ocr.Page(ctx, picture, others)
	if err != nil || second.Quality() <= first.Quality() {
		return first, ctx.Err()
	}
	second.Turn, second.Angle = layout.Turn, angle
	return second, nil
}

// picture has a child render a page for OCR. Unlike Extract, it doesn't wait for a free child. The number of children
// that render pages is bounded anyway, because pages wait for their turn to go through OCR.
func (r *recognition) picture(ctx context.Context, number, turn int) (picture *os.File, angle float64, err error) {
	f, size, err := openDocument(r.req.Path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	child := r.x.request(r.req, task{page: number}, size)
	child.Scan, child.Turn = true, turn
	answer, err := r.x.askChild(ctx, f, child, "")
	return answer.Scan, answer.ScanAngle(), err
}

// maxLocatedScans limits how many scanned pages go through OCR when locating passages, because the caller is waiting.
const maxLocatedScans = 2

// locate finds passages in a document. If the passages are on scanned pages, up to maxLocatedScans of those pages go
// through OCR. Pages recognised in an earlier call are not recognised again.
func (x *Extractor) locate(ctx context.Context, req Request, passages []Passage) ([][][]domain.PageRectangle, error) {
	ctx, req, done, err := x.begin(ctx, req)
	if err != nil {
		return nil, err
	}
	defer done()
	scans := format.Scans{Report: x.ocr.Missing() == "" && req.Key != "", Limit: maxLocatedScans}
	answer, err := x.askNext(ctx, req, task{passages: passages, scans: scans})
	if KindOf(err) != Scanned {
		return answer.Rectangles, err
	}
	_, installed, checkErr := x.ocr.Check(x.ctx)
	if checkErr != nil {
		answer, err := x.askNext(ctx, req, task{passages: passages})
		return answer.Rectangles, err
	}
	r, fileErr := x.newRecognition(req, installed)
	if fileErr != nil {
		return nil, fileErr
	}
	defer r.close()
	for left, numbers := maxLocatedScans, pagesOf(err); len(numbers) > 0; numbers = numbers[1:] {
		n := numbers[0]
		key := fmt.Sprint(req.Key, " ", n, " ", req.Languages)
		page, known := x.known.get(key)
		switch {
		case !known && left == 0:
			continue
		case !known:
			left--
			if page, _, err = r.next(ctx, n, len(numbers)); err != nil {
				return nil, err
			}
			x.known.put(key, page)
		}
		if err := r.write(page, n); err != nil {
			return nil, err
		}
	}
	answer, err = x.askNext(ctx, req, task{passages: passages, scans: format.Scans{Limit: maxLocatedScans}, recognised: r.out.Name()})
	return answer.Rectangles, err
}

// maxKnownPages is the number of recognised pages to keep, at about 100 KB each.
const maxKnownPages = 200

// knownPages keeps the most recently recognised pages. It is safe for concurrent use.
type knownPages struct {
	mu    sync.Mutex
	pages map[string]scan.Page
	order []string // keys, oldest first
}

func (k *knownPages) get(key string) (scan.Page, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	page, known := k.pages[key]
	return page, known
}

func (k *knownPages) put(key string, page scan.Page) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.pages[key]; known {
		return
	}
	if k.pages == nil {
		k.pages = map[string]scan.Page{}
	}
	if len(k.order) == maxKnownPages {
		delete(k.pages, k.order[0])
		k.order = k.order[1:]
	}
	k.pages[key], k.order = page, append(k.order, key)
}
