package crawl

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/domain"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// local returns a crawler that may access this machine and does not wait between requests.
func local(t testing.TB, change ...func(*Options)) *Crawler {
	t.Helper()
	o := Options{AllowPrivate: true, PerHostDelay: -1, PerHostConcurrency: 8, TempDir: t.TempDir()}
	for _, f := range change {
		f(&o)
	}
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

func serve(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// routes starts a server that maps paths to response bodies. It responds to all other paths, including robots.txt, with
// 404.
func routes(t testing.TB, pages map[string]string) *httptest.Server {
	t.Helper()
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, body)
	}))
}

func fetch(t testing.TB, c *Crawler, req PageRequest) (Page, string, error) {
	t.Helper()
	p, err := c.Fetch(context.Background(), req)
	if err != nil {
		return p, "", err
	}
	t.Cleanup(func() { _ = p.Close() })
	if p.Body == nil {
		return p, "", nil
	}
	b, err := io.ReadAll(p.Body)
	if err != nil {
		t.Fatalf("reading the body of %s: %v", req.URL, err)
	}
	if int64(len(b)) != p.Body.Size() {
		t.Errorf("body has %d bytes, Size says %d", len(b), p.Body.Size())
	}
	return p, string(b), nil
}

// wantError requires that err is an *Error and returns it.
func wantError(t testing.TB, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v (%T), want an *Error", err, err)
	}
	if e.Message == "" {
		t.Errorf("the error has no message for people: %+v", e)
	}
	return e
}

func urls(links []domain.Link) []string {
	out := make([]string, 0, len(links))
	for _, l := range links {
		out = append(out, l.URL)
	}
	return out
}

func collect(into *[]domain.Link) func([]domain.Link) error {
	return func(l []domain.Link) error {
		*into = append(*into, l...)
		return nil
	}
}
