package render

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/css"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

const (
	openTimeout  = 15 * time.Second // for opening a tab
	closeTimeout = 5 * time.Second  // for closing a tab; if it takes longer, the browser is replaced
)

// restrictionScript removes the script features that bypass the proxy, as a second line of defence, because a remote
// browser's flags are unknown. It also answers dialogs immediately, because they would otherwise block the page.
const restrictionScript = `for (const [name, value] of Object.entries({
	RTCPeerConnection: undefined, webkitRTCPeerConnection: undefined, RTCDataChannel: undefined, WebTransport: undefined,
	open: () => null, alert: () => {}, confirm: () => false, prompt: () => null, print: () => {},
})) try { Object.defineProperty(globalThis, name, {value}) } catch {}`

// tab is a page in its own browser context.
type tab struct {
	opts     Options
	instance *instance
	context  cdp.BrowserContextID
	id       target.ID
	session  *chromedp.Target
	net      *traffic
	world    runtime.ExecutionContextID // our scripts' isolated world; 0 if none
	detach   func()                     // ends the session; may be called several times

	process context.Context // ends with the page's process
	crash   context.CancelCauseFunc
}

// errCrashed is the cancellation cause after a page's process has exited, usually because it ran out of memory.
var errCrashed = errors.New("the page's browser process crashed, usually because the page needs too much memory")

// open opens a tab that sends its requests through `via`. The caller must close the tab.
func (b *Browser) open(ctx context.Context, i *instance, via http.RoundTripper) (_ *tab, err error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	t := &tab{opts: b.opts, instance: i, detach: func() {}}
	t.process, t.crash = context.WithCancelCause(i.ctx)
	yes := true
	made, err := cdp.Call(ctx, i.browser, target.CreateBrowserContext, target.CreateBrowserContextParams{
		DisposeOnDetach: &yes, ProxyServer: unusableProxy, ProxyBypassList: proxyLoopback,
	})
	if err != nil {
		return nil, fmt.Errorf("creating a browser context: %w", err)
	}
	t.context = made.BrowserContextID
	t.net = newTraffic(b.opts, via)
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if _, err = cdp.Call(ctx, i.browser, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorDeny, BrowserContextID: t.context,
	}); err != nil {
		return nil, fmt.Errorf("disabling downloads: %w", err)
	}
	created, err := cdp.Call(ctx, i.browser, target.CreateTarget, target.CreateTargetParams{
		URL: "about:blank", BrowserContextID: t.context, NewWindow: &yes, Width: windowWidth, Height: windowHeight,
	})
	if err != nil {
		return nil, fmt.Errorf("opening a tab: %w", err)
	}
	t.id = created.TargetID
	if err = t.attach(ctx); err != nil {
		return nil, fmt.Errorf("attaching to the tab: %w", err)
	}
	if err = t.prepare(ctx); err != nil {
		return nil, fmt.Errorf("preparing the tab: %w", err)
	}
	return t, nil
}

func (t *tab) attach(ctx context.Context) error {
	base, cancel := context.WithCancel(t.instance.ctx) // chromedp closes the tab when the context that attached it is cancelled
	tctx, end := chromedp.NewContext(base, chromedp.WithTargetID(t.id), chromedp.WithDetachOnCancel(), chromedp.WithListener(t.listen))
	t.detach = func() {
		cancel()
		end()
	}
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	if err := chromedp.Listen(tctx, func(any) {}); err != nil {
		return err
	}
	t.session = chromedp.FromContext(tctx).Target
	return nil
}

// prepare turns off features that chromedp turns on but this package does not need, and intercepts all of the tab's
// requests.
func (t *tab) prepare(ctx context.Context) error {
	t.net.begin(t.session, cdp.FrameID(t.id))
	yes := true
	steps := []struct {
		method string
		params any
	}{
		// chromedp has enabled these. None is needed, and a page could flood this process with their events.
		{runtime.Disable.Method, cdp.Empty{}},
		{log.Disable.Method, cdp.Empty{}},
		{css.Disable.Method, cdp.Empty{}},
		{dom.Disable.Method, cdp.Empty{}},
		{page.SetLifecycleEventsEnabled.Method, page.SetLifecycleEventsEnabledParams{}},
		{target.SetAutoAttach.Method, target.SetAutoAttachParams{Flatten: &yes}},

		{network.SetBypassServiceWorker.Method, network.SetBypassServiceWorkerParams{Bypass: true}},
		{emulation.SetUserAgentOverride.Method, emulation.SetUserAgentOverrideParams{UserAgent: t.opts.UserAgent}},
		{emulation.SetFocusEmulationEnabled.Method, emulation.SetFocusEmulationEnabledParams{Enabled: true}},
		{page.AddScriptToEvaluateOnNewDocument.Method, page.AddScriptToEvaluateOnNewDocumentParams{Source: restrictionScript}},
		{fetch.Enable.Method, fetch.EnableParams{}},
	}
	for _, s := range steps {
		if err := t.session.Call(ctx, s.method, s.params, nil); err != nil {
			return fmt.Errorf("%s: %w", s.method, err)
		}
	}
	return nil
}

// listen handles the tab's events one at a time. It must not block.
func (t *tab) listen(event any) {
	switch e := event.(type) {
	case *fetch.EventRequestPaused:
		t.net.handle(e)
	case *inspector.EventTargetCrashed:
		t.crash(errCrashed)
	case *page.EventJavascriptDialogOpening:
		// Accept only dialogs about leaving the page.
		t.net.dialog()
		leave := e.Type == page.DialogTypeBeforeunload
		t.net.runInBackground(func(ctx context.Context) {
			_, _ = cdp.Call(ctx, t.session, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: leave})
		})
	}
}

// close closes the tab and terminates its scripts, even if they hang. It reports whether the browser failed to do so.
func (t *tab) close() (bad bool) {
	t.net.end()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_, err := cdp.Call(ctx, t.instance.browser, target.DisposeBrowserContext, target.DisposeBrowserContextParams{BrowserContextID: t.context})
	if err != nil && t.instance.isAlive() {
		t.opts.Log.Warn("closing a tab failed; replacing the browser", "error", err)
		bad = true
	}
	t.detach()
	t.crash(nil)
	return bad
}
