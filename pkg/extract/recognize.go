package extract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/sandbox"
	"github.com/sluice/sluice/pkg/extract/scan"
	"github.com/sluice/sluice/pkg/extract/tesseract"
)

// maxScanRounds is how many times a document may request OCR. The first round covers pages without text and samples of
// pages with a text layer. If the samples' text layers do not match the pictures, a second round covers all other
// pages.
const maxScanRounds = 2

// Recognition describes the OCR program.
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

// extract reads a document and, if necessary, recognises the text on its scanned pages. The child that reads the
// document reports these pages. Their text is recognised page by page, without occupying a child. Then another child
// reads the document again, together with the recognised pages.
func (x *Extractor) extract(ctx context.Context, req Request) (*domain.Document, error) {
	scans := format.Scans{Report: true, Limit: x.opts.MaxScans}
	if missing := x.ocr.Missing(); missing != "" {
		scans = format.Scans{Hint: missing}
	}
	answer, err := x.askNext(ctx, req, task{scans: scans})
	if KindOf(err) != Scanned || req.Defer {
		return answer.Document, err
	}
	_, installed, checkErr := x.ocr.Check(x.ctx)
	if checkErr != nil {
		x.opts.Log.WarnContext(ctx, "text on scanned pages cannot be recognised", "error", checkErr)
		answer, err = x.askNext(ctx, req, task{scans: format.Scans{Hint: format.Cut(checkErr.Error(), maxHint)}})
		return answer.Document, err
	}
	file, fileErr := os.CreateTemp(x.opts.TempDir, "sluice-recognised-")
	if fileErr != nil {
		return nil, fmt.Errorf("creating a temporary file for recognised text: %w", fileErr)
	}
	defer os.Remove(file.Name())
	defer file.Close()
	r := recognition{x: x, req: req, installed: installed, out: file}
	for round := 1; KindOf(err) == Scanned; round++ {
		if err := r.pages(ctx, pagesOf(err)); err != nil {
			return nil, err
		}
		scans := format.Scans{Report: round < maxScanRounds, Limit: x.opts.MaxScans, Hint: "no text was recognised in its pictures"}
		answer, err = x.askNext(ctx, req, task{scans: scans, recognised: file.Name()})
	}
	if err == nil && len(r.missing) > 0 {
		answer.Document.Warnings = append(answer.Document.Warnings, fmt.Sprintf("the text was recognised without the languages %s, which are not installed on the machine that reads documents", strings.Join(r.missing, ", ")))
	}
	return answer.Document, err
}

// maxHint is the maximum length of a hint, in bytes.
const maxHint = 300

// pagesOf returns the pages listed in an error of kind Scanned.
func pagesOf(err error) []int {
	if e, ok := errors.AsType[*format.Error](err); ok {
		return e.Pages
	}
	return nil
}

// recognition recognises the text on a document's scanned pages.
type recognition struct {
	x         *Extractor
	req       Request
	installed []string
	out       *os.File // receives the recognised pages
	done      int      // number of pages so far
	missing   []string // requested languages that are not installed
}

// pages recognises the text on the given pages. Workspaces take turns page by page, so a long document does not hold up
// other workspaces. A page for which recognition fails is recorded as failed. An error means that the document cannot
// be read now.
func (r *recognition) pages(ctx context.Context, numbers []int) error {
	numbers = numbers[:min(len(numbers), r.x.opts.MaxScans-r.done)]
	total := r.done + len(numbers)
	for _, n := range numbers {
		if r.req.Progress != nil {
			r.req.Progress(r.done, total)
		}
		slot, ok := r.x.pages.Enter(ctx, cmp.Or(r.req.Workspace, r.req.Path))
		if !ok {
			return fmt.Errorf("waiting for text recognition: %w", context.Cause(ctx))
		}
		page, err := r.page(ctx, n)
		slot.Leave()
		if ctx.Err() != nil {
			return fmt.Errorf("recognising text: %w", context.Cause(ctx))
		}
		if err != nil {
			r.x.opts.Log.WarnContext(ctx, "recognising the text of a page failed", "name", r.req.Name, "page", n, "error", err)
			page = scan.Page{Width: 1, Height: 1, Failed: failure(err)}
		}
		page.Number = n
		if err := scan.Write(r.out, page); err != nil {
			return err
		}
		r.done++
	}
	return nil
}

// failure tells users why a page's text could not be recognised.
func failure(err error) string {
	switch e, _ := errors.AsType[*format.Error](err); {
	case e != nil:
		return e.Message
	case errors.Is(err, sandbox.ErrTimeout):
		return "recognising its text takes too long"
	}
	return "recognising its text failed"
}

// minSure is the minimum mean confidence for accepting the first result for a page. A lower confidence may mean that
// the page is turned or in another script.
const minSure = 0.75

// page recognises the text on one page. If the result is doubtful, page tries again with the orientation and script
// that the program detects, and returns the better result.
func (r *recognition) page(ctx context.Context, number int) (scan.Page, error) {
	picture, err := r.picture(ctx, number, 0)
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
	if first.Confidence() >= minSure {
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
		turned, err := r.picture(ctx, number, layout.Turn)
		if err != nil {
			return scan.Page{}, err
		}
		defer turned.Close()
		picture = turned
	}
	second, err := r.x.ocr.Page(ctx, picture, others)
	if err != nil || second.Quality() <= first.Quality() {
		return first, ctx.Err()
	}
	second.Turn = layout.Turn
	return second, nil
}

// picture has a child process make the picture of a page. Unlike Extract, it does not wait for a free child. The number
// of such children is still limited, because every page waits for its turn to be recognised.
func (r *recognition) picture(ctx context.Context, number, turn int) (*os.File, error) {
	f, size, err := openDocument(r.req.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	child := r.x.request(r.req, task{page: number}, size)
	child.Scan, child.Turn = true, turn
	answer, err := r.x.askChild(ctx, f, child, "")
	return answer.Scan, err
}
