package crawl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/bounded"
	"github.com/sluice/sluice/pkg/crawl/guard"
	"github.com/sluice/sluice/pkg/domain"
)

type browserOf func(ctx context.Context, url string, get func(string) (int, string, error)) (Rendered, error)

func (f browserOf) Render(ctx context.Context, url string, via http.RoundTripper) (Rendered, error) {
	origin, err := Origin(url)
	if err != nil {
		return Rendered{}, err
	}
	ctx = WithAsker(ctx, origin)
	return f(ctx, url, func(u string) (int, string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
		if err != nil {
			return 0, "", err
		}
		res, err := via.RoundTrip(req)
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return res.StatusCode, string(b), err
	})
}

const shellPage = `<!doctype html><html><head><title>Shop</title></head><body><div id="root"></div><script src="/app.js"></script></body></html>`

// shop starts a server with an application's shell and the resources its scripts need.
func shop(t *testing.T) string {
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\nDisallow: /*?secret")
		case "/noindex":
			w.Header().Set("X-Robots-Tag", "noindex")
			_, _ = io.WriteString(w, shellPage)
		case "/api":
			_, _ = io.WriteString(w, "Pumps of every size")
		case "/limited":
			w.Header().Set("Retry-After", "600")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		default:
			w.Header().Set("ETag", `"shell"`)
			_, _ = io.WriteString(w, shellPage)
		}
	})).URL
}

func TestFetch_reports_pages_that_need_scripts_without_a_browser(t *testing.T) {
	t.Parallel()
	root := shop(t)
	_, _, err := fetch(t, local(t), PageRequest{URL: root + "/a"})
	if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, root+"/a shows its text only with JavaScript") ||
		!strings.Contains(e.Message, "CHROME_URL") {
		t.Errorf("got %+v", e)
	}
	p, _, err := fetch(t, local(t), PageRequest{URL: root + "/noindex"})
	if err != nil || !p.NoIndex {
		t.Errorf("a shell that is not to be indexed: %+v, %v", p, err)
	}
}

func TestFetch_returns_the_rendered_page(t *testing.T) {
	t.Parallel()
	root := shop(t)
	c := local(t, func(o *Options) {
		o.Renderer = browserOf(func(_ context.Context, u string, get func(string) (int, string, error)) (Rendered, error) {
			if status, body, err := get(u); err != nil || status != 200 || body != shellPage {
				t.Errorf("the page itself: %d, %q, %v", status, body, err)
			}
			_, text, err := get(root + "/api")
			if err != nil {
				t.Errorf("requests of a script: %v", err)
			}
			return Rendered{Status: 200, URL: u + "#top", HTML: fmt.Appendf(nil,
				`<title>Pümps</title><link rel=canonical href="/pumps"><base href="/shop/"><p>%s</p><a href="p1">1</a>`, text)}, nil
		})
	})
	p, body, err := fetch(t, c, PageRequest{
		URL: root + "/a", ETag: `"old"`, WantLinks: true, Scope: &domain.SiteScope{Root: root, MaxDepth: 3, Follow: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(body, "Pumps of every size") || p.Title != "Pümps" || p.MIMEType != "text/html; charset=utf-8" || !p.Rendered ||
		p.ETag != "" || p.LastModified != "" || p.URL != root+"/a" || p.Canonical != root+"/pumps" {
		t.Errorf("got %+v", p)
	}
	if diff := cmp.Diff([]string{root + "/pumps", root + "/shop/p1"}, urls(p.Links)); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
}

func TestFetch_bounds_what_a_browser_asks_for(t *testing.T) {
	t.Parallel()
	root := shop(t)
	other := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /")
			return
		}
		_, _ = io.WriteString(w, "library")
	})).URL
	for name, test := range map[string]func(t *testing.T, get func(string) (int, string, error)){
		"what robots.txt of its host disallows is not fetched": func(t *testing.T, get func(string) (int, string, error)) {
			for _, path := range []string{"/private/x", "/x?secret=1"} {
				if _, _, err := get(root + path); !wantError(t, err).Permanent || !strings.Contains(err.Error(), "robots.txt") {
					t.Errorf("%s: %v", path, err)
				}
			}
		},
		"robots.txt of other hosts is for their crawlers": func(t *testing.T, get func(string) (int, string, error)) {
			if _, body, err := get(other + "/lib.js"); err != nil || body != "library" {
				t.Errorf("%q, %v", body, err)
			}
		},
		"inner addresses are refused": func(t *testing.T, get func(string) (int, string, error)) {
			for _, u := range []string{"http://169.254.169.254/", "http://[fe80::1]/", "file:///etc/passwd", "http://127.0.0.1:6379/"} {
				if _, _, err := get(u); !wantError(t, err).Permanent {
					t.Errorf("%s: %v", u, err)
				}
			}
		},
		"requests are counted": func(t *testing.T, get func(string) (int, string, error)) {
			for i := range maxRenderRequests {
				if _, _, err := get(root + "/api"); err != nil {
					t.Fatalf("request %d: %v", i, err)
				}
			}
			if _, _, err := get(root + "/api"); !wantError(t, err).Permanent {
				t.Error(err)
			}
		},
		"bytes are counted": func(t *testing.T, get func(string) (int, string, error)) {
			if _, _, err := get(root + "/endless"); !errors.Is(err, bounded.ErrTooLarge) {
				t.Error(err)
			}
			if _, _, err := get(root + "/api"); !errors.Is(err, bounded.ErrTooLarge) {
				t.Error(err)
			}
		},
		"faults of its parts are not those of the host": func(t *testing.T, get func(string) (int, string, error)) {
			for range 2 * breakerFailures {
				if status, _, err := get(root + "/broken"); err != nil || status != 500 {
					t.Errorf("%d, %v", status, err)
				}
			}
			if _, _, err := get(root + "/api"); err != nil {
				t.Error(err)
			}
		},
		"a host that wants to be left alone is": func(t *testing.T, get func(string) (int, string, error)) {
			if status, _, err := get(root + "/limited"); err != nil || status != 429 {
				t.Errorf("%d, %v", status, err)
			}
			if _, _, err := get(root + "/api"); !wantError(t, err).Deferred {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := false
			c := local(t, func(o *Options) {
				o.Renderer = browserOf(func(_ context.Context, u string, get func(string) (int, string, error)) (Rendered, error) {
					test(t, get)
					done = true
					return Rendered{Status: 200, URL: u, HTML: []byte("<p>text")}, nil
				})
			})
			if _, _, err := fetch(t, c, PageRequest{URL: root + "/a"}); err != nil || !done {
				t.Errorf("the page was not rendered: %v", err)
			}
		})
	}
}

func TestFetch_reports_failed_rendering(t *testing.T) {
	t.Parallel()
	root := shop(t)
	crash := errors.New("the browser has ended")
	for name, tc := range map[string]struct {
		out       Rendered
		err       error
		permanent bool
		says      string
	}{
		"the browser fails":            {err: crash, says: "the browser has ended"},
		"the browser knows why":        {err: fmt.Errorf("rendering: %w", permanent("", "a player")), permanent: true, says: "a player"},
		"the page has gone meanwhile":  {out: Rendered{Status: 404, URL: root + "/a"}, permanent: true, says: "404"},
		"the server fails meanwhile":   {out: Rendered{Status: 502, URL: root + "/a"}, says: "502"},
		"scripts lead to no address":   {out: Rendered{Status: 200, URL: "about:blank"}, permanent: true, says: "about:blank"},
		"scripts lead out of the site": {out: Rendered{Status: 200, URL: "http://other.example/"}, permanent: true, says: "no longer belongs to the site"},
		"it is too large":              {out: Rendered{Status: 200, URL: root + "/a", HTML: make([]byte, 1<<10)}, permanent: true, says: "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := local(t, func(o *Options) {
				o.MaxBody = 1_000
				o.Renderer = browserOf(func(context.Context, string, func(string) (int, string, error)) (Rendered, error) {
					return tc.out, tc.err
				})
			})
			_, _, err := fetch(t, c, PageRequest{URL: root + "/a", Depth: 1, Scope: &domain.SiteScope{Root: root}})
			if e := wantError(t, err); e.Permanent != tc.permanent || !strings.Contains(e.Message, tc.says) {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestFetch_that_is_cancelled_ends_the_rendering(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	c := local(t, func(o *Options) {
		o.Renderer = browserOf(func(ctx context.Context, _ string, _ func(string) (int, string, error)) (Rendered, error) {
			cancel()
			<-ctx.Done()
			return Rendered{}, ctx.Err()
		})
	})
	_, err := c.Fetch(ctx, PageRequest{URL: shop(t) + "/a"})
	if e := new(Error); !errors.Is(err, context.Canceled) || errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
}

func TestFetch_reserves_a_slot_for_rendering(t *testing.T) {
	t.Parallel()
	root := shop(t)
	var slots atomic.Int32
	c := local(t, func(o *Options) {
		o.Slots = countingSlots{NewLocalSlots(time.Now), &slots}
		o.Renderer = browserOf(func(_ context.Context, u string, get func(string) (int, string, error)) (Rendered, error) {
			for _, at := range []string{u, root + "/api", root + "/app.js"} {
				if _, _, err := get(at); err != nil {
					t.Error(err)
				}
			}
			return Rendered{Status: 200, URL: u, HTML: []byte("<p>text")}, nil
		})
	})
	if _, _, err := fetch(t, c, PageRequest{URL: root + "/a"}); err != nil {
		t.Fatal(err)
	}
	if n := slots.Load(); n != 3 { // robots.txt, the shell and the page requested by the browser
		t.Errorf("%d slots were taken", n)
	}
}

type countingSlots struct {
	HostSlots
	n *atomic.Int32
}

func (c countingSlots) Reserve(ctx context.Context, host string, pace domain.Pace, maxWait time.Duration) (domain.HostSlot, error) {
	c.n.Add(1)
	return c.HostSlots.Reserve(ctx, host, pace, maxWait)
}

// publicConn is a connection to a server that appears to be on the public internet.
type publicConn struct{ net.Conn }

func (publicConn) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(93, 184, 216, 34), Port: 80}
}

func TestScripts_of_public_pages_reach_no_private_address(t *testing.T) {
	t.Parallel()
	inner := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s has come through", r.Method, r.URL)
	}))
	shell := shop(t)
	asked := 0
	allow, err := guard.ParseAllow([]string{"127.0.0.0/8", "localhost"})
	if err != nil {
		t.Fatal(err)
	}
	c := local(t, func(o *Options) {
		o.Allow = allow
		o.Renderer = browserOf(func(_ context.Context, _ string, get func(string) (int, string, error)) (Rendered, error) {
			for _, u := range []string{inner.URL + "/delete", strings.Replace(inner.URL, "127.0.0.1", "localhost", 1) + "/delete"} {
				asked++
				if _, _, err := get(u); !wantError(t, err).Permanent {
					t.Errorf("%s: %v", u, err)
				}
			}
			return Rendered{HTML: []byte("<p>shown"), URL: "http://public.example/", Status: http.StatusOK}, nil
		})
	})
	c.transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(shell, "http://"))
		return publicConn{conn}, err
	}
	if _, _, err := fetch(t, c, PageRequest{URL: "http://public.example/"}); err != nil || asked != 2 {
		t.Errorf("asked %d times, %v", asked, err)
	}
}
