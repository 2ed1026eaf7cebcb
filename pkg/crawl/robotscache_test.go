package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

func TestRobotsCache_asks_again_when_the_first_asker_gives_up(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 2)
	var n atomic.Int32
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" && n.Add(1) == 1 {
			asked <- struct{}{}
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "User-agent: *\nDisallow: /x")
	}))
	c := local(t)
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := c.Fetch(ctx, PageRequest{URL: s.URL + "/a"})
		first <- err
	}()
	<-asked
	go func() {
		p, err := c.Fetch(t.Context(), PageRequest{URL: s.URL + "/b"})
		_ = p.Close()
		second <- err
	}()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first ended with %v", err)
	}
	if err := <-second; err != nil {
		t.Errorf("the second ended with %v", err)
	}
}

func TestRobotsCache_forgets_hosts_and_what_is_old(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	answer := http.NewFileTransport(http.FS(fstest.MapFS{"robots.txt": {Data: []byte("User-agent: *\nDisallow: /x")}}))
	now := time.Unix(0, 0)
	c := &robotsCache{
		product: "SluiceBot", timeout: time.Minute, now: func() time.Time { return now }, hosts: map[string]*robotsEntry{},
		polite:    polite(1, -1, time.Second),
		transport: roundTripper(func(r *http.Request) (*http.Response, error) { n.Add(1); return answer.RoundTrip(r) }),
	}
	ask := func(host string) {
		t.Helper()
		if r, err := c.get(t.Context(), mustParse(t, "http://"+host+"/a")); err != nil || r.Allows(mustParse(t, "http://"+host+"/x")) {
			t.Fatalf("got %+v, %v", r, err)
		}
	}
	ask("e.com")
	now = now.Add(robotsMaxAge - time.Second)
	ask("e.com")
	if n.Load() != 1 {
		t.Errorf("asked %d times within the hour", n.Load())
	}
	now = now.Add(2 * time.Second)
	ask("e.com")
	if n.Load() != 2 {
		t.Errorf("asked %d times after an hour", n.Load())
	}
	for i := range maxRobotsHosts + 50 {
		ask(fmt.Sprintf("h%d.com", i))
	}
	if len(c.hosts) > maxRobotsHosts {
		t.Errorf("%d hosts are kept", len(c.hosts))
	}
}

func TestRobotsCache_is_bounded_in_bytes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	rules := []byte("User-agent: *\n" + strings.Repeat("Disallow: /"+strings.Repeat("x", 1_000)+"\n", 400))
	answer := http.NewFileTransport(http.FS(fstest.MapFS{"robots.txt": {Data: rules}}))
	now := time.Unix(0, 0)
	c := &robotsCache{
		product: "SluiceBot", timeout: time.Minute, now: func() time.Time { return now }, hosts: map[string]*robotsEntry{},
		polite: polite(1, -1, time.Second), transport: answer,
	}
	for i := range 2 * maxRobotsCache / len(rules) {
		if _, err := c.get(t.Context(), mustParse(t, fmt.Sprintf("http://h%d.com/a", i))); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	kept := 0
	for _, e := range c.hosts {
		kept += e.robots.Size()
	}
	if kept != c.bytes || kept > maxRobotsCache+len(rules) || kept < maxRobotsCache/2 {
		t.Errorf("%d bytes are kept and %d are counted", kept, c.bytes)
	}
	now = now.Add(2 * robotsMaxAge)
	if _, err := c.get(t.Context(), mustParse(t, "http://new.com/a")); err != nil {
		t.Fatal(err)
	}
	if len(c.hosts) != 1 || c.bytes > 2*len(rules) {
		t.Errorf("%d hosts with %d bytes are kept of what is old", len(c.hosts), c.bytes)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A forbidden address must not be requested, no matter how the crawler finds it.
func TestFetch_and_discovery_never_ask_for_what_a_rule_with_escapes_forbids(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.RequestURI)
		mu.Unlock()
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /caf%c3%a9\nDisallow: /p?z=\nDisallow: /%7Ejoe\n")
		case "/start":
			http.Redirect(w, r, "/p?z=1&a=2", http.StatusFound)
		default:
			_, _ = io.WriteString(w, `<p>`+strings.Repeat("word ", 100)+`<a href="/café">a</a><a href="/~joe/">b</a>`)
		}
	}))
	c := local(t)
	for _, at := range []string{"/start", "/caf%C3%A9", "/~joe/x", "/p?z=2"} {
		_, err := c.Fetch(t.Context(), PageRequest{URL: s.URL + at})
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "robots.txt") {
			t.Errorf("%s: %v", at, err)
		}
	}
	_, err := c.Plan(t.Context(), PlanRequest{Spec: domain.CrawlSpec{URL: s.URL + "/"}}, func(PlanEntry) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, at := range asked {
		if strings.Contains(at, "caf") || strings.Contains(at, "joe") || strings.Contains(at, "z=") {
			t.Errorf("%s was asked for", at)
		}
	}
}
