package app

import (
	"context"
	"errors"
	"strings"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/domain"
)

// maxPlanned is how many addresses of a plan are kept: a page may link to a hundred thousand that are left out, and few are
// shown.
const maxPlanned = 1000

// planner is the API's view of the crawler: what it would fetch of a site.
type planner struct{ crawler *web }

// Plan implements api.Planner. It goes through the crawler's own guard, robots.txt and turns at hosts.
func (p planner) Plan(ctx context.Context, site domain.DatasourceConfig, limit int) (api.Plan, error) {
	var out api.Plan
	sum, err := p.crawler.Plan(ctx, crawl.PlanRequest{
		Spec:  domain.CrawlSpec{URL: site.SourceURL, Sitemap: site.Sitemap, Site: site.Scope(true)},
		Limit: limit,
	}, func(e crawl.PlanEntry) error {
		if len(out.Addresses) == maxPlanned {
			out.Cut = true
			return nil
		}
		out.Addresses = append(out.Addresses, api.PlannedURL{
			URL: e.URL, Depth: e.Depth, Decision: planDecision(e.Decision), Reason: e.Reason, Title: e.Title, Bytes: e.Bytes,
		})
		return nil
	})
	var refused *crawl.Error
	switch {
	case err == nil:
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && len(out.Addresses) > 0:
		out.Cut = true
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return out, domain.Invalid(planField(site), "the site has not answered in the time that a plan has")
	case errors.As(err, &refused):
		return out, domain.Invalid(planField(site), "%s", refused.Message)
	default:
		return out, err
	}
	out.Root, out.Follow, out.Sitemaps, out.Problems, out.Delay = sum.Root, sum.Follow, sum.Sitemaps, sum.Problems, sum.Delay
	out.Reasons, out.Decisions = sum.Reasons, make(map[string]int, len(sum.Decisions))
	for d, n := range sum.Decisions {
		out.Decisions[planDecision(d)] = n
	}
	out.Cut = out.Cut || sum.Reasons[string(crawl.RefusedPageLimit)] > 0
	return out, nil
}

// planDecision is a decision as the API's document has it.
func planDecision(d crawl.Decision) string { return strings.ReplaceAll(string(d), " ", "_") }

// planField is the field that an unreadable site is the fault of.
func planField(site domain.DatasourceConfig) string {
	if site.Sitemap != "" {
		return "config.sitemap"
	}
	return "config.source_url"
}
