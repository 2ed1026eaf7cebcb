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
)

// eventBlocker is a proxy that withholds datasource events: it accepts requests for events but sends none. For each
// accepted request, it sends a value to `begun`, and it keeps the connection open until the test sends a value to
// `cut`. While `held` is true, requests for events fail.
type eventBlocker struct {
	*httptest.Server
	begun, cut chan struct{}
	held       atomic.Bool
}

func blockEvents(t *testing.T, base string) *eventBlocker {
	t.Helper()
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(to)
	d := &eventBlocker{begun: make(chan struct{}, 100), cut: make(chan struct{})}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasSuffix(r.URL.Path, "/events"):
			pass.ServeHTTP(w, r)
			return
		case d.held.Load():
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(": watching\n\n"))
		_ = http.NewResponseController(w).Flush()
		d.begun <- struct{}{}
		select {
		case <-d.cut:
			panic(http.ErrAbortHandler)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(d.Close)
	return d
}

// TestLostEventsAreCaughtUp opens a list that receives no events. The list must still show changes made before the
// console began to watch for events, changes made while the watch was interrupted, and changes whose events were lost.
func TestLostEventsAreCaughtUp(t *testing.T) {
	t.Parallel()
	s := start(t)
	var store struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Letters"}, &store)
	n := 0
	// add adds texts with idempotency keys. The service derives the texts' ids from these keys, so the ids don't reveal
	// the order in which the texts were added.
	add := func(names ...string) (ids []string) {
		for _, name := range names {
			var made struct{ ID string }
			s.callWith(http.Header{"Idempotency-Key": {name}}, http.MethodPost, "/datasources",
				map[string]any{"datastoreId": store.ID, "type": "text", "name": name, "config": map[string]any{"text": "This is " + name + "."}}, &made)
			ids = append(ids, made.ID)
		}
		n += len(names)
		s.settled(store.ID, n, stepTimeout)
		return ids
	}
	ids := add("first", "second", "third")

	d := blockEvents(t, s.base)
	d.held.Store(true)
	c := open(&service{TB: t, base: d.URL})
	c.signIn()
	c.at("#/datastores/" + store.ID)
	shows := func(names ...string) {
		t.Helper()
		c.until(fmt.Sprintf(`[...document.querySelectorAll('.sources .source a')].map((a) => a.textContent).join(' ') === '%s'`, strings.Join(names, " ")))
		c.until(fmt.Sprintf(`[...document.querySelectorAll('.sources .chip')].filter((e) => e.textContent === 'Searchable').length === %d`, len(names)))
	}
	shows("third", "second", "first")

	add("fourth") // before any watch has begun
	d.held.Store(false)
	<-d.begun
	shows("fourth", "third", "second", "first")

	d.held.Store(true)
	d.cut <- struct{}{}
	s.call(http.MethodDelete, "/datasources/"+ids[1], map[string]any{}, nil)
	n--
	add("fifth", "sixth")
	d.held.Store(false)
	<-d.begun
	shows("sixth", "fifth", "fourth", "third", "first")

	add("seventh") // the watch is open, but the event is lost
	value[bool](c, `document.dispatchEvent(new Event('visibilitychange'))`)
	shows("seventh", "sixth", "fifth", "fourth", "third", "first")
	c.until(`document.querySelector('.counts').innerText.includes('Searchable: 6')`)
}

// TestOnlyRetryableUploadsAreSentAgain drops a file that no service would accept and one for which the service
// temporarily has no room.
func TestOnlyRetryableUploadsAreSentAgain(t *testing.T) {
	t.Parallel()
	s := start(t)
	var store struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Letters"}, &store)
	to, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(to)
	pass.FlushInterval = -1
	var isClosed atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.Path == "/datasources" && isClosed.Load() {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusPaymentRequired)
			_, _ = w.Write([]byte(`{"title":"Usage limit reached","detail":"the month's uploads are used up"}`))
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	folder := t.TempDir()
	program, letter := folder+"/program.exe", folder+"/letter.txt"
	write(t, program, "MZ\x90\x00 is no document")
	write(t, letter, "The pump hums.")

	c := open(&service{TB: t, base: proxy.URL})
	c.signIn()
	c.at("#/datastores/" + store.ID)
	c.drop(".drop", program)
	c.until(`document.querySelector('.add .card ul').innerText.includes('program.exe')`)
	const again = `[...document.querySelectorAll('.add .card button')].find((b) => b.textContent === 'Retry failed uploads')`
	if !value[bool](c, again+`.hidden`) {
		t.Error("a file that cannot be read is offered to be sent again")
	}
	isClosed.Store(true)
	c.drop(".drop", letter)
	c.until(`document.querySelector('.add .card ul').innerText.includes("The month's uploads are used up")`)
	c.until(`!` + again + `.hidden`)
	isClosed.Store(false)
	value[bool](c, `(`+again+`.click(), true)`)
	c.until(`document.querySelectorAll('.sources .chip.synched').length === 1`)
	c.until(again + `.hidden`)
	if failures := value[string](c, `document.querySelector('.add .card ul').innerText`); !strings.Contains(failures, "program.exe") || strings.Contains(failures, "letter.txt") {
		t.Errorf("the failed uploads are shown as %q", failures)
	}
}

// TestUnreadableFilesAreNotRetried adds a file with unreadable content and a page that fails because of the service's
// configuration.
func TestUnreadableFilesAreNotRetried(t *testing.T) {
	t.Parallel()
	s := start(t, "SLUICE_ALLOW_PRIVATE_ADDRESSES=false")
	var store struct{ ID string }
	s.call(http.MethodPost, "/datastores", map[string]any{"name": "Handbook"}, &store)
	s.call(http.MethodPost, "/datasources", map[string]any{
		"type": "web_page", "datastoreId": store.ID, "name": "A page", "config": map[string]any{"source_url": "http://127.0.0.1:1/"},
	}, nil)
	broken := filepath.Join(t.TempDir(), "broken.pdf")
	if err := os.WriteFile(broken, []byte("%PDF-1.4 nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := open(s)
	c.signIn()
	c.at("#/datastores/" + store.ID)
	c.waitVisible(".drop")
	c.drop(".drop", broken)
	c.until(`document.querySelectorAll('.sources .chip.error').length === 2`)
	for name, offered := range map[string]bool{"A page": true, "broken.pdf": false} {
		if got := value[bool](c, `document.querySelector('button[aria-label="Retry: `+name+`"]') !== null`); got != offered {
			t.Errorf("%s is offered to be tried again: %t", name, got)
		}
	}
	c.click(`.sources a[title="broken.pdf"]`)
	c.until(`document.querySelector('main h1')?.innerText === 'broken.pdf'`)
	if value[bool](c, `[...document.querySelectorAll('main button')].some((b) => /again/.test(b.innerText))`) {
		t.Error("the view of an unreadable file offers a retry")
	}
}
