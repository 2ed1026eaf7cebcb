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

// pagesPerBrowser is after how many pages a local browser is replaced: what it keeps of each adds up.
const pagesPerBrowser = 500

// ErrClosed is the cause of what was cut short by Close.
var ErrClosed = errors.New("the browser is closed")

// Browser renders pages. It may be used by any number of goroutines. It starts its Chromium with the first page, and
// again when it has ended.
type Browser struct {
	opts   Options
	tabs   chan struct{} // one token for each page being rendered
	warned sync.Once     // of what the browser lacks

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	mu     sync.Mutex // orders begin and Close
	work   sync.WaitGroup

	lock    chan struct{} // held by putting a token in; guards current and the instances' counts
	current *instance     // nil if there is none
}

// New returns a Browser; nothing is started or connected to yet. Close must be called in the end.
func New(opts Options) (*Browser, error) {
	opts = opts.withDefaults()
	if err := opts.check(); err != nil {
		return nil, err
	}
	b := &Browser{opts: opts, tabs: make(chan struct{}, opts.Concurrency), lock: make(chan struct{}, 1)}
	b.ctx, b.cancel = context.WithCancelCause(context.Background())
	return b, nil
}

// Close ends running renderings with ErrClosed, ends a local browser with all its processes, and deletes its profile.
// It may be called more than once.
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

// begin binds a rendering to both its caller and the browser's life.
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

// Render loads the page, lets its scripts run until it is at rest, and returns what they have built: HTML in UTF-8
// with open shadow roots and embedded documents in place, without scripts (but linked data) and noscript parts. All
// its requests go through via.
//
// A page whose server answers with an error is rendered too; its Status says so. Errors are *crawl.Error, whose
// Permanent says whether another try is of use, unless ctx or Close ended it. An error of via for the page itself is
// wrapped.
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
		// The browser had ended before the page was asked for: that is not the page's doing.
		out, _, err = b.render(ctx, u.String(), via)
	}
	return out, b.explain(ctx, address, err)
}

// render is one try. lost says that the browser ended before anything was asked of the page's server.
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
	if err != nil && !i.alive() {
		err = &browserError{err}
		lost = !t.net.asked()
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
	if i := b.current; i != nil && (!i.alive() || (b.opts.URL == "" && i.pages >= pagesPerBrowser)) {
		b.retire(i)
	}
	if b.current == nil {
		i, err := b.start(b.ctx) // for all pages to come, not for this one
		if err != nil {
			return nil, err
		}
		b.current = i
	}
	b.current.users++
	b.current.pages++
	return b.current, nil
}

// release gives the browser back; a bad one gets no new page.
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

// explain makes of an error what the caller can act on.
func (b *Browser) explain(ctx context.Context, address string, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	var known *crawl.Error
	if errors.As(err, &known) {
		return err
	}
	var failed *browserError
	if errors.As(err, &failed) {
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
