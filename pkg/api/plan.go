package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/domain"
)

// Limits on a plan. They are low because a person is waiting for the result.
const (
	maxPlanAddresses = 100 // maximum number of addresses on the site
	maxPlanShown     = 300 // maximum number of entries, including addresses that a crawl would skip
	maxPlans         = 4   // maximum number of concurrent plans
)

// Planner shows what crawling a site would do. crawl.Crawler implements it.
type Planner interface {
	// Plan visits a site as a crawl would, but stores nothing. It calls `emit` once per address.
	Plan(ctx context.Context, r crawl.PlanRequest, emit func(crawl.PlanEntry) error) (crawl.PlanSummary, error)
}

// PlanSite implements StrictServerInterface.
func (s *server) PlanSite(ctx context.Context, r PlanSiteRequestObject) (PlanSiteResponseObject, error) {
	ctx, _ = access.CallerOf(ctx)
	if s.Planner == nil {
		return nil, domain.Errorf(domain.CodeConflict, "this process does not crawl (SLUICE_WORKERS=false); run `sluice crawler plan URL` on a machine that does")
	}
	c := r.Body.Config
	site := domain.DatasourceConfig{
		SourceURL: strings.TrimSpace(orZero(c.SourceUrl)), Sitemap: strings.TrimSpace(orZero(c.Sitemap)),
		Include: orZero(c.Include), Exclude: orZero(c.Exclude), MaxPages: orZero(c.MaxPages), MaxDepth: orZero(c.MaxDepth),
	}
	limit := maxPlanAddresses
	if site.MaxPages > 0 {
		limit = min(limit, site.MaxPages)
	}
	select {
	case s.plans <- struct{}{}:
		defer func() { <-s.plans }()
	default:
		return nil, &domain.Error{Code: domain.CodeRateLimit, Message: fmt.Sprintf("the limit of %d concurrent crawl previews has been reached; try again in a moment", maxPlans), RetryAfter: s.options.PlanTimeout / 4}
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.PlanTimeout)
	defer cancel()
	p, err := s.plan(ctx, site, limit)
	return PlanSite200JSONResponse(p), err
}

// plan visits at most `limit` addresses on a site. If ctx's deadline passes, it returns the addresses found so far.
func (s *server) plan(ctx context.Context, site domain.DatasourceConfig, limit int) (SitePlan, error) {
	out := SitePlan{Addresses: []PlannedAddress{}}
	sum, err := s.Planner.Plan(ctx, crawl.PlanRequest{
		Spec:  domain.CrawlSpec{URL: site.SourceURL, Sitemap: site.Sitemap, Site: site.Scope(true)},
		Limit: limit,
	}, func(e crawl.PlanEntry) error {
		if len(out.Addresses) == maxPlanShown {
			out.Cut = true
			return nil
		}
		out.Addresses = append(out.Addresses, PlannedAddress{
			Url: e.URL, Depth: e.Depth, Decision: PlannedAddressDecision(planDecision(e.Decision)), Reason: optional(e.Reason),
			Title: optional(e.Title), Bytes: e.Bytes,
		})
		return nil
	})
	var refused *crawl.Error
	switch late := errors.Is(ctx.Err(), context.DeadlineExceeded); {
	case err == nil:
	case late && len(out.Addresses) > 0:
		out.Cut = true
	case late:
		return out, domain.Invalid(planField(site), "the site did not answer within the preview's time limit; start the crawl without a preview, or try again later")
	case errors.As(err, &refused):
		return out, domain.Invalid(planField(site), "%s", refused.Message)
	default:
		return out, err
	}
	out.Root, out.Follow, out.Sitemaps, out.Delay = sum.Root, sum.Follow, sum.Sitemaps, sum.Delay.Seconds()
	out.Problems, out.Decisions, out.Reasons = append([]string{}, sum.Problems...), map[string]int{}, map[string]int{}
	maps.Copy(out.Reasons, sum.Reasons)
	for decision, n := range sum.Decisions {
		out.Decisions[planDecision(decision)] = n
	}
	out.Cut = out.Cut || sum.Reasons[string(scope.RefusedPageLimit)] > 0
	return out, nil
}

// planDecision returns a decision as spelled in the OpenAPI document.
func planDecision(d crawl.Decision) string { return strings.ReplaceAll(string(d), " ", "_") }

// planField returns the field to name in the error if the site cannot be read.
func planField(site domain.DatasourceConfig) string {
	if site.Sitemap != "" {
		return "config.sitemap"
	}
	return "config.source_url"
}
