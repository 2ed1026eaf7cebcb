package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/api"
)

func TestAnOriginalIsServedWithARestrictivePolicy(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.newText(s.newDatastore(), "<script>alert(1)</script>", object{"name": "a \"page\"\r\nX: y.html"})
	a := s.call("GET", "/datasources/"+id+"/original", nil).want(200)
	for name, want := range map[string]string{
		"Content-Security-Policy":      "default-src 'none'; sandbox",
		"X-Content-Type-Options":       "nosniff",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control":                "private, no-store",
		"Content-Length":               "25",
		"X":                            "",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := a.header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment; filename") {
		t.Errorf("Content-Disposition is %q", got)
	}
	if head := s.call("HEAD", "/datasources/"+id+"/original", nil).want(200); len(head.body) > 0 || head.header.Get("Content-Length") != "25" {
		t.Errorf("HEAD is answered with %q of length %s", head.body, head.header.Get("Content-Length"))
	}
	s.stranger().call("GET", "/datasources/"+id+"/original", nil).problem(404)
	s.as("").call("GET", "/datasources/"+id+"/original", nil).problem(403)
}

func TestADeletedOriginalIsNotFound(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.newText(s.newDatastore(), "text")
	for key := range s.originals.all() {
		must(t, s.originals.Delete(t.Context(), key))
	}
	s.call("GET", "/datasources/"+id+"/original", nil).problem(404)
}

// brokenOriginals is an original store whose content can't be read to the end.
type brokenOriginals struct{ *originals }

func (b brokenOriginals) Get(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader("te"), failing{})), nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestAFailedOriginalIsNotServedAsComplete(t *testing.T) {
	t.Parallel()
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Originals = brokenOriginals{d.Originals.(*originals)} })
	id := s.newText(s.newDatastore(), "text")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/datasources/"+id+"/original", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+s.key)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return // the connection was aborted before the first byte
	}
	defer res.Body.Close()
	if content, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("half an original is read as %q", content)
	}
}
