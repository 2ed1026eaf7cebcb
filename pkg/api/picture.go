package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// Limits for rendering pages.
const (
	maxDrawings = 2  // concurrent drawings; at most one per workspace
	drawQueue   = 64 // maximum number of waiting requests

	drawWait    = 10 * time.Second // how long a request waits for other drawings
	drawTimeout = time.Minute      // time limit for getting a free process and drawing the page
	drawRetry   = 3 * time.Second  // how long rejected clients should wait
)

// Drawer renders PDF pages.
type Drawer interface {
	// Draw renders a PDF page as a PNG image. Pages are numbered from 1. It returns a *format.Error if the file has no
	// such page or the page cannot be rendered.
	Draw(ctx context.Context, content io.Reader, page int) ([]byte, error)
}

// GetPicture implements StrictServerInterface. It lets people view untrusted PDFs without a viewer that would run
// scripts, follow links and submit forms.
func (s *server) GetPicture(ctx context.Context, r GetPictureRequestObject) (GetPictureResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datasource(ctx, caller, r.Id)
	if err == nil {
		err = hasOriginal(d)
	}
	if err != nil {
		return nil, err
	}
	if transfer.IsHead(ctx) {
		return writePicture(nil, s.options.WriteTimeout), nil
	}
	slot, err := s.enterDrawing(ctx, d.WorkspaceID)
	if err != nil {
		return nil, err
	}
	defer slot.Leave()
	timed, cancel := context.WithTimeout(ctx, drawTimeout)
	defer cancel()
	content, err := s.Originals.Get(timed, d.Original.Key)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	page := cmp.Or(orZero(r.Params.Page), 1)
	picture, err := s.Drawer.Draw(timed, content, page)
	var refused *format.Error
	switch {
	case errors.As(err, &refused) && refused.Kind == format.NoPage:
		return nil, domain.Errorf(domain.CodeNotFound, "page %d of datasource %q cannot be shown: %s", page, d.ID, refused.Message)
	case errors.As(err, &refused):
		return nil, domain.Errorf(domain.CodeConflict, "page %d of datasource %q cannot be shown: %s; download the original", page, d.ID, refused.Message)
	case err != nil && ctx.Err() == nil && timed.Err() != nil:
		return nil, &domain.Error{Code: domain.CodeUnavailable, RetryAfter: drawRetry, Message: "too many pages are being drawn; try again in a moment", Err: err}
	case err != nil:
		return nil, err
	}
	return writePicture(picture, s.options.WriteTimeout), nil
}

func writePicture(picture []byte, timeout time.Duration) responseFunc {
	return func(w http.ResponseWriter) error {
		h := w.Header()
		h.Set("Content-Type", "image/png")
		h.Set("Content-Security-Policy", originalPolicy)
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "private, no-store")
		if picture == nil {
			return nil
		}
		h.Set("Content-Length", strconv.Itoa(len(picture)))
		_, err := transfer.TimedWriter(w, timeout).Write(picture)
		return err
	}
}

// newDrawings returns the gate for requests that render pages. One slot always stays free for other workspaces, so that
// none can occupy all rendering processes.
func newDrawings() *admission.Gate {
	return admission.New(admission.Options{Limit: maxDrawings, Spare: maxDrawings - 1, Waiting: drawQueue})
}

// enterDrawing waits until the workspace may render a page. The caller must call Leave on the slot.
func (s *server) enterDrawing(ctx context.Context, workspaceID string) (*admission.Slot, error) {
	timed, cancel := context.WithTimeout(ctx, drawWait)
	defer cancel()
	slot, in := s.drawings.Enter(timed, workspaceID)
	switch {
	case in:
		return slot, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, &domain.Error{Code: domain.CodeRateLimit, RetryAfter: drawRetry, Message: "other pages are being drawn; try again in a moment"}
}
