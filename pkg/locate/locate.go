// Package locate finds the rectangles that passages occupy on PDF pages, for citations and query results.
//
// The rectangles aren't stored. On demand, a child process rereads the pages around the passages in the original. See
// ADR 52.
package locate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
)

// Catalog looks up datasources.
type Catalog interface {
	// Datasource fails with domain.CodeNotFound if the workspace has no such datasource.
	Datasource(ctx context.Context, workspaceID, id string) (domain.Datasource, error)
}

// Originals is the store of raw content.
type Originals interface {
	// Get returns an original's content. The caller must close it.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
}

// Extractor finds passages in raw content.
type Extractor interface {
	Locate(ctx context.Context, req extract.Request, passages []extract.Passage) ([][][]domain.PageRectangle, error)
}

// Locator finds passages on PDF pages. It is safe for concurrent use.
type Locator struct {
	Catalog   Catalog
	Originals Originals
	Extractor Extractor
	Timeout   time.Duration // time limit for one call; default DefaultTimeout
	Languages []string      // of scanned pages; empty: those installed for a page's script

	// Slots limits how many originals are read at a time, because each is first copied to a temporary file. Workspaces
	// share the slots fairly. A nil gate means no limit.
	Slots *admission.Gate
	Log   *slog.Logger // default slog.Default()
}

// DefaultTimeout is the default time limit for one call. Most calls take less than a tenth of a second, but large
// originals must be transferred first, and scanned pages need text recognition.
const DefaultTimeout = 10 * time.Second

// maxFiles is the maximum number of originals read in parallel by one call.
const maxFiles = 4

// Passage is a fragment's text with the spans to find.
type Passage struct {
	Fragment domain.Fragment
	Spans    [][2]int // byte ranges in the fragment's text
}

// errBusy means that an original could not be read because no reading slot became free in time.
var errBusy = errors.New("too many other files are being read")

// typePDF is the MIME type of PDF, the only format in which passages have positions on a page.
const typePDF = "application/pdf"

// Locate returns the rectangles of each span in each passage. A span has no rectangles if the original isn't a PDF, or
// if the span's text isn't found in it, for example because the original was replaced. Errors are only logged, because
// the caller's results are usable without rectangles.
func (l *Locator) Locate(ctx context.Context, workspaceID string, passages []Passage) [][][]domain.PageRectangle {
	out := make([][][]domain.PageRectangle, len(passages))
	byFile := map[string][]int{} // passage indexes by datasource
	for i, p := range passages {
		out[i] = make([][]domain.PageRectangle, len(p.Spans))
		if f := p.Fragment; f.MIMEType == typePDF && f.Page > 0 && len(p.Spans) > 0 {
			byFile[f.DatasourceID] = append(byFile[f.DatasourceID], i)
		}
	}
	if len(byFile) == 0 {
		return out
	}
	timeout := l.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(maxFiles)
	for id, indexes := range byFile {
		group.Go(func() error {
			in := make([]extract.Passage, len(indexes))
			for k, i := range indexes {
				in[k] = extract.Passage{Text: passages[i].Fragment.Text, Page: passages[i].Fragment.Page, Spans: passages[i].Spans}
			}
			found, err := l.locateIn(ctx, workspaceID, id, in)
			if err != nil {
				l.logger().WarnContext(ctx, "rectangles are missing, because a PDF could not be read again", "datasource", id, "error", err)
				return nil
			}
			for k, i := range indexes {
				out[i] = found[k]
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no errors
	return out
}

// locateIn finds passages from one datasource.
func (l *Locator) locateIn(ctx context.Context, workspaceID, id string, passages []extract.Passage) ([][][]domain.PageRectangle, error) {
	d, err := l.Catalog.Datasource(ctx, workspaceID, id)
	if err != nil {
		return nil, fmt.Errorf("reading datasource %s: %w", id, err)
	}
	if d.Original == nil {
		return nil, fmt.Errorf("datasource %s has no original", id)
	}
	slot, in := l.Slots.Enter(ctx, workspaceID)
	if !in {
		return nil, errBusy
	}
	defer slot.Leave()
	body, err := l.Originals.Get(ctx, d.Original.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the original of datasource %s: %w", id, err)
	}
	defer body.Close()
	return l.Extractor.Locate(ctx, extract.Request{
		Workspace: workspaceID, Reader: body, Name: d.Original.Name, Declared: d.Original.MIMEType, Key: d.Original.Key, Languages: l.Languages,
	}, passages)
}

func (l *Locator) logger() *slog.Logger {
	if l.Log == nil {
		return slog.Default()
	}
	return l.Log
}
