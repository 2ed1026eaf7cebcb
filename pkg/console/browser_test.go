package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/sluice/sluice/pkg/app"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/tools/local/engines"
)

const testKey = "sk_test_0123456789abcdef0123456789abcdef"

func TestMain(m *testing.M) {
	extract.RunChildIfAsked()
	code := m.Run()
	closeShared()
	os.Exit(code)
}

// shared is the browser in which all tests open their tabs.
var shared struct {
	sync.Once
	ctx  context.Context
	stop func()
	err  error
}

func closeShared() {
	if shared.stop != nil {
		shared.stop()
	}
}

// service is an api process for a single test.
type service struct {
	testing.TB
	base string
}

func start(t testing.TB, env ...string) *service {
	t.Helper()
	environ := append([]string{"SLUICE_ADDR=127.0.0.1:0", "SLUICE_DATA_DIR=" + t.TempDir(), "SLUICE_API_KEY=" + testKey, "SLUICE_ALLOW_PRIVATE_ADDRESSES=true",
		"SLUICE_ADMISSION_WAIT=1m"}, env...)
	c, err := config.Parse(nil, environ)
	if err != nil {
		t.Fatal(err)
	}
	s := app.NewService(c, app.Options{Log: slog.New(slog.DiscardHandler), Out: io.Discard})
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return &service{TB: t, base: "http://" + s.Addr()}
}

// call sends a request to the service's API and fails the test if the request fails.
func (s *service) call(method, path string, body, into any) {
	s.Helper()
	s.callWith(http.Header{}, method, path, body, into)
}

func (s *service) callWith(header http.Header, method, path string, body, into any) {
	s.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		s.Fatal(err)
	}
	req, err := http.NewRequestWithContext(s.Context(), method, s.base+path, bytes.NewReader(encoded))
	if err != nil {
		s.Fatal(err)
	}
	req.Header = header
	req.Header.Set("Authorization", "Bearer "+testKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode/100 != 2 {
		s.Fatalf("%s %s: %s, %v: %s", method, path, resp.Status, err, answer)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			s.Fatal(err)
		}
	}
}

// settled waits until the datastore has at least n datasources and at least n of them have been processed.
func (s *service) settled(store string, n int, timeout time.Duration) {
	s.Helper()
	waitUntil(s, timeout, fmt.Sprintf("%d datasources are settled", n), func() bool {
		var counts map[string]int
		s.call(http.MethodGet, "/datastores/"+store+"/counts", nil, &counts)
		return counts["synched"]+counts["error"]+counts["skipped"] >= n && counts["total"] >= n
	})
}

func waitUntil(t testing.TB, d time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %s: %s", d, what)
		case <-tick.C:
		}
	}
}

// tab is a browser tab with its own storage. It fails the test if the console throws an exception, logs an error,
// violates its policy, or contacts another host.
type tab struct {
	testing.TB
	base    string
	ctx     context.Context
	hostile atomic.Bool // whether the content is expected to violate the policy
	pages   string      // address of another web site the tab may open
}

// Time limit for one step of a test, long enough for a busy machine.
const stepTimeout = 60 * time.Second

func open(s *service) *tab {
	s.Helper()
	return openWithSite(s, "")
}

