package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseRobots_finds_the_rules_that_bind_us(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text     string
		allow    []string
		disallow []string
		delay    time.Duration
		sitemaps []string
	}{
		"nothing":                        {text: "", allow: []string{"/", "/a"}},
		"all for everyone":               {text: "User-agent: *\nDisallow: /", disallow: []string{"/", "/a"}},
		"another crawler":                {text: "User-agent: otherbot\nDisallow: /", allow: []string{"/a"}},
		"ours before everyone's":         {text: "User-agent: *\nDisallow: /\n\nUser-agent: SluiceBot\nDisallow: /x", allow: []string{"/a"}, disallow: []string{"/x/y"}},
		"ours by any case and version":   {text: "user-AGENT : sluicebot/2.0\nDISALLOW:/x", allow: []string{"/a"}, disallow: []string{"/x"}},
		"a name that begins like ours":   {text: "User-agent: Sluice\nDisallow: /", allow: []string{"/a"}},
		"two groups of ours are one":     {text: "User-agent: sluicebot\nDisallow: /x\nUser-agent: other\nDisallow: /z\nUser-agent: sluicebot\nDisallow: /y", disallow: []string{"/x", "/y"}, allow: []string{"/z"}},
		"several names in a group":       {text: "User-agent: other\nUser-agent: sluicebot\nDisallow: /x", disallow: []string{"/x"}},
		"an empty Disallow ends a group": {text: "User-agent: SluiceBot\nDisallow:\n\nUser-agent: *\nDisallow: /", allow: []string{"/", "/a"}},
		"Allow within Disallow":          {text: "User-agent: *\nDisallow: /x\nAllow: /x/open", disallow: []string{"/x/y"}, allow: []string{"/x/open/1"}},
		"wildcards":                      {text: "User-agent: *\nDisallow: /*.pdf$\nDisallow: /*?print=", disallow: []string{"/a/b.pdf", "/a?print=1"}, allow: []string{"/a/b.pdfx", "/a"}},
		"comments and Windows line ends": {text: "\ufeff# hello\r\nUser-agent: * # all\r\nDisallow: /x # secret\r\n", disallow: []string{"/x"}, allow: []string{"/a"}},
		"rules before any group":         {text: "Disallow: /\nUser-agent: *\nDisallow: /x", disallow: []string{"/x"}, allow: []string{"/a"}},
		"a delay":                        {text: "User-agent: *\nCrawl-delay: 2.5", allow: []string{"/"}, delay: 2500 * time.Millisecond},
		"a delay for ever":               {text: "User-agent: *\nCrawl-delay: 1e300", delay: maxRetryAfter},
		"a delay of nonsense":            {text: "User-agent: *\nCrawl-delay: soon\nCrawl-delay: -3\nCrawl-delay: NaN\nDisallow: /x", disallow: []string{"/x"}},
		"keys written otherwise":         {text: "user agent: *\nDissallow: /x\ncrawl_delay: 2", disallow: []string{"/x"}, delay: 2 * time.Second},
		"a delay with its unit":          {text: "User-agent: *\nCrawl-delay: 0.5s", delay: 500 * time.Millisecond},
		"a delay in milliseconds":        {text: "User-agent: *\nCrawl-delay: 1500 ms", delay: 1500 * time.Millisecond},
		"a delay in words":               {text: "User-agent: *\nCrawl-delay: 10 seconds.", delay: 10 * time.Second},
		"a delay in minutes":             {text: "User-agent: *\nCrawl-delay: 2m", delay: 2 * time.Minute},
		"a delay with a decimal comma":   {text: "User-agent: *\nCrawl-delay: 0,5", delay: 500 * time.Millisecond},
		"a delay without a zero":         {text: "User-agent: *\nCrawl-delay: .5", delay: 500 * time.Millisecond},
		"line ends of old computers":     {text: "User-agent: *\rDisallow: /x\rDisallow: /y", disallow: []string{"/x", "/y"}, allow: []string{"/a"}},
		"a colon that was forgotten":     {text: "User-agent *\nDisallow /x\nthis is text", disallow: []string{"/x"}, allow: []string{"/a"}},
		"its own file":                   {text: "User-agent: *\nDisallow: /", allow: []string{"/robots.txt"}, disallow: []string{"/robots.txt.old"}},
		"sitemaps anywhere":              {text: "Sitemap: https://e.com/a.xml\nUser-agent: x\nSitemap: /b.xml\nDisallow: /", allow: []string{"/"}, sitemaps: []string{"https://e.com/a.xml", "/b.xml"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := parseRobots([]byte(tc.text), "SluiceBot")
			for _, p := range tc.allow {
				if !r.allows(mustParse(t, p)) {
					t.Errorf("%s is not allowed by %q", p, tc.text)
				}
			}
			for _, p := range tc.disallow {
				if r.allows(mustParse(t, p)) {
					t.Errorf("%s is allowed by %q", p, tc.text)
				}
			}
			if r.crawlDelay != tc.delay {
				t.Errorf("delay is %s, want %s", r.crawlDelay, tc.delay)
			}
			if diff := cmp.Diff(tc.sitemaps, r.sitemaps); diff != "" {
				t.Error(diff)
			}
		})
	}
}

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
		if r, err := c.get(t.Context(), mustParse(t, "http://"+host+"/a")); err != nil || len(r.rules) == 0 {
			t.Fatalf("got %+v, %v", r, err)
		}
	}
	ask("e.com")
	now = now.Add(robotsFresh - time.Second)
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

func TestRobotsCache_keeps_so_many_bytes_and_no_more(t *testing.T) {
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
	for i := range 2 * maxRobotsKept / len(rules) {
		if _, err := c.get(t.Context(), mustParse(t, fmt.Sprintf("http://h%d.com/a", i))); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	kept := 0
	for _, e := range c.hosts {
		kept += e.robots.size()
	}
	if kept != c.kept || kept > maxRobotsKept+len(rules) || kept < maxRobotsKept/2 {
		t.Errorf("%d bytes are kept and %d are counted", kept, c.kept)
	}
	now = now.Add(2 * robotsFresh)
	if _, err := c.get(t.Context(), mustParse(t, "http://new.com/a")); err != nil {
		t.Fatal(err)
	}
	if len(c.hosts) != 1 || c.kept > 2*len(rules) {
		t.Errorf("%d hosts with %d bytes are kept of what is old", len(c.hosts), c.kept)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func FuzzRobots(f *testing.F) {
	for _, s := range []string{
		"User-agent: *\nDisallow: /a*b$\nCrawl-delay: 1", "Disallow: /", "User-agent:\nDisallow:\x00/\r", "user-agent: * #\nallow: **$$\n",
		"User-agent: *\nDisallow: a\u00a0b\u2028c\nSitemap:", strings.Repeat("User-agent: *\n", 50),
	} {
		f.Add([]byte(s), "noindex, none", "SluiceBot: noindex")
	}
	f.Fuzz(func(t *testing.T, text []byte, meta, header string) {
		r := parseRobots(text, "SluiceBot")
		for _, rule := range r.rules {
			if again := normaliseForRobots(rule.pattern, true); again != rule.pattern {
				t.Errorf("%q becomes %q when it is normalised again", rule.pattern, again)
			}
		}
		r.allows(&url.URL{Path: "/a", RawQuery: meta})
		if r.crawlDelay < 0 || r.crawlDelay > maxRetryAfter || len(r.sitemaps) > maxRobotsSitemaps {
			t.Errorf("got %+v", r)
		}
		var d robotsDirectives
		d.add(meta)
		d.addHeader(header, "SluiceBot")
		parseRefresh(meta)
	})
}
