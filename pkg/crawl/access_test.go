package crawl

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/domain"
)

// guarded is a server that requires a password and records its requests.
type guarded struct {
	*httptest.Server
	pages map[string]string
	mu    sync.Mutex
	asked []string // each request's path, password, cookies and language
}

const password = "Basic dXNlcjpwYXNz"

func guardedServer(t *testing.T, pages map[string]string) *guarded {
	t.Helper()
	g := &guarded{pages: pages}
	g.Server = serve(t, g)
	return g
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.asked = append(g.asked, strings.TrimSpace(r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Cookie")+" "+r.Header.Get("Accept-Language")))
	g.mu.Unlock()
	page, found := g.pages[r.URL.Path]
	switch {
	case r.Header.Get("Authorization") != password:
		w.WriteHeader(http.StatusUnauthorized)
	case !found:
		http.NotFound(w, r)
	case strings.HasPrefix(page, "http"):
		if r.URL.Path == "/moved" {
			w.Header().Set("Set-Cookie", "step=1; Path=/")
		}
		http.Redirect(w, r, page, http.StatusFound)
	default:
		_, _ = io.WriteString(w, page)
	}
}

func (g *guarded) requests() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.asked)
}

// access returns a context whose requests to the server carry the headers that the server requires.
func access(t *testing.T, address string) context.Context {
	t.Helper()
	a, err := NewAccess(address, map[string]string{"Authorization": password, "Cookie": "session=s; step=0", "Accept-Language": "de"})
	if err != nil {
		t.Fatal(err)
	}
	return WithAccess(t.Context(), a)
}

func TestHeadersGoToTheirOriginAlone(t *testing.T) {
	t.Parallel()
	other := guardedServer(t, nil)
	g := guardedServer(t, map[string]string{"/page": "<p>Members only.</p>"})
	g.pages["/moved"], g.pages["/away"] = g.URL+"/page", other.URL+"/page"
	c := local(t)
	ctx := access(t, g.URL+"/docs/")
	p, err := c.Fetch(ctx, PageRequest{URL: g.URL + "/moved"})
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
	with := " " + password + " session=s; step=0 de"
	want := []string{"/robots.txt" + with, "/moved" + with, "/page " + password + " step=1; session=s de"}
	if diff := cmp.Diff(want, g.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if _, err := c.Fetch(ctx, PageRequest{URL: g.URL + "/away"}); wantError(t, err).StatusCode != http.StatusUnauthorized {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"/robots.txt", "/page"}, other.requests()); diff != "" {
		t.Errorf("requests to another origin (-want +got):\n%s", diff)
	}
	// The server rejects requests without the headers.
	if _, err := c.Fetch(t.Context(), PageRequest{URL: g.URL + "/page"}); wantError(t, err).StatusCode != http.StatusUnauthorized {
		t.Errorf("got %v", err)
	}
}

func TestProtectedRobotsApplyOnlyWithThePassword(t *testing.T) {
	t.Parallel()
	g := guardedServer(t, map[string]string{"/robots.txt": "User-agent: *\nDisallow: /drafts/", "/drafts/a": "<p>A draft."})
	c := local(t)
	_, err := c.Fetch(access(t, g.URL), PageRequest{URL: g.URL + "/drafts/a"})
	if e := wantError(t, err); !strings.Contains(e.Message, "robots.txt") {
		t.Errorf("with the headers: %v", err)
	}
	_, err = c.Fetch(t.Context(), PageRequest{URL: g.URL + "/drafts/a"})
	if e := wantError(t, err); e.StatusCode != http.StatusUnauthorized {
		t.Errorf("without: %v", err)
	}
}

