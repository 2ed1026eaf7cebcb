package render

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/tools/local/engines"
)

func TestMain(m *testing.M) {
	liveUntilKilled()
	goleak.VerifyTestMain(closing{m})
}

// common holds the browser shared by tests that do not change it.
var common struct {
	sync.Once
	browser *Browser
	dir     string
}

// shared returns the common browser, starting it on first use.
func shared(t testing.TB) *Browser {
	t.Helper()
	path := engines.ChromiumForTest(t)
	common.Do(func() {
		var err error
		if common.dir, err = os.MkdirTemp("", "render-test-"); err != nil {
			t.Fatal(err)
		}
		if common.browser, err = New(Options{Path: path, Timeout: time.Minute, Concurrency: 3, TempDir: common.dir}); err != nil {
			t.Fatal(err)
		}
	})
	return common.browser
}

// closing runs the tests and then closes the common browser.
type closing struct{ tests *testing.M }

func (c closing) Run() int {
	code := c.tests.Run()
	if common.browser == nil {
		return code
	}
	if err := errors.Join(common.browser.Close(), os.Remove(common.dir)); err != nil {
		fmt.Fprintln(os.Stderr, "closing the browser:", err)
		return max(code, 1)
	}
	return code
}

// start returns a browser for use by this test only.
func start(t testing.TB, change ...func(*Options)) *Browser {
	t.Helper()
	path := engines.ChromiumForTest(t)
	dir, err := os.MkdirTemp("", "render-test-") // t.TempDir's path is too long for Chromium
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Path: path, Timeout: 20 * time.Second, TempDir: dir, Log: slog.New(slog.NewTextHandler(logTo{t}, nil))}
	for _, f := range change {
		f(&o)
	}
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("the browser leaves behind %v, %v", left, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return b
}

type logTo struct{ t testing.TB }

func (l logTo) Write(p []byte) (int, error) {
	l.t.Logf("%s", p)
	return len(p), nil
}

// site serves HTML by path and counts requests. Paths with a handler use the handler instead.
type site struct {
	*httptest.Server
	mu   sync.Mutex
	hits map[string]int
}

func serve(t testing.TB, pages map[string]string, handlers map[string]http.HandlerFunc) *site {
	t.Helper()
	s := &site{hits: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.hits[r.URL.Path]++
		s.mu.Unlock()
		if h, ok := handlers[r.URL.Path]; ok {
			h(w, r)
			return
		}
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		switch {
		case strings.HasSuffix(r.URL.Path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
		case strings.HasSuffix(r.URL.Path, ".json"):
			w.Header().Set("Content-Type", "application/json")
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hits[path]
}

// direct is a RoundTripper that can access only loopback addresses. It records the addresses requested.
type direct struct {
	transport *http.Transport
	host      string // if set, only this host can be accessed
	mu        sync.Mutex
	asked     []string
	refused   int
}

var errRefused = errors.New("that address is not reached")

func via(t testing.TB) *direct {
	d := &direct{transport: &http.Transport{DisableCompression: true}}
	t.Cleanup(d.transport.CloseIdleConnections)
	return d
}

func (d *direct) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	d.asked = append(d.asked, r.URL.String())
	ok := r.URL.Hostname() == "127.0.0.1" && (d.host == "" || d.host == r.URL.Host)
	if !ok {
		d.refused++
	}
	d.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("%s: %w", r.URL.Host, errRefused)
	}
	return d.transport.RoundTrip(r)
}

func render(t testing.TB, b *Browser, via http.RoundTripper, address string) crawl.Rendered {
	t.Helper()
	out, err := b.Render(context.Background(), address, via)
	if err != nil {
		t.Fatalf("rendering %s: %v (%v)", address, err, errors.Unwrap(err))
	}
	return out
}

func wantText(t testing.TB, r crawl.Rendered, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if !strings.Contains(string(r.HTML), s) {
			t.Errorf("the rendered page lacks %q:\n%.2000s", s, r.HTML)
		}
	}
}

func wantError(t testing.TB, err error) *crawl.Error {
	t.Helper()
	var e *crawl.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want a *crawl.Error", err, err)
	}
	if e.Message == "" {
		t.Errorf("the error has no message for people: %+v", e)
	}
	return e
}

func packed(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, s)
	_ = z.Close()
	return b.Bytes()
}

// victim is the name of an environment variable that holds a page's address. If it is set, the test binary renders the
// page, prints the browser's process id, and waits to be killed.
const victim = "RENDER_TEST_VICTIM"

func liveUntilKilled() {
	address, asked := os.LookupEnv(victim)
	if !asked {
		return
	}
	b, err := New(Options{Path: os.Getenv(victim + "_PATH"), Log: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = b.Render(context.Background(), address, http.DefaultTransport)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("rendered", b.current.browser.Process().Pid)
	select {}
}

func pidOf(b *Browser) int {
	b.lock <- struct{}{}
	defer func() { <-b.lock }()
	return b.current.browser.Process().Pid
}

// within waits until the condition holds, but no longer than d.
func within(t testing.TB, d time.Duration, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(d)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %s: %s", d, what)
		case <-tick.C:
		}
	}
}
