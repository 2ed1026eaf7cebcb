package api_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/crawl"
)

func TestAPlanIsBounded(t *testing.T) {
	t.Parallel()
	s, limit := newService(t), 0
	s.planner.plan = func(ctx context.Context, r crawl.PlanRequest, emit func(crawl.PlanEntry) error) (crawl.PlanSummary, error) {
		deadline, bounded := ctx.Deadline()
		if !bounded || time.Until(deadline) > 20*time.Second {
			t.Errorf("the plan may take until %v", deadline)
		}
		if r.Limit != limit {
			t.Errorf("the plan has the limit %d, not %d", r.Limit, limit)
		}
		for range 1000 {
			if err := emit(crawl.PlanEntry{URL: r.Spec.URL, Decision: crawl.PlanLeftOut, Reason: "another host"}); err != nil {
				return crawl.PlanSummary{}, err
			}
		}
		return crawl.PlanSummary{Root: r.Spec.URL}, nil
	}
	for _, c := range []struct {
		config object
		limit  int
	}{{object{}, 100}, {object{"max_pages": 7}, 7}, {object{"max_pages": 5000}, 100}} {
		limit = c.limit
		body := object{"config": with(object{"source_url": "https://example.com/"}, c.config)}
		o := s.call("POST", "/datasources/plan", body).want(200).object()
		if len(o.list("addresses")) != 300 || o["cut"] != true {
			t.Errorf("a long plan shows %d addresses, cut: %v", len(o.list("addresses")), o["cut"])
		}
		if first, _ := o.list("addresses")[0].(map[string]any); first["decision"] != "left_out" {
			t.Errorf("an address that is left out is %v", first)
		}
	}
}

// TestAPlanThatTimesOutReturnsPartialResults lets the time limit pass once before and once after the plan's first
// address.
func TestAPlanThatTimesOutReturnsPartialResults(t *testing.T) {
	t.Parallel()
	s := newService(t, func(o *api.Options, _ *api.Deps) { o.PlanTimeout = time.Millisecond })
	found := 0
	s.planner.plan = func(ctx context.Context, r crawl.PlanRequest, emit func(crawl.PlanEntry) error) (crawl.PlanSummary, error) {
		for range found {
			if err := emit(crawl.PlanEntry{URL: r.Spec.URL, Decision: crawl.PlanPage}); err != nil {
				return crawl.PlanSummary{}, err
			}
		}
		<-ctx.Done()
		return crawl.PlanSummary{}, ctx.Err()
	}
	for field, config := range map[string]object{
		"config.source_url": {"source_url": "https://example.com/"},
		"config.sitemap":    {"source_url": "https://example.com/", "sitemap": "https://example.com/sitemap.xml"},
	} {
		if p := s.call("POST", "/datasources/plan", object{"config": config}).problem(400); !strings.Contains(p.Detail, field) {
			t.Errorf("a site that does not answer is the fault of %s: %s", field, p.Detail)
		}
	}
	found = 1
	body := object{"config": object{"source_url": "https://example.com/"}}
	if o := s.call("POST", "/datasources/plan", body).want(200).object(); len(o.list("addresses")) != 1 || o["cut"] != true {
		t.Errorf("a plan that was cut short has %d addresses, cut: %v", len(o.list("addresses")), o["cut"])
	}
}

func TestAPlanOfARefusedSiteNamesTheReason(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.planner.plan = func(context.Context, crawl.PlanRequest, func(crawl.PlanEntry) error) (crawl.PlanSummary, error) {
		return crawl.PlanSummary{}, &crawl.Error{Message: "robots.txt of example.com keeps it from being crawled"}
	}
	body := object{"config": object{"source_url": "https://example.com/"}}
	if p := s.call("POST", "/datasources/plan", body).problem(400); !strings.Contains(p.Detail, "config.source_url") || !strings.Contains(p.Detail, "robots.txt") {
		t.Errorf("the refusal is not told: %s", p.Detail)
	}
}

func TestWithoutACrawlerThereIsNoPlan(t *testing.T) {
	t.Parallel()
	s := newService(t, func(_ *api.Options, d *api.Deps) { d.Planner = nil })
	p := s.call("POST", "/datasources/plan", object{"config": object{"source_url": "https://example.com/"}}).problem(409)
	if !strings.Contains(p.Detail, "sluice crawler plan") {
		t.Errorf("the way out is not said: %s", p.Detail)
	}
}

func TestConcurrentPlansAreLimited(t *testing.T) {
	t.Parallel()
	s := newService(t)
	begun, end := make(chan struct{}, 10), make(chan struct{})
	s.planner.plan = func(context.Context, crawl.PlanRequest, func(crawl.PlanEntry) error) (crawl.PlanSummary, error) {
		begun <- struct{}{}
		<-end
		return crawl.PlanSummary{}, nil
	}
	body := object{"config": object{"source_url": "https://example.com/"}}
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() { s.call("POST", "/datasources/plan", body) })
		<-begun
	}
	if a := s.call("POST", "/datasources/plan", body); a.status != 429 || a.header.Get("Retry-After") == "" {
		t.Errorf("a fifth plan is answered %d: %s", a.status, a.body)
	}
	close(end)
	running.Wait()
	s.call("POST", "/datasources/plan", body).want(200)
}
