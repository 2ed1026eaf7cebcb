package crawl

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/testdata/site"
)

func TestFetch_returns_body_type_title_validators_and_links(t *testing.T) {
	t.Parallel()
	s := serve(t, site.Handler())
	c := local(t)
	p, body, err := fetch(t, c, PageRequest{
		URL: s.URL, WantLinks: true, Scope: &domain.SiteScope{Root: s.URL, MaxDepth: 3, Follow: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(body, "400 hours in our salt-fog chamber") {
		t.Errorf("the body is not the home page: %.200s", body)
	}
	if p.URL != s.URL+"/" || p.StatusCode != http.StatusOK || p.MIMEType != "text/html; charset=utf-8" || p.ETag == "" {
		t.Errorf("got %+v", p)
	}
	if p.Title != "Weather instruments for harsh coasts | Tarnholm Instruments" {
		t.Errorf("title is %q", p.Title)
	}
	want := []string{
		"/products/", "/support/", "/about.html", "/contact.html", "/products/fjordmast-3.html",
		"/products/nimbus-logger.html", "/products/kelp-sensor.html", "/news/skarv-lighthouse.html",
		"/internal/price-list.html", "/drafts/next-year.html",
	}
	for i := range want {
		want[i] = s.URL + want[i]
	}
	if diff := cmp.Diff(want, urls(p.Links)); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	if p.Links[0].Depth != 1 {
		t.Errorf("depth of a link from the root is %d", p.Links[0].Depth)
	}
	if diff := cmp.Diff(map[scope.Refusal]int{scope.RefusedHost: 1, scope.RefusedNoURL: 1}, p.Refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

func TestFetch_of_an_unchanged_page_returns_NotModified_without_a_body(t *testing.T) {
	t.Parallel()
	s := serve(t, site.Handler())
	c := local(t)
	first, _, err := fetch(t, c, PageRequest{URL: s.URL + "/about.html"})
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := fetch(t, c, PageRequest{URL: s.URL + "/about.html", ETag: first.ETag})
	if err != nil {
		t.Fatal(err)
	}
	if !p.NotModified || p.Body != nil || p.ETag != first.ETag {
		t.Errorf("got %+v", p)
	}
}

func TestFetch_sends_Last_Modified_back(t *testing.T) {
	t.Parallel()
	at := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "a.html", at, strings.NewReader("<p>hello"))
	}))
	c := local(t)
	first, _, err := fetch(t, c, PageRequest{URL: s.URL + "/a.html"})
	if err != nil {
		t.Fatal(err)
	}
	if first.LastModified != at.Format(http.TimeFormat) {
		t.Fatalf("LastModified is %q", first.LastModified)
	}
	p, _, err := fetch(t, c, PageRequest{URL: s.URL + "/a.html", LastModified: first.LastModified})
	if err != nil || !p.NotModified || p.LastModified != first.LastModified {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestFetch_takes_304_without_validators_for_a_fault(t *testing.T) {
	t.Parallel()
	s := serve(t, status(http.StatusNotModified, nil))
	_, _, err := fetch(t, local(t), PageRequest{URL: s.URL})
	if e := wantError(t, err); e.StatusCode != http.StatusNotModified {
		t.Errorf("got %+v", e)
	}
}

func TestFetch_respects_robots(t *testing.T) {
	t.Parallel()
	s := serve(t, site.Handler())
	t.Run("a page that robots.txt disallows is refused for good", func(t *testing.T) {
		t.Parallel()
		_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/internal/price-list.html"})
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "robots.txt") || !strings.Contains(e.Message, e.URL) {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("a redirect to a disallowed page is refused too", func(t *testing.T) {
		t.Parallel()
		hits := make(chan string, 10)
		r := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hits <- r.URL.Path
			switch r.URL.Path {
			case "/robots.txt":
				_, _ = io.WriteString(w, "User-agent: SluiceBot\nDisallow: /private\n")
			default:
				http.Redirect(w, r, "/private", http.StatusFound)
			}
		}))
		_, _, err := fetch(t, local(t), PageRequest{URL: r.URL + "/open"})
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "robots.txt") {
			t.Errorf("got %+v", e)
		}
		close(hits)
		for h := range hits {
			if h == "/private" {
				t.Error("the disallowed page was fetched")
			}
		}
	})
	t.Run("a page that asks not to be indexed says so", func(t *testing.T) {
		t.Parallel()
		p, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/drafts/next-year.html"})
		if err != nil || !p.NoIndex || p.NoFollow {
			t.Errorf("got %+v, %v", p, err)
		}
	})
}

func TestFetch_asks_for_robots_once_per_host(t *testing.T) {
	t.Parallel()
	asked := 0
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			asked++
		}
		_, _ = io.WriteString(w, "<p>page")
	}))
	c := local(t)
	for i := range 5 {
		if _, _, err := fetch(t, c, PageRequest{URL: fmt.Sprintf("%s/%d", s.URL, i)}); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 {
		t.Errorf("robots.txt was fetched %d times", asked)
	}
}

