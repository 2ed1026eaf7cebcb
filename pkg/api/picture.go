package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// Bounds on drawing a page.
const (
	drawWait   = 10 * time.Second // for another page of the same workspace to be drawn
	drawWithin = time.Minute      // for a free process and for drawing
	drawRetry  = 3 * time.Second  // after which clients should try again
)

// Drawer draws pages of PDFs.
type Drawer interface {
	// Draw reads a PDF and draws a page, counted from 1, as a PNG picture. It fails with a *format.Error if the file
	// has no such page or the page cannot be drawn.
	Draw(ctx context.Context, content io.Reader, page int) ([]byte, error)
}

// GetPicture implements StrictServerInterface. Pictures let people look at untrusted PDFs without a viewer that runs
// the PDFs' scripts, follows their links and sends their forms.
func (s *server) GetPicture(ctx context.Context, r GetPictureRequestObject) (GetPictureResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datasource(ctx, caller, r.Id)
	if err == nil {
		err = hasOriginal(d)
	}
	if err != nil {
		return nil, err
	}
	if isHead(ctx) {
		return writePicture(nil, s.options.WriteTimeout), nil
	}
	leave, err := s.drawings.enter(ctx, d.WorkspaceID)
	if err != nil {
		return nil, err
	}
	defer leave()
	timed, cancel := context.WithTimeout(ctx, drawWithin)
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

func writePicture(picture []byte, timeout time.Duration) written {
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

// perWorkspace admits one request of each workspace at a time, so that one workspace cannot occupy all processes that
// draw pages. The zero value is ready for use.
type perWorkspace struct {
	mu    sync.Mutex
	slots map[string]*workspaceSlot
}

type workspaceSlot struct {
	taken chan struct{} // holds one value while a request is admitted
	users int           // requests that are admitted or wait
}

// enter waits until no other request of the workspace is admitted. The caller must call leave.
func (p *perWorkspace) enter(ctx context.Context, workspaceID string) (leave func(), err error) {
	p.mu.Lock()
	if p.slots == nil {
		p.slots = map[string]*workspaceSlot{}
	}
	s := p.slots[workspaceID]
	if s == nil {
		s = &workspaceSlot{taken: make(chan struct{}, 1)}
		p.slots[workspaceID] = s
	}
	s.users++
	p.mu.Unlock()
	forget := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if s.users--; s.users == 0 {
			delete(p.slots, workspaceID)
		}
	}
	patience := time.NewTimer(drawWait)
	defer patience.Stop()
	select {
	case s.taken <- struct{}{}:
		return func() { <-s.taken; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, context.Cause(ctx)
	case <-patience.C:
		forget()
		return nil, &domain.Error{Code: domain.CodeRateLimit, RetryAfter: drawRetry, Message: "another page of this workspace is being drawn; try again in a moment"}
	}
}
