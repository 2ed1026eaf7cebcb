package api_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

func TestAnOriginalIsServedAsSomebodyElses(t *testing.T) {
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

func TestAnOriginalThatIsGoneIsNotFound(t *testing.T) {
	t.Parallel()
	s := newService(t)
	id := s.newText(s.newDatastore(), "text")
	for key := range s.originals.all() {
		must(t, s.originals.Delete(t.Context(), key))
	}
	s.call("GET", "/datasources/"+id+"/original", nil).problem(404)
}

// brokenOriginals give half of what they hold.
type brokenOriginals struct{ *originals }

func (b brokenOriginals) Get(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(io.MultiReader(strings.NewReader("te"), failing{})), nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func TestAnOriginalThatBreaksOffIsNoWhole(t *testing.T) {
	t.Parallel()
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Originals = brokenOriginals{d.Originals.(*originals)} })
	id := s.newText(s.newDatastore(), "text")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/datasources/"+id+"/original", nil)
	must(t, err)
	req.Header.Set("Authorization", "Bearer "+s.key)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return // nothing of it was sent yet: the connection was cut at once
	}
	defer res.Body.Close()
	if content, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("half an original is read as %q", content)
	}
}

func TestAPlanIsBounded(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.planner.plan = func(ctx context.Context, site domain.DatasourceConfig, limit int) (api.Plan, error) {
		deadline, bounded := ctx.Deadline()
		if !bounded || time.Until(deadline) > 20*time.Second {
			t.Errorf("the plan may take until %v", deadline)
		}
		if site.MaxPages == 7 && limit != 7 || site.MaxPages != 7 && limit != 100 {
			t.Errorf("a plan of %d pages at most has the limit %d", site.MaxPages, limit)
		}
		p := api.Plan{Root: site.SourceURL}
		for range 1000 {
			p.Addresses = append(p.Addresses, api.PlannedURL{URL: site.SourceURL, Decision: "left_out", Reason: "another host"})
		}
		return p, nil
	}
	for _, config := range []object{{}, {"max_pages": 7}, {"max_pages": 5000}} {
		body := object{"config": with(object{"source_url": "https://example.com/"}, config)}
		if o := s.call("POST", "/datasources/plan", body).want(200).object(); len(o.list("addresses")) != 300 || o["cut"] != true {
			t.Errorf("a long plan shows %d addresses, cut: %v", len(o.list("addresses")), o["cut"])
		}
	}
}

func TestWhereNobodyCrawlsThereIsNoPlan(t *testing.T) {
	t.Parallel()
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Planner = nil })
	p := s.call("POST", "/datasources/plan", object{"config": object{"source_url": "https://example.com/"}}).problem(409)
	if !strings.Contains(p.Detail, "crawler plan") {
		t.Errorf("the way out is not said: %s", p.Detail)
	}
}
