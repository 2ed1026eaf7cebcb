package console_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// fullSizeVariable is an environment variable. If it is set, the tests use the sizes that the console promises to
// support; otherwise, they use smaller ones.
const fullSizeVariable = "CONSOLE_MANY"

func scaled(few, all int) int {
	if os.Getenv(fullSizeVariable) != "" {
		return all
	}
	return few
}

// TestALongListOpensAtOnceAndScrolls opens a datastore with 10,000 datasources and scrolls to the end.
func TestALongListOpensAtOnceAndScrolls(t *testing.T) {
	t.Parallel()
	n := scaled(1000, 10_000)
	s := start(t)
	var store struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Archive"}, &store)
	for done := 0; done < n; {
		var documents []map[string]any
		for ; done < n && len(documents) < 500; done++ {
			documents = append(documents, map[string]any{"name": fmt.Sprintf("Letter %05d", done), "text": fmt.Sprintf("Letter %d is about the pumps of house %d.", done, done*7)})
		}
		s.call(http.MethodPost, "/datastores/upsert/"+store.ID, map[string]any{"documents": documents}, nil)
	}
	s.settled(store.ID, n, 10*time.Minute)
	c := open(s)
	c.signIn()
	c.waitVisible(".cards a")
	opened := value[float64](c, `(async () => {
		const begin = performance.now();
		location.hash = '#/datastores/`+store.ID+`';
		while (!document.querySelector('.sources .source')) await new Promise(requestAnimationFrame);
		await new Promise(requestAnimationFrame);
		return performance.now() - begin;
	})()`)
	t.Logf("a list of %d opens in %.0f ms", n, opened)
	if all := scaled(0, 1) == 1; all && opened > 1000 { // the time is meaningless while other tests are running
		t.Errorf("a list of %d opens in %.0f ms", n, opened)
	}
	// A new datasource appears at the top, even if most of the list is not loaded.
	s.call(http.MethodPost, "/datasources", map[string]any{"datastoreId": store.ID, "type": "text", "name": "Postcard", "config": map[string]any{"text": "Wish you were here."}}, nil)
	c.until(`document.querySelector('.sources .source a').textContent === 'Postcard'`)
	n++
	// Scroll to the end as with a mouse wheel: one screen at a time, as fast as the browser paints.
	type scrolled struct {
		Rows          int
		Took, Slowest float64
	}
	ctx := c.ctx
	got, err := chromedp.Run(ctx, chromedp.Evaluate[scrolled](fmt.Sprintf(`(async () => {
		const begin = performance.now();
		let slowest = 0, last = begin;
		while (document.querySelectorAll('.sources .source').length < %d && performance.now() - begin < 120000) {
			window.scrollBy(0, innerHeight);
			await new Promise(requestAnimationFrame);
			slowest = Math.max(slowest, performance.now() - last);
			last = performance.now();
		}
		return {Rows: document.querySelectorAll('.sources .source').length, Took: performance.now() - begin, Slowest: slowest};
	})()`, n), chromedp.EvalAwaitPromise))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("scrolled through %d rows in %.0f ms; between two frames at most %.0f ms", got.Rows, got.Took, got.Slowest)
	if got.Rows != n {
		t.Errorf("%d of %d rows are there", got.Rows, n)
	}
	if twice := value[int](c, `document.querySelectorAll('.sources a').length - new Set([...document.querySelectorAll('.sources a')].map(a => a.hash)).size`); twice != 0 {
		t.Errorf("%d rows are there twice", twice)
	}
	// Filtering still works with all rows loaded.
	c.typeText(".filters input", fmt.Sprintf("Letter %05d", n-2))
	c.until(`document.querySelectorAll('.sources .source').length === 1`)
}

// unreliableProxy simulates a bad network and a busy service: it rejects some uploads, and drops the responses
// to others that were accepted.
func unreliableProxy(t *testing.T, base string) (proxy *httptest.Server, refused, lost *atomic.Int64) {
	t.Helper()
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	refused, lost = &atomic.Int64{}, &atomic.Int64{}
	pass := httputil.NewSingleHostReverseProxy(to)
	pass.FlushInterval = -1
	var uploads atomic.Int64
	proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/datasources" {
			pass.ServeHTTP(w, r)
			return
		}
		switch n := uploads.Add(1); {
		case n%31 == 5:
			refused.Add(1)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader([]int{http.StatusTooManyRequests, http.StatusServiceUnavailable}[n%2])
		case n%13 == 7:
			lost.Add(1)
			pass.ServeHTTP(httptest.NewRecorder(), r) // the service stores the upload, but the client gets no response
			panic(http.ErrAbortHandler)
		default:
			pass.ServeHTTP(w, r)
		}
	}))
	proxy.Config.ErrorLog = nil
	t.Cleanup(proxy.Close)
	return proxy, refused, lost
}