func TestSitemapsOfAProtectedSiteAreRead(t *testing.T) {
	t.Parallel()
	g := guardedServer(t, nil)
	g.pages = map[string]string{"/sitemap.xml": fmt.Sprintf(`<urlset><url><loc>%s/a</loc></url></urlset>`, g.URL)}
	var found []domain.Link
	_, err := local(t).Discover(access(t, g.URL), domain.CrawlSpec{Sitemap: g.URL + "/sitemap.xml"}, collect(&found))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{g.URL + "/a"}, urls(found)); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestABrowserSendsTheHeadersForPagesOfTheirOriginAlone(t *testing.T) {
	t.Parallel()
	shell := `<html><body><div id="root"></div><script src="/app.js"></script></body></html>`
	other := guardedServer(t, nil)
	g := guardedServer(t, map[string]string{"/app": shell, "/app.js": "", "/api": "{}"})
	open := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, shell) }))
	c := local(t, func(o *Options) {
		o.Renderer = browserOf(func(_ context.Context, u string, get func(string) (int, string, error)) (Rendered, error) {
			for _, at := range []string{u, g.URL + "/api", other.URL + "/api"} {
				if _, _, err := get(at); err != nil {
					t.Error(err)
				}
			}
			return Rendered{Status: 200, URL: u, HTML: []byte("<p>text")}, nil
		})
	})
	ctx := access(t, g.URL)
	for _, page := range []string{g.URL + "/app", open.URL + "/app"} {
		p, err := c.Fetch(ctx, PageRequest{URL: page})
		if err != nil {
			t.Fatal(err)
		}
		_ = p.Close()
	}
	with := " " + password + " session=s; step=0 de"
	want := []string{"/robots.txt" + with, "/app" + with, "/app" + with, "/api" + with, "/api"}
	if diff := cmp.Diff(want, g.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if slices.ContainsFunc(other.requests(), func(r string) bool { return strings.Contains(r, " ") }) {
		t.Errorf("another origin got %q", other.requests())
	}
}

type rendererFunc func(ctx context.Context, url string, via http.RoundTripper) (Rendered, error)

func (f rendererFunc) Render(ctx context.Context, url string, via http.RoundTripper) (Rendered, error) {
	return f(ctx, url, via)
}

func TestABrowserSendsTheHeadersToReadAndForTheirOwnDocumentsAlone(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []string
	g := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Cookie"))))
		_, _ = io.WriteString(w, shellPage)
	})).URL
	c := local(t, func(o *Options) {
		o.Renderer = rendererFunc(func(ctx context.Context, u string, via http.RoundTripper) (Rendered, error) {
			for _, r := range []struct{ method, path, asker string }{
				{"GET", "/get", g}, {"HEAD", "/head", g}, {"POST", "/post", g}, {"OPTIONS", "/options", g},
				{"GET", "/other", "http://127.0.0.1:1"}, {"GET", "/longer", g + "1"}, {"GET", "/opaque", "null"}, {"GET", "/unknown", ""},
			} {
				req, err := http.NewRequestWithContext(WithAsker(ctx, r.asker), r.method, g+r.path, nil)
				if err != nil {
					return Rendered{}, err
				}
				req.Header.Set("Cookie", "set=1") // as if the site had set it in the browser
				res, err := via.RoundTrip(req)
				if err != nil {
					return Rendered{}, err
				}
				_ = res.Body.Close()
			}
			return Rendered{Status: 200, URL: u, HTML: []byte("<p>text")}, nil
		})
	})
	p, err := c.Fetch(access(t, g), PageRequest{URL: g + "/app"})
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
	with := " " + password + " "
	want := []string{
		"GET /robots.txt" + with + "session=s; step=0", "GET /app" + with + "session=s; step=0",
		"GET /get" + with + "set=1; session=s; step=0", "HEAD /head" + with + "set=1; session=s; step=0",
		"POST /post", "OPTIONS /options", "GET /other", "GET /longer", "GET /opaque", "GET /unknown",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestOriginsAreComparedByTheirMeaning(t *testing.T) {
	t.Parallel()
	for address, origin := range map[string]string{
		"https://docs.example/a?b#c": "https://docs.example",
		"https://DOCS.example:443/":  "https://docs.example",
		"http://docs.example:80":     "http://docs.example",
		"http://docs.example:443":    "http://docs.example:443",
		"https://bücher.example/":    "https://xn--bcher-kva.example",
		"http://[::1]:8080/":         "http://[::1]:8080",
	} {
		if got, err := Origin(address); err != nil || got != origin {
			t.Errorf("the origin of %s is %q, %v", address, got, err)
		}
	}
	a, err := NewAccess("https://docs.example", map[string]string{"Cookie": "very-secret"})
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{fmt.Sprint(a), fmt.Sprintf("%+v", a), fmt.Sprintf("%#v", a)} {
		if strings.Contains(shown, "secret") {
			t.Errorf("the value is printed as %s", shown)
		}
	}
}
