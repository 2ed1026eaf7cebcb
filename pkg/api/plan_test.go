package api_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/domain"
)

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
	if !strings.Contains(p.Detail, "sluice crawler plan") {
		t.Errorf("the way out is not said: %s", p.Detail)
	}
}

func TestFewPlansAreMadeAtOnce(t *testing.T) {
	t.Parallel()
	s := newService(t)
	begun, end := make(chan struct{}, 10), make(chan struct{})
	s.planner.plan = func(context.Context, domain.DatasourceConfig, int) (api.Plan, error) {
		begun <- struct{}{}
		<-end
		return api.Plan{}, nil
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
