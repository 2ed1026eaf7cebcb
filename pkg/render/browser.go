package render

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/sluice/sluice/pkg/crawl"
)

// Number of pages after which a local browser is replaced. Each page increases its memory use.
const pagesPerBrowser = 500

// ErrClosed is the cancellation cause for renderings interrupted by Close.
var ErrClosed = errors.New("the browser is closed")

// Browser renders pages. It is safe for concurrent use. It starts Chromium for the first page and again for the next
// page after Chromium exits.
type Browser struct {
	opts   Options
	tabs   chan struct{} // one token per page being rendered
	warned sync.Once     // to log missing browser features only once

	ctx    context.Context // cancelled by Close
	cancel context.CancelCauseFunc
	mu     sync.Mutex // serialises begin and Close
	work   sync.WaitGroup

	lock    chan struct{} // a mutex, held while it contains a token; guards `current` and the instances' counts
	current *instance     // nil if none is running
}

// New returns a Browser, which neither starts nor connects to Chromium yet. The caller must call Close.
func New(opts Options) (*Browser, error) {
	opts = opts.withDefaults()
	if err := opts.check(); err != nil {
		return nil, err
	}
	b := &Browser{opts: opts, tabs: make(chan struct{}, opts.Concurrency), lock: make(chan struct{}, 1)}
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	return b, nil
}

// Close cancels running renderings with ErrClosed, terminates a local browser and its processes, and deletes its
// profile. It may be called several times.
func (b *Browser) Close() error {
	b.mu.Lock()
	b.cancel(ErrClosed)
	b.mu.Unlock()
	b.work.Wait()
	b.lock <- struct{}{}
	defer func() { <-b.lock }()
	if b.current != nil {
		b.current.end()
		b.current = nil
	}
	return nil
}

// begin returns a context that is cancelled when the caller's context is done or the browser is closed.
func (b *Browser) begin(ctx context.Context) (context.Context, func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return nil, nil, ErrClosed
	}
	b.work.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.ctx, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		b.work.Done()
	}, nil
}

// Render loads the page, lets its scripts run until the page is idle, and returns the resulting document as HTML in
// UTF-8. The HTML includes open shadow roots and embedded documents, but no noscript elements and no scripts except
// linked data. All of the page's requests are sent through `via`.
//
// Error pages from the server are rendered too; see crawl.Rendered.Status. Unless ctx or Close ended the rendering,
// errors are *crawl.Error; if Permanent is set, don't retry. If `via` fails for the page itself, Render wraps that
// error.
func (b *Browser) Render(ctx context.Context, address string, via http.RoundTripper) (crawl.Rendered, error) {
	u, err := url.Parse(address)
	if err != nil || !isWeb(u) {
		return crawl.Rendered{}, permanent(address, "%.200q cannot be rendered: it is not a web address", address)
	}
	ctx, done, err := b.begin(ctx)
	if err != nil {
		return crawl.Rendered{}, err
	}
	defer done()
	select {
	case b.tabs <- struct{}{}:
		defer func() { <-b.tabs }()
	case <-ctx.Done():
		return crawl.Rendered{}, context.Cause(ctx)
	}
	out, lost, err := b.render(ctx, u.String(), via)
	if lost {
		// The browser exited before the page was requested, so the page isn't to blame. Try once more.
		out, _, err = b.render(ctx, u.String(), via)
	}
	return out, b.explain(ctx, address, err)
}

// render makes one attempt. It returns lost = true if the browser exited before any request was sent to the page's
// server.
func (b *Browser) render(ctx context.Context, address string, via http.RoundTripper) (_ crawl.Rendered, lost bool, err error) {
	i, err := b.acquire(ctx)
	if err != nil {
		return crawl.Rendered{}, false, &browserError{err}
	}
	t, err := b.open(ctx, i, via)
	if err != nil {
		bad := ctx.Err() == nil
		b.release(i, bad)
		if !bad {
			return crawl.Rendered{}, false, err
		}
		return crawl.Rendered{}, true, &browserError{err}
	}
	out, err := t.load(ctx, address)
	bad := t.close()
	if err != nil && !i.isAlive() {
		err = &browserError{err}
		lost = !t.net.reachedServer()
	}
	b.release(i, bad)
	return out, lost, err
}

// acquire returns a running browser for one page.
func (b *Browser) acquire(ctx context.Context) (*instance, error) {
	select {
	case b.lock <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-b.lock }()
	if i := b.current; i != nil && (!i.isAlive() || (b.opts.URL == "" && i.pages >= pagesPerBrowser)) {
		b.retire(i)
	}
	if b.current == nil {
		i, err := b.start(b.ctx) // b.ctx, because the instance also serves later pages
		if err != nil {
			return nil, err
		}
		b.current = i
	}
	b.current.users++
	b.current.pages++
	return b.current, nil
}

// release must be called when a page no longer uses an instance. If `bad` is true, the instance is not used for any
// more pages.
func (b *Browser) release(i *instance, bad bool) {
	b.lock <- struct{}{}
	defer func() { <-b.lock }()
	i.users--
	if bad && !i.retired {
		b.retire(i)
		return
	}
	if i.retired && i.users == 0 {
		i.end()
	}
}

func (b *Browser) retire(i *instance) {
	i.retired = true
	if b.current == i {
		b.current = nil
	}
	if i.users == 0 {
		i.end()
	}
}

// browserError is a failure of the browser rather than of the page.
type browserError struct{ err error }

func (e *browserError) Error() string { return fmt.Sprintf("the browser failed: %v", e.err) }
func (e *browserError) Unwrap() error { return e.err }

// explain turns an internal error into one that the caller of Render can act on.
func (b *Browser) explain(ctx context.Context, address string, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if _, ok := errors.AsType[*crawl.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*browserError](err); ok {
		return &crawl.Error{URL: address, Message: fmt.Sprintf("%s could not be rendered: the browser failed", address), Err: err}
	}
	return &crawl.Error{URL: address, Message: fmt.Sprintf("%s could not be rendered: %v", address, err), Err: err}
}

func permanent(address, format string, args ...any) *crawl.Error {
	return &crawl.Error{Permanent: true, URL: address, Message: fmt.Sprintf(format, args...)}
}

func isWeb(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