// openWithSite opens a tab that may also open pages on another web site.
func openWithSite(s *service, pages string) *tab {
	s.Helper()
	path := engines.ChromiumForTest(s)
	shared.Do(func() {
		actx, stopBrowser := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(path), chromedp.Headless,
			chromedp.Flag("no-sandbox", os.Geteuid() == 0), chromedp.Flag("disable-renderer-backgrounding", true),
			chromedp.Flag("disable-backgrounding-occluded-windows", true), chromedp.Flag("disable-background-timer-throttling", true))
		ctx, stopTab := chromedp.NewContext(actx)
		shared.ctx, shared.stop, shared.err = ctx, func() { stopTab(); stopBrowser() }, chromedp.Do(ctx)
	})
	if shared.err != nil {
		s.Fatal(shared.err)
	}
	t := &tab{TB: s.TB, base: s.base, pages: pages}
	var mu sync.Mutex
	var faults []string
	fault := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		faults = append(faults, fmt.Sprintf(format, args...))
	}
	ctx, end := chromedp.NewContext(shared.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			fault("an exception: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
		case *log.EventEntryAdded:
			// Ignore rejected requests. Some tests cause them on purpose, and the browser logs them although the
			// console reports them itself.
			refused := t.hostile.Load() && strings.Contains(e.Entry.Text, "blocked") &&
				(strings.Contains(e.Entry.Text, "Content Security Policy") || strings.Contains(e.Entry.Text, "CORS policy"))
			if e.Entry.Level == "error" && e.Entry.Source != "network" && !refused {
				fault("the browser says: %s", e.Entry.Text)
			}
		case *page.EventJavascriptDialogOpening:
			fault("a dialog: %s", e.Message)
		case *page.EventWindowOpen:
			fault("a window was opened: %s", e.URL)
		case *network.EventRequestWillBeSent:
			u, err := url.Parse(e.Request.URL)
			if err == nil && (u.Scheme == "http" || u.Scheme == "https") && "http://"+u.Host != s.base && "http://"+u.Host != pages {
				fault("a request to another host: %s", e.Request.URL)
			}
		}
	}))
	t.ctx = ctx
	t.Cleanup(func() {
		if t.Failed() {
			timed, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			if picture, err := chromedp.Run(timed, chromedp.FullScreenshot(100)); err == nil {
				_ = os.WriteFile(os.TempDir()+"/console-"+strings.ReplaceAll(t.Name(), "/", "-")+".png", picture, 0o600)
			}
		}
		end()
		mu.Lock()
		defer mu.Unlock()
		for _, f := range faults {
			t.Error(f)
		}
	})
	if err := chromedp.Do(ctx); err != nil { // the tab lives as long as the context it was first used with
		t.Fatal(err)
	}
	// Other tests' tabs may hide this one, but the page must still behave as if visible.
	if _, err := cdp.Call(ctx, chromedp.FromContext(ctx).Target, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	t.do("sizing the tab", chromedp.EmulateViewport(1280, 900))
	return t
}

func (t *tab) do(what string, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, stepTimeout)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("%s: %v\nthe page says: %.1500s", what, err, t.said())
	}
}

// said returns the page's text, for use in error messages.
func (t *tab) said() string {
	ctx, cancel := context.WithTimeout(t.ctx, 5*time.Second)
	defer cancel()
	text, _ := chromedp.Run(ctx, chromedp.Evaluate[string]("location.hash + '\\n' + document.body.innerText"))
	return text
}

// at navigates to a console address and waits for its view. Until the new view appears, the previous one is still
// shown, and its elements may match the same selectors.
func (t *tab) at(hash string) {
	t.Helper()
	t.do("leaving a view", chromedp.Evaluate[chromedp.Void](`[window.viewBefore, window.hashBefore] = [document.querySelector('main')?.firstElementChild, location.hash], undefined`))
	t.do("going to "+hash, chromedp.Navigate(t.base+"/"+hash))
	t.eventually("the view of "+hash, func() (bool, error) {
		return evaluate[bool](t, `(() => {
			const main = document.querySelector('main');
			const view = main?.firstElementChild;
			return Boolean(view) && !main.hasAttribute('aria-busy') && (view !== window.viewBefore || location.hash === window.hashBefore);
		})()`)
	})
}

// waitVisible waits until the first element that matches the selector is visible.
func (t *tab) waitVisible(css string) {
	t.Helper()
	t.eventually("waiting for "+css, func() (bool, error) {
		return evaluate[bool](t, `Boolean(document.querySelector(`+quote(css)+`)?.checkVisibility({visibilityProperty: true}))`)
	})
}

// The functions below look up an element right before each action, because the page may replace elements at any time.

// aim scrolls an element into view and returns a point on it. If a click at that point would not reach the element, aim
// returns null. It also intercepts the next click: if the click lands on another element, it has no effect, and the
// caller can try again.
const aim = `(css) => {
	const element = document.querySelector(css);
	if (!element) return null;
	element.scrollIntoView({block: 'center', behavior: 'instant'});
	const box = [...element.getClientRects()].find((r) => r.width > 0 && r.height > 0);
	if (!box) return null;
	const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
	if (!element.contains(document.elementFromPoint(x, y))) return null;
	window.clickTest = 'waiting';
	window.clickTestEnd?.();
	const seen = (event) => {
		window.clickTestEnd();
		window.clickTest = event.target.closest?.(css) ? 'hit' : 'missed';
		if (window.clickTest === 'missed') {
			event.preventDefault();
			event.stopImmediatePropagation();
		}
	};
	window.clickTestEnd = () => removeEventListener('click', seen, true);
	addEventListener('click', seen, true);
	return [x, y];
}`

