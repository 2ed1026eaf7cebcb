package render

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/sluice/sluice/pkg/crawl"
)

const (
	pollInterval = 50 * time.Millisecond  // interval between checks whether the page is idle
	idleTime     = 500 * time.Millisecond // time without requests and changes after which a page counts as idle
	// A page without requests for maxBusyTime also counts as idle, because some pages never stop changing.
	maxBusyTime = 3 * time.Second
	// Time limit for one attempt to read the document, including the time to stop its scripts. Reading a document may
	// take several attempts.
	readTimeout = 3 * time.Second
	// Minimum total time for attempts to read the document, even if the page has less time left.
	readGrace = 9 * time.Second
)

//go:embed look.js
var stateScript string

//go:embed take.js
var readScript string

// pageState is the page's state, as returned by look.js.
type pageState struct {
	Address string  `json:"address"`
	Loading bool    `json:"loading"`
	Quiet   float64 `json:"quiet"` // milliseconds since the last change
}

// pageContent is the page's content, as returned by take.js.
type pageContent struct {
	HTML    string `json:"html"`
	Address string `json:"address"`
	Text    bool   `json:"text"` // whether there is text
	Large   bool   `json:"large"`
}

// load opens the address in the tab, waits for the page to become idle, and returns the rendered page.
func (t *tab) load(ctx context.Context, address string) (crawl.Rendered, error) {
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	defer context.AfterFunc(t.process, func() { leave(context.Cause(t.process)) })()
	timed, cancel := context.WithTimeout(ctx, t.opts.Timeout)
	defer cancel()
	late := false
	t.net.open(address)
	err := t.navigate(timed, address)
	if err == nil {
		late, err = t.waitIdle(timed, address)
	}
	if err != nil {
		return crawl.Rendered{}, t.cause(ctx, timed, address, err)
	}
	got, err := t.readPage(ctx, timed, late)
	switch {
	case ctx.Err() != nil:
		return crawl.Rendered{}, t.cause(ctx, ctx, address, err)
	case err != nil && late:
		return crawl.Rendered{}, t.timeoutError(address)
	case err != nil:
		return crawl.Rendered{}, fmt.Errorf("reading the page: %w", err)
	case got.Large || int64(len(got.HTML)) > t.opts.MaxHTML:
		return crawl.Rendered{}, tooLarge(address, t.opts.MaxHTML)
	case late && !got.Text:
		return crawl.Rendered{}, t.timeoutError(address)
	}
	status, _ := t.net.outcome()
	return crawl.Rendered{HTML: []byte(got.HTML), URL: got.Address, Status: status}, nil
}

// cause returns an error that explains why loading the page ended.
func (t *tab) cause(ctx, timed context.Context, address string, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errCrashed):
		return permanent(address, "%s could not be rendered: %v", address, errCrashed)
	case cause != nil:
		return cause
	case timed.Err() != nil:
		return t.timeoutError(address)
	}
	return err
}

func (t *tab) timeoutError(address string) error {
	return &crawl.Error{URL: address, Message: fmt.Sprintf("%s showed no content within %s", address, t.opts.Timeout)}
}

func (t *tab) navigate(ctx context.Context, address string) error {
	res, err := cdp.Call(ctx, t.session, page.Navigate, page.NavigateParams{URL: address})
	if err != nil {
		return err
	}
	if res.ErrorText != "" {
		return t.failed(address, res.ErrorText)
	}
	return nil
}

// failed returns the error from the latest request for the page. If that request had no error, failed returns a new
// error with the given reason.
func (t *tab) failed(address, reason string) error {
	if _, err := t.net.outcome(); err != nil {
		return err
	}
	return &crawl.Error{URL: address, Message: fmt.Sprintf("%s could not be rendered: %s", address, reason)}
}

// waitIdle waits for the page to become idle. It returns late = true if the page did not become idle in time. No matter
// how long ago the last check was, at most pollInterval of it counts as idle, because an overloaded browser may be
// slow to send requests from scripts that have already run.
func (t *tab) waitIdle(ctx context.Context, address string) (late bool, err error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var calm time.Duration // observed time without pending requests
	looked := time.Now()
	for {
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return true, nil
			}
			return false, ctx.Err()
		case <-tick.C:
		}
		if t.net.exceedsLimits() {
			return true, nil
		}
		var l pageState
		if err := t.evaluate(ctx, stateScript+"()", &l); err != nil {
			// Either the time is up, or the page is navigating and can't be evaluated yet. The next iteration shows
			// which.
			continue
		}
		if strings.HasPrefix(l.Address, "chrome-error:") {
			return false, t.failed(address, "it leads to an invalid address")
		}
		still := time.Duration(l.Quiet * float64(time.Millisecond))
		now, quiet := time.Now(), t.net.idleFor()
		if calm += min(now.Sub(looked), pollInterval); l.Loading || quiet == 0 {
			calm = 0
		}
		looked = now
		if !l.Loading && min(quiet, calm) >= idleTime && (still >= idleTime || quiet >= maxBusyTime) {
			return false, nil
		}
	}
}

// readPage reads the document. If `late` is true, the page never became idle and its scripts may run forever, so they
// are stopped first. An overloaded page responds slowly, so readPage retries until the page's time is up, but for at
// least readGrace.
func (t *tab) readPage(ctx, timed context.Context, late bool) (got pageContent, err error) {
	script := fmt.Sprintf("%s(%d)", readScript, t.opts.MaxHTML)
	for grace := time.Now().Add(readGrace); ; {
		once, cancel := context.WithTimeout(ctx, readTimeout)
		if late {
			t.stop(once)
		}
		err = t.evaluate(once, script, &got)
		cancel()
		if err == nil || ctx.Err() != nil || (timed.Err() != nil && time.Now().After(grace)) {
			return got, err
		}
	}
}

// stop terminates running scripts, prevents new ones and cancels pending requests. The browser responds to the
// StopLoading call at once, and to the other calls as soon as no script is running.
func (t *tab) stop(ctx context.Context) {
	t.net.runInBackground(func(ctx context.Context) {
		_, _ = cdp.Call(ctx, t.session, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		_, _ = cdp.Call(ctx, t.session, page.StopLoading, cdp.Empty{})
	})
	_, _ = cdp.Call(ctx, t.session, runtime.TerminateExecution, cdp.Empty{})
}

// evaluate runs a script in an isolated world of the page. There it sees the document, but not the page's changes to
// JavaScript objects.
func (t *tab) evaluate(ctx context.Context, script string, into any) error {
	if t.world == 0 {
		w, err := cdp.Call(ctx, t.session, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: t.net.main, WorldName: "sluice"})
		if err != nil {
			return err
		}
		t.world = w.ExecutionContextID
	}
	yes := true
	res, err := cdp.Call(ctx, t.session, runtime.Evaluate, runtime.EvaluateParams{
		Expression: script, ContextID: t.world, ReturnByValue: &yes, Silent: &yes,
	})
	if err != nil {
		t.world = 0 // the document no longer exists
		return err
	}
	if res.ExceptionDetails != nil {
		return fmt.Errorf("the script that reads the page failed: %s", res.ExceptionDetails.Text)
	}
	return json.Unmarshal(res.Result.Value, into)
}