func TestFetch_with_robots_answering(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status    int
		body      string
		wantErr   bool
		wantAfter time.Duration
	}{
		"200 with nonsense allows":             {status: 200, body: "<html>\x00 disallow everything: yes"},
		"200 with rules before a group allows": {status: 200, body: "Disallow: /\nCrawl-delay: soon\n"},
		"403 allows":                           {status: 403},
		"404 allows":                           {status: 404},
		"500 allows nothing for now":           {status: 500, wantErr: true, wantAfter: time.Minute},
		"503 allows nothing for now":           {status: 503, wantErr: true, wantAfter: time.Minute},
		"429 allows nothing for now":           {status: 429, wantErr: true, wantAfter: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					w.WriteHeader(tc.status)
					_, _ = io.WriteString(w, tc.body)
				}
			}))
			_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
			if !tc.wantErr {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e := wantError(t, err); e.Permanent || e.RetryAfter < tc.wantAfter || !strings.Contains(e.Message, "robots.txt") {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func status(code int, header map[string]string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(code)
	})
}

func TestFetch_errors_say_whether_to_try_again(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		code      int
		header    map[string]string
		permanent bool
		gone      bool
		after     time.Duration
	}{
		"404 is for good":                     {code: 404, permanent: true, gone: true},
		"410 is for good":                     {code: 410, permanent: true, gone: true},
		"401 is for good":                     {code: 401, permanent: true},
		"403 is for good":                     {code: 403, permanent: true},
		"400 is for good":                     {code: 400, permanent: true},
		"451 is for good":                     {code: 451, permanent: true},
		"501 is for good":                     {code: 501, permanent: true},
		"408 may be tried again":              {code: 408},
		"500 may be tried again":              {code: 500},
		"502 may be tried again":              {code: 502},
		"429 may be tried again when it says": {code: 429, header: map[string]string{"Retry-After": "90"}, after: 90 * time.Second},
		"503 may be tried again when it says": {code: 503, header: map[string]string{"Retry-After": "7"}, after: 7 * time.Second},
		"a redirect without address is wrong": {code: 302, permanent: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, status(tc.code, tc.header))
			_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/page"})
			e := wantError(t, err)
			if e.Permanent != tc.permanent || e.Gone() != tc.gone || e.RetryAfter != tc.after || e.StatusCode != tc.code {
				t.Errorf("got %+v", e)
			}
			if !strings.Contains(e.Message, s.URL+"/page") || !strings.Contains(e.Message, fmt.Sprint(tc.code)) {
				t.Errorf("the message names neither address nor status: %q", e.Message)
			}
		})
	}
}

func TestFetch_honours_Retry_After(t *testing.T) {
	t.Parallel()
	s := serve(t, status(http.StatusTooManyRequests, map[string]string{"Retry-After": "600"}))
	c := local(t)
	_, _, err := fetch(t, c, PageRequest{URL: s.URL + "/a"})
	wantError(t, err)
	_, _, err = fetch(t, c, PageRequest{URL: s.URL + "/b"})
	if e := wantError(t, err); !e.Deferred || e.Permanent || e.RetryAfter < 9*time.Minute {
		t.Errorf("got %+v", e)
	}
}

func TestFetch_from_a_dead_server_can_be_retried(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
	if e := wantError(t, err); e.Permanent || !strings.Contains(e.Message, "connection refused") {
		t.Errorf("got %+v", e)
	}
}

func TestFetch_refuses_an_untrusted_certificate_permanently(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = discardLog()
	s.StartTLS()
	t.Cleanup(s.Close)
	_, _, err := fetch(t, local(t), PageRequest{URL: s.URL})
	if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "certificate") {
		t.Errorf("got %+v", e)
	}
}

func TestFetch_follows_redirects(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		switch _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); {
		case err != nil:
			http.NotFound(w, r)
		case n > 0:
			status := []int{301, 302, 303, 307, 308}[n%5]
			http.Redirect(w, r, fmt.Sprintf("/%d#part", n-1), status)
		default:
			_, _ = io.WriteString(w, "<title>here</title>")
		}
	}))
	c := local(t)
	t.Run("ten of them, to the final address, and writes them down", func(t *testing.T) {
		p, _, err := fetch(t, c, PageRequest{URL: s.URL + "/10"})
		if err != nil || p.URL != s.URL+"/0" || p.Title != "here" {
			t.Errorf("got %+v, %v", p, err)
		}
		var want []domain.Redirect
		for n := 10; n > 0; n-- {
			at := fmt.Sprintf("%s/%d", s.URL, n)
			want = append(want, domain.Redirect{URL: at, Status: []int{301, 302, 303, 307, 308}[n%5]})
		}
		if diff := cmp.Diff(want, p.Redirects); diff != "" {
			t.Errorf("redirects (-want +got):\n%s", diff)
		}
	})
	t.Run("and no more", func(t *testing.T) {
		_, _, err := fetch(t, c, PageRequest{URL: s.URL + "/11"})
		if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "more than 10 times") {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("of a page that has none, there are none", func(t *testing.T) {
		p, _, err := fetch(t, c, PageRequest{URL: s.URL + "/0"})
		if err != nil || p.Redirects != nil {
			t.Errorf("got %+v, %v", p, err)
		}
	})
}

func TestFetch_names_redirects_that_go_in_a_circle(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		next   map[string]string
		cookie bool
		says   string
	}{
		"to itself":                          {next: map[string]string{"/a": "/a"}, says: "in a loop: S/a → S/a"},
		"to itself, by a fragment":           {next: map[string]string{"/a": "/a#x"}, says: "in a loop: S/a → S/a"},
		"of two":                             {next: map[string]string{"/a": "/b", "/b": "/a"}, says: "in a loop: S/a → S/b → S/a"},
		"after a way into it":                {next: map[string]string{"/a": "/b", "/b": "/c", "/c": "/b"}, says: "in a loop: S/b → S/c → S/b"},
		"though it sets a cookie every time": {next: map[string]string{"/a": "/b", "/b": "/a"}, cookie: true, says: "in a loop: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tc.cookie {
					http.SetCookie(w, &http.Cookie{Name: "n", Value: r.URL.Path})
				}
				http.Redirect(w, r, tc.next[r.URL.Path], http.StatusFound)
			}))
			_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
			if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, strings.ReplaceAll(tc.says, "S", s.URL)) {
				t.Errorf("got %+v", e)
			}
		})
	}
}

