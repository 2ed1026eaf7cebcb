// Package crawltest is a web site made for crawlers to be tested against. It has what real sites have and what they do
// wrong: redirects and loops, slow and failing pages, wrong charsets, packed bodies and bombs, calendars without end,
// session ids, duplicates, directives, documents, and sitemaps of every kind. It is served on this machine, follows from
// a seed, notes every request, and knows what must become of each address.
//
// The package knows nothing of the crawler, so that the crawler's own tests may use it.
package crawltest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// MinPages is the least number of pages: below it not every ingredient has its place.
const MinPages = 300

// Options shape a Site. The zero value is a small site.
type Options struct {
	// Seed decides texts and links. Sites of the same options are the same.
	Seed uint64
	// Pages is how many pages must end in the datastore when the site is crawled by its links, the root included. By its
	// sitemap there are a few more, which nothing links to, and a few less. At least, and by default, MinPages.
	Pages int
	// MaxDepth is how many links away from the root the crawler is to go; at least 4. Default: 5.
	MaxDepth int
	// Announce names the sitemap in robots.txt. Otherwise there is none in the usual places, and whoever is given only
	// the root has to follow links.
	Announce bool
	// CrawlDelay is what robots.txt asks for. Default: nothing.
	CrawlDelay time.Duration
	// Slow is how long slow pages take to answer. Default: 100 ms.
	Slow time.Duration
	// BombBytes is the size of a gzip bomb, unpacked: more than the crawler takes of a page. Default: 256 MiB.
	BombBytes int64
	// Scripts says that the crawler has a browser: pages that scripts build are pages then, and errors else.
	Scripts bool
}

func (o Options) withDefaults() Options {
	if o.Pages == 0 {
		o.Pages = MinPages
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = 5
	}
	if o.Slow == 0 {
		o.Slow = 100 * time.Millisecond
	}
	if o.BombBytes == 0 {
		o.BombBytes = 256 << 20
	}
	return o
}

// Site is the generated site: an http.Handler with a memory. Its methods may be called from any goroutine.
type Site struct {
	opts    Options
	bomb    []byte
	modBase time.Time // Last-Modified of what has never changed

	mu      sync.Mutex
	base    string // scheme and host, once served
	foreign string // the same server by another name
	pages   map[string]*page
	order   []*page // as they were made
	left    []leftOut
	news    *page // links to what Add adds
	added   int
	turn    int     // of Change, Remove and Unlist
	plain   []*page // that these take turns at
	down    bool
	tries   map[string]int // requests answered so far by failing pages, by address
	log     []Request
	now     int // requests being answered
	peak    int
	server  *http.Server
	done    chan struct{}
}

// New makes a site. It is not served yet: see Start.
func New(o Options) (*Site, error) {
	o = o.withDefaults()
	switch {
	case o.Pages < MinPages:
		return nil, fmt.Errorf("a site of %d pages: it needs at least %d", o.Pages, MinPages)
	case o.MaxDepth < 4:
		return nil, fmt.Errorf("a depth of %d links: it needs at least 4", o.MaxDepth)
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

// Serve makes a site and serves it on this machine until the test ends.
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

// Start serves the site at an address of the loopback interface, as "127.0.0.1:0", in a goroutine that Close ends.
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
		_ = server.Serve(l) // it ends with Close
	}()
	return nil
}

// Close stops serving and drops all connections. The record stays readable.
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

// URL is the address of the site's root, which ends in "/".
func (s *Site) URL() string { return s.At("/") }

// At is the address of a path on the site.
func (s *Site) At(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.base + path
}

// MaxDepth is how many links away from the root a crawl has to go for Expected to hold.
func (s *Site) MaxDepth() int { return s.opts.MaxDepth }

// Exclude are the patterns of paths that a crawl has to leave out for Expected to hold.
func (s *Site) Exclude() []string { return []string{"/excluded/", "*.draft.html"} }

// Down makes the site answer everything with 503, or lets it go on.
func (s *Site) Down(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}
