// Package crawltest provides a web site for testing crawlers. It has the features and flaws of real sites: redirects
// and loops, slow and failing pages, wrong charsets, compressed bodies and bombs, endless calendars, session ids,
// duplicates, directives, documents, and sitemaps of every kind. The site is generated from a seed and served on
// loopback. It records every request and knows the expected result for each address.
//
// The package does not import the crawler, so that the crawler's own tests can use it.
package crawltest

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// MinPages is the minimum number of pages. A smaller site could not contain all the special cases.
const MinPages = 300

// Options configure a Site. The zero value is a small site.
type Options struct {
	// Seed determines the text and links. Sites with equal options are identical.
	Seed uint64
	// Pages is the number of pages that a crawl that follows links must store, including the root. A crawl that reads
	// the sitemap also finds a few pages that no page links to, and it misses a few pages that are not in the sitemap.
	// Minimum and default: MinPages.
	Pages int
	// MaxDepth is the crawl depth in links from the root. Minimum: 4. Default: 5.
	MaxDepth int
	// Announce adds the sitemap to robots.txt. Otherwise a crawler that starts at the root cannot find the sitemap and
	// must follow links.
	Announce bool
	// CrawlDelay is the Crawl-delay in robots.txt. Default: none.
	CrawlDelay time.Duration
	// Slow is the response time of slow pages. Default: 100 ms.
	Slow time.Duration
	// BombBytes is a gzip bomb's uncompressed size, which must exceed the crawler's page limit. Default: 256 MiB.
	BombBytes int64
	// Scripts says whether the crawler has a browser. If so, it must store pages built by scripts; otherwise each of
	// them is an error.
	Scripts bool
}

func (o Options) withDefaults() Options {
	o.Pages = cmp.Or(o.Pages, MinPages)
	o.MaxDepth = cmp.Or(o.MaxDepth, 5)
	o.Slow = cmp.Or(o.Slow, 100*time.Millisecond)
	o.BombBytes = cmp.Or(o.BombBytes, 256<<20)
	return o
}

// Site is the generated site: an http.Handler that records its requests. It is safe for concurrent use.
type Site struct {
	opts    Options
	bomb    []byte
	modBase time.Time // Last-Modified of pages that never changed

	mu        sync.Mutex
	base      string // scheme and host, set by Start
	foreign   string // the same server under another name
	pages     map[string]*page
	order     []*page // in order of creation
	left      []leftOut
	news      *page // page that links to the pages made by Add
	added     int
	nextPlain int     // counter from which Change, Remove and Unlist compute the next index into `plain`
	plain     []*page // pages for Change, Remove and Unlist
	down      bool
	tries     map[string]int // answered requests by address
	log       []Request
	now       int // requests in progress
	peak      int
	server    *http.Server
	done      chan struct{}
}

// New creates a site. Call Start to serve it.
func New(o Options) (*Site, error) {
	o = o.withDefaults()
	switch {
	case o.Pages < MinPages:
		return nil, fmt.Errorf("a site of %d pages: it needs at least %d", o.Pages, MinPages)
	case o.MaxDepth < 4:
		return nil, fmt.Errorf("a link depth of %d is too small: the test site needs at least 4", o.MaxDepth)
	}
	s := &Site{
		opts: o, modBase: time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC), pages: make(map[string]*page),
		tries: make(map[string]int),
	}
	if err := s.build(); err != nil {
		return nil, err
	}
	return s, nil
}

// Serve creates a site and serves it on loopback until the test ends.
func Serve(t testing.TB, o Options) *Site {
	t.Helper()
	s, err := New(o)
	if err == nil {
		err = s.Start("127.0.0.1:0")
	}
	if err != nil {
		t.Fatalf("serving a site: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("ending the site: %v", err)
		}
	})
	return s
}

// Start serves the site at a loopback address such as "127.0.0.1:0" until Close is called.
func (s *Site) Start(addr string) error {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return fmt.Errorf("serving the site: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return fmt.Errorf("reading the site's own address: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base, s.foreign = "http://"+l.Addr().String(), "http://localhost:"+port
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	s.done = make(chan struct{})
	server, done := s.server, s.done
	go func() {
		defer close(done)
		_ = server.Serve(l) // returns after Close
	}()
	return nil
}

// Close stops the server and closes all connections. The recorded requests can still be read.
func (s *Site) Close() error {
	s.mu.Lock()
	server, done := s.server, s.done
	s.server = nil
	s.mu.Unlock()
	if server == nil {
		return nil
	}
	err := server.Close()
	<-done
	return err
}

// URL returns the address of the site's root, with a trailing "/".
func (s *Site) URL() string { return s.At("/") }

// At returns the address of a path on the site.
func (s *Site) At(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base + path
}

// MaxDepth returns the crawl depth that Expected assumes.
func (s *Site) MaxDepth() int { return s.opts.MaxDepth }

// Exclude returns the path patterns that a crawl must exclude for Expected to hold.
func (s *Site) Exclude() []string { return []string{"/excluded/", "*.draft.html"} }

// Down starts or ends an outage, during which the site responds to every request with 503.
func (s *Site) Down(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}