func TestFetch_of_answers_without_a_page(t *testing.T) {
	t.Parallel()
	for code, permanent := range map[int]bool{204: true, 205: true, 206: false, 304: false, 300: true, 305: true} {
		s := serve(t, status(code, map[string]string{"Content-Range": "bytes 0-0/9"}))
		_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
		if e := wantError(t, err); e.Permanent != permanent || e.StatusCode != code || !strings.Contains(e.Message, fmt.Sprint(code)) {
			t.Errorf("%d: got %+v", code, e)
		}
	}
}

func TestFetch_keeps_a_cookie_that_a_redirect_sets(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("seen"); err != nil {
			http.SetCookie(w, &http.Cookie{Name: "seen", Value: "1"})
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
			return
		}
		_, _ = io.WriteString(w, "<title>in</title>")
	}))
	p, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a"})
	if err != nil || p.Title != "in" {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestFetch_refuses_a_page_that_left_its_site_permanently(t *testing.T) {
	t.Parallel()
	other := routes(t, map[string]string{"/": "<p>other"})
	s := serve(t, http.RedirectHandler(strings.Replace(other.URL, "127.0.0.1", "localhost", 1)+"/", http.StatusFound))
	scope := &domain.SiteScope{Root: s.URL, MaxDepth: 3, Follow: true}
	_, _, err := fetch(t, local(t), PageRequest{URL: s.URL + "/a", Scope: scope, Depth: 1})
	if e := wantError(t, err); !e.Permanent || !strings.Contains(e.Message, "no longer belongs to the site") {
		t.Errorf("got %+v", e)
	}
}

func TestFetch_follows_a_moved_root(t *testing.T) {
	t.Parallel()
	other := routes(t, map[string]string{"/": `<a href="/next">next</a>`})
	s := serve(t, http.RedirectHandler(other.URL+"/", http.StatusFound))
	p, _, err := fetch(t, local(t), PageRequest{
		URL: s.URL, WantLinks: true, Scope: &domain.SiteScope{Root: s.URL, MaxDepth: 3, Follow: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{other.URL + "/next"}, urls(p.Links)); diff != "" {
		t.Error(diff)
	}
}

func TestFetch_over_TLS_and_HTTP2(t *testing.T) {
	t.Parallel()
	protos := make(chan string, 10)
	h := site.Handler()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protos <- r.Proto
		h.ServeHTTP(w, r)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	c := local(t)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c.transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	d, links, err := discover(t, c, domain.CrawlSpec{URL: s.URL})
	if err != nil || d.Found != len(sitePages) {
		t.Fatalf("got %+v, %v", d, err)
	}
	p, _, err := fetch(t, c, PageRequest{URL: links[1].URL})
	if err != nil || !strings.HasPrefix(p.Title, "About us") || !strings.HasPrefix(p.URL, "https://") {
		t.Errorf("got %+v, %v", p, err)
	}
	if got := <-protos; got != "HTTP/2.0" {
		t.Errorf("spoke %s", got)
	}
}

func TestFetch_ends_with_its_context(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		close(started)
		<-r.Context().Done()
	}))
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-started; cancel() }()
	_, err := local(t).Fetch(ctx, PageRequest{URL: s.URL})
	var e *Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
		t.Errorf("got %v", err)
	}
}

func TestClose_ends_running_fetches_and_refuses_new_ones(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		close(started)
		<-r.Context().Done()
	}))
	c := local(t)
	failed := make(chan error, 1)
	go func() {
		_, err := c.Fetch(context.Background(), PageRequest{URL: s.URL})
		failed <- err
	}()
	<-started
	c.Close()
	if err := <-failed; !errors.Is(err, ErrClosed) {
		t.Errorf("the running fetch ended with %v", err)
	}
	if _, err := c.Fetch(context.Background(), PageRequest{URL: s.URL}); !errors.Is(err, ErrClosed) {
		t.Errorf("a new fetch ended with %v", err)
	}
	c.Close()
}