// click clicks the first element that matches the selector once it is enabled and nothing covers it.
func (t *tab) click(css string) {
	t.Helper()
	t.eventually("clicking "+css, func() (bool, error) {
		at, err := evaluate[[]float64](t, "("+aim+")("+quote(css)+")")
		if err != nil || len(at) != 2 {
			return false, err
		}
		t.do("clicking "+css, chromedp.MouseClickXY(at[0], at[1]))
		// window.clickTest is undefined if the click opened another document.
		return evaluate[bool](t, `['hit', undefined].includes(window.clickTest)`)
	})
}

// focusField focuses a field, sets its value unless null, moves the caret to the end, and returns the field's value.
const focusField = `(css, value) => {
	const field = document.querySelector(css);
	if (!field) return null;
	field.focus();
	if (field !== document.activeElement) return null;
	if (value !== null && field.value !== value) field.value = value;
	if (field.selectionStart !== null) field.setSelectionRange(field.value.length, field.value.length);
	return field.value;
}`

// typeText types text at the end of a field. Before pressing a final return, it waits for the other characters to
// appear, because the page may replace the field during typing.
func (t *tab) typeText(css, text string) {
	t.Helper()
	typed, submit := strings.CutSuffix(text, "\r")
	before := "null"
	t.eventually("typing into "+css, func() (bool, error) {
		held, err := evaluate[*string](t, "("+focusField+")("+quote(css)+", "+before+")")
		if err != nil || held == nil {
			return false, err
		}
		before = quote(*held)
		t.do("typing into "+css, chromedp.KeyEvent(typed))
		return evaluate[bool](t, `document.querySelector(`+quote(css)+`) === document.activeElement && document.activeElement.value === `+quote(*held+typed))
	})
	if submit {
		t.keys("\r")
	}
}

func (t *tab) clearField(css string) {
	t.Helper()
	t.eventually("emptying "+css, func() (bool, error) {
		return evaluate[bool](t, `(() => { const f = document.querySelector(`+quote(css)+`); if (f) { f.value = ''; f.dispatchEvent(new Event('input', {bubbles: true})) } return f !== null })()`)
	})
}

// chooseFiles selects files in the first file input, which may be hidden.
func (t *tab) chooseFiles(files []string) {
	t.Helper()
	t.eventually("choosing files", func() (bool, error) {
		ctx, cancel := context.WithTimeout(t.ctx, stepTimeout)
		defer cancel()
		target := chromedp.FromContext(ctx).Target
		found, err := cdp.Call(ctx, target, runtime.Evaluate, runtime.EvaluateParams{Expression: `document.querySelector('input[type=file]')`})
		if err != nil || found.Result.ObjectID == "" {
			return false, err
		}
		_, err = cdp.Call(ctx, target, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: files, ObjectID: found.Result.ObjectID})
		return err == nil, err
	})
}

// eventually repeats a step until it succeeds. It also retries after errors, because the step may have opened another
// document.
func (t *tab) eventually(what string, step func() (bool, error)) {
	t.Helper()
	deadline := time.NewTimer(stepTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := step()
		if done && err == nil {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("%s: not done within %s: %v\nthe page says: %.1500s", what, stepTimeout, err, t.said())
		case <-tick.C:
		}
	}
}

func (t *tab) keys(keys string, options ...chromedp.KeyOption) {
	t.Helper()
	t.do("pressing keys", chromedp.KeyEvent(keys, options...))
}

// until waits until an expression is true in the page. It ignores errors in the meantime, because the page may be
// opening another document.
func (t *tab) until(expression string) {
	t.Helper()
	t.eventually("waiting for "+expression, func() (bool, error) { return evaluate[bool](t, "Boolean("+expression+")") })
}

// value evaluates an expression in the page and awaits it if it is a promise.
func value[T any](t *tab, expression string) T {
	t.Helper()
	v, err := evaluate[T](t, expression)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatalf("evaluating %.200s: %v", expression, err)
	}
	return v
}

func evaluate[T any](t *tab, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(t.ctx, stepTimeout)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

func (t *tab) signIn() {
	t.Helper()
	t.at("#/")
	t.typeText("input[name=key]", testKey+"\r")
	t.waitVisible("#nav")
	t.until(`!document.querySelector('input[name=key]')`) // the first view is shown
}
