package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/testdata/site"
)

// plannerOf is a planner that may reach this machine, and the address of a site there.
func plannerOf(t *testing.T, site http.HandlerFunc) (planner, domain.DatasourceConfig) {
	t.Helper()
	s := httptest.NewServer(site)
	t.Cleanup(s.Close)
	crawler := crawl.New(crawl.Options{AllowPrivate: true, PerHostDelay: time.Millisecond, TempDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	t.Cleanup(crawler.Close)
	return planner{&web{Crawler: crawler}}, domain.DatasourceConfig{SourceURL: s.URL + "/"}
}

func TestAPlanOfASiteThatDoesNotAnswerSaysSo(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	p, site := plannerOf(t, func(http.ResponseWriter, *http.Request) { <-done })
	t.Cleanup(func() { close(done) }) // before the server waits for it
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := p.Plan(ctx, site, 10)
	if domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "config.source_url") {
		t.Errorf("%v", err)
	}
}

func TestAPlanKeepsFewOfManyAddressesThatAreLeftOut(t *testing.T) {
	t.Parallel()
	p, site := plannerOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><body><h1>Links</h1>")
		for i := range 3 * maxPlanned {
			fmt.Fprintf(w, `<a href="https://h%d.example/">%d</a> `, i, i)
		}
	})
	plan, err := p.Plan(t.Context(), site, 10)
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Addresses) != maxPlanned || !plan.Cut {
		t.Errorf("%d addresses are kept, cut: %v", len(plan.Addresses), plan.Cut)
	}
}

// TestAPlanIsMadeByTheCrawler has a whole service plan a site: by the crawler's guard and as far as the site goes.
func TestAPlanIsMadeByTheCrawler(t *testing.T) {
	t.Parallel()
	pages := httptest.NewServer(site.Handler())
	t.Cleanup(pages.Close)
	body := map[string]any{"config": map[string]any{"source_url": pages.URL + "/", "max_pages": 3}}

	guarded := newProgram(t)
	guarded.start()
	if err := guarded.post("/datasources/plan", body, nil); !refusedWith(err, 400) || !strings.Contains(err.Error(), "SLUICE_CRAWL_ALLOW") {
		t.Errorf("a site on this machine is planned with %v", err)
	}

	open := newProgram(t, "SLUICE_ALLOW_PRIVATE_ADDRESSES=true")
	open.start()
	var plan struct {
		Root      string
		Cut       bool
		Addresses []struct{ URL, Decision string }
		Decisions map[string]int
	}
	open.must(open.post("/datasources/plan", body, &plan))
	if taken := plan.Decisions["page"] + plan.Decisions["listed"]; plan.Root != pages.URL+"/" || !plan.Cut || taken == 0 || taken > 3 {
		t.Errorf("the plan is %+v", plan)
	}
	store := open.newDatastore()
	if all, err := open.sources(store, ""); err != nil || len(all) != 0 {
		t.Errorf("a plan keeps %v, %v", all, err)
	}
}