// TestManyFilesAreUploadedOnce drops a folder of 1,000 files over a network that sometimes fails.
func TestManyFilesAreUploadedOnce(t *testing.T) {
	t.Parallel()
	n := scaled(120, 1000)
	folder := filepath.Join(t.TempDir(), "letters")
	for i := range n {
		name := filepath.Join(folder, fmt.Sprintf("box %d", i%7), fmt.Sprintf("letter-%04d.txt", i))
		write(t, name, fmt.Sprintf("Letter %d is about the pumps of house %d.", i, i*7))
	}
	write(t, filepath.Join(folder, ".DS_Store"), "left behind")
	write(t, filepath.Join(folder, "program.exe"), "MZ\x90\x00 is no document")
	s := start(t)
	var store struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Letters"}, &store)
	proxy, refused, lost := unreliableProxy(t, s.base)
	c := open(&service{TB: t, base: proxy.URL})
	c.signIn()
	c.at("#/datastores/" + store.ID)
	began := time.Now()
	c.drop(".drop", folder)
	waitUntil(t, 5*time.Minute, "all files are dealt with", func() bool {
		return value[bool](c, fmt.Sprintf(`/^%s of %s files uploaded/.test(document.querySelector('.add .card').innerText)`, formatNumber(n), formatNumber(n+1)))
	})
	t.Logf("%d files are uploaded after %v; %d uploads were refused, the answers of %d lost", n, time.Since(began).Round(time.Millisecond), refused.Load(), lost.Load())
	if failures := value[string](c, `document.querySelector('.add .card ul').innerText`); !strings.Contains(failures, "program.exe") || strings.Contains(failures, ".txt") {
		t.Errorf("the failed uploads are shown as %q", failures)
	}
	s.settled(store.ID, n, 5*time.Minute)
	names := map[string]int{}
	for cursor := ""; ; {
		var page struct {
			Data []struct {
				Name, Status string
				Metadata     struct{ Path string }
			}
			NextCursor string
		}
		s.call(http.MethodGet, "/datasources?limit=200&datastoreId="+store.ID+"&cursor="+url.QueryEscape(cursor), nil, &page)
		for _, d := range page.Data {
			names[d.Name]++
			if d.Status != "synched" || !strings.HasPrefix(d.Metadata.Path, "letters/box ") || !strings.HasSuffix(d.Metadata.Path, d.Name) {
				t.Errorf("%s is %s at %s", d.Name, d.Status, d.Metadata.Path)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if len(names) != n {
		t.Errorf("%d of %d files have arrived", len(names), n)
	}
	for name, times := range names {
		if times != 1 {
			t.Errorf("%s is there %d times", name, times)
		}
	}
	// The list updates itself and contains all files.
	c.until(fmt.Sprintf(`document.querySelectorAll('.sources .source').length === %d`, n))
	c.until(fmt.Sprintf(`document.querySelector('.counts').innerText.includes('Searchable: %s')`, formatNumber(n)))
}

// formatNumber formats a number as the console does.
func formatNumber(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// drop drops local files or folders onto an element.
func (t *tab) drop(css string, paths ...string) {
	t.Helper()
	t.waitVisible(css)
	at := value[[]float64](t, `(({x, y, width, height}) => [x + width / 2, y + height / 2])(document.querySelector('`+css+`').getBoundingClientRect())`)
	for _, kind := range []input.DispatchDragEventType{input.DispatchDragEventTypeDragEnter, input.DispatchDragEventTypeDragOver, input.DispatchDragEventTypeDrop} {
		_, err := cdp.Call(t.ctx, chromedp.FromContext(t.ctx).Target, input.DispatchDragEvent, input.DispatchDragEventParams{
			Type: kind, X: at[0], Y: at[1], Data: &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: 1},
		})
		if err != nil {
			t.Fatalf("dropping: %v", err)
		}
	}
}
