package render

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/crawl"
)

// memberSite is a site that records the credentials in requests. Pages from any origin may read its responses.
type memberSite struct {
	*site
	mu    sync.Mutex
	asked map[string]string // method and path → password and cookies in the last such request
}

func membersSite(t *testing.T, pages map[string]string) *memberSite {
	t.Helper()
	m := &memberSite{asked: map[string]string{}}
	handlers := map[string]http.HandlerFunc{}
	for path, page := range pages {
		handlers[path] = func(w http.ResponseWriter, r *http.Request) {
			m.mu.Lock()
			m.asked[r.Method+" "+path] = r.Header.Get("Authorization") + " " + r.Header.Get("Cookie")
			m.mu.Unlock()
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			if r.Header.Get("Authorization") != "" {
				w.Header().Set("Set-Cookie", "session=member; Path=/")
			}
			_, _ = io.WriteString(w, page)
		}
	}
	m.site = serve(t, nil, handlers)
	return m
}

// carried returns the requests that arrived with the site's password or a cookie, and those that arrived with neither.
func (m *memberSite) carried() (with, without []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for request, what := range m.asked {
		if what == " " {
			without = append(without, request)
		} else {
			with = append(with, request)
		}
	}
	slices.Sort(with)
	slices.Sort(without)
	return with, without
}

// readAsMember fetches a page using a crawler with the site's password and the browser.
func readAsMember(t *testing.T, m *memberSite, page string) string {
	t.Helper()
	c := crawl.New(crawl.Options{AllowPrivate: true, PerHostDelay: -1, PerHostConcurrency: 8, TempDir: t.TempDir(), Renderer: shared(t)})
	t.Cleanup(c.Close)
	a, err := crawl.NewAccess(m.URL, map[string]string{"Authorization": "Bearer secret"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Fetch(crawl.WithAccess(t.Context(), a), crawl.PageRequest{URL: m.URL + page})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	text, err := io.ReadAll(p.Body)
	if err != nil || !p.Rendered {
		t.Fatalf("rendered %t, %v", p.Rendered, err)
	}
	return string(text)
}

const (
	bare = `<!doctype html><html><head><title>Members</title></head><body><div id="root"></div>`
	// asking defines a script function `ask`, which sends a request and ignores failures.
	asking = `<script>const root = document.getElementById('root'), ask = (u, o) => fetch(u, o).then(r => r.text()).catch(() => '')</script>`
)

func checkCarried(t *testing.T, m *memberSite, with, without []string) {
	t.Helper()
	gotWith, gotWithout := m.carried()
	if !slices.Equal(gotWith, with) {
		t.Errorf("with the headers came %q, want %q", gotWith, with)
	}
	if !slices.Equal(gotWithout, without) {
		t.Errorf("without came %q, want %q", gotWithout, without)
	}
}

// newSites starts a protected site with `pages` and a site on another origin with `others`. It returns the protected
// site. In the pages of both sites, SITE stands for the protected site's address and OTHER for the other site's
// address.
func newSites(t *testing.T, pages, others map[string]string) *memberSite {
	t.Helper()
	var m *memberSite
	handlers := map[string]http.HandlerFunc{}
	for path, page := range others {
		handlers[path] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, strings.ReplaceAll(page, "SITE", m.URL))
		}
	}
	other := serve(t, nil, handlers)
	for path, page := range pages {
		pages[path] = strings.ReplaceAll(page, "OTHER", other.URL)
	}
	m = membersSite(t, pages)
	return m
}

func TestFramesOfOtherOriginsDoNotReadAProtectedSite(t *testing.T) {
	t.Parallel()
	m := newSites(t, map[string]string{
		"/robots.txt": "", "/api": "", "/post": "", "/stolen": "", "/taken": "", "/sent": "", "/late": "", "/framed": "",
		"/app": bare + asking + `<script>
			const frame = u => { const f = document.createElement('iframe'); f.src = u; document.body.append(f) };
			onmessage = async e => {
				if (e.data == 'done') { await ask('/late'); frame('/inside') } else root.append('Everything has come.')
			};
			ask('/api').then(() => ask('/post', {method: 'POST', body: 'x'})).then(() => frame('OTHER/frame'));
		</script>`,
		"/inside": bare + asking + `<script>ask('/framed').then(() => parent.postMessage('read', '*'))</script>`,
	}, map[string]string{"/frame": bare + asking + `<script>
		const s = document.createElement('script'); s.src = 'SITE/taken'; document.head.append(s);
		s.onload = s.onerror = () => ask('SITE/stolen').then(() => ask('SITE/sent', {method: 'POST', body: 'x'})).then(() => parent.postMessage('done', '*'))
	</script>`})
	if text := readAsMember(t, m, "/app"); !strings.Contains(text, "Everything has come.") {
		t.Errorf("the page shows %s", text)
	}
	checkCarried(t, m,
		[]string{"GET /api", "GET /app", "GET /framed", "GET /inside", "GET /late", "GET /robots.txt"},
		[]string{"GET /stolen", "GET /taken", "POST /post", "POST /sent"})
}

func TestAPageThatHasLeftAProtectedSiteDoesNotReadIt(t *testing.T) {
	t.Parallel()
	m := newSites(t, map[string]string{
		"/robots.txt": "", "/stolen": "",
		"/app":  bare + `<script>location = 'OTHER/away'</script>`,
		"/back": bare + asking + `<script>ask('/stolen').then(() => root.append('Everything has come.'))</script>`,
	}, map[string]string{"/away": bare + asking + `<script>ask('SITE/stolen').then(() => { location = 'SITE/back' })</script>`})
	if text := readAsMember(t, m, "/app"); !strings.Contains(text, "Everything has come.") {
		t.Errorf("the page shows %s", text)
	}
	checkCarried(t, m, []string{"GET /app", "GET /robots.txt"}, []string{"GET /back", "GET /stolen"})
}
