package api

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// Bounds of a plan: it is looked at by somebody who waits for it.
const (
	maxPlanAddresses = 100 // that are asked for or listed
	maxPlanShown     = 300 // with those left out
	maxPlans         = 4   // at once
	planTimeout      = 20 * time.Second
)

// Planner says what a crawl of a site would do.
type Planner interface {
	// Plan goes through a site as a crawl would, over at most limit addresses, and keeps nothing. When ctx's deadline
	// passes, it returns what it has come to. A site that cannot be read is domain.CodeInvalid.
	Plan(ctx context.Context, site domain.DatasourceConfig, limit int) (Plan, error)
}

// Plan is what a Planner found.
type Plan struct {
	Root      string
	Follow    bool // the pages are found by links
	Sitemaps  int
	Cut       bool // there is more
	Problems  []string
	Addresses []PlannedURL
	Decisions map[string]int
	Reasons   map[string]int
	Delay     time.Duration // between two requests to the site's host
}

// PlannedURL is an address and what a crawl does with it. The zero value of what follows the decision says that it is not known.
type PlannedURL struct {
	URL      string
	Depth    int
	Decision string // of the document's enumeration
	Reason   string
	Title    string
	Bytes    int64
}

// PlanSite implements StrictServerInterface.
func (s *server) PlanSite(ctx context.Context, r PlanSiteRequestObject) (PlanSiteResponseObject, error) {
	ctx, _ = callerOf(ctx)
	if s.Planner == nil {
		return nil, domain.Errorf(domain.CodeConflict, "this process leaves crawling to others (SLUICE_WORKERS); a machine that crawls shows the plan by `sluice crawler plan URL`")
	}
	c := r.Body.Config
	site := domain.DatasourceConfig{
		SourceURL: strings.TrimSpace(value(c.SourceUrl)), Sitemap: strings.TrimSpace(value(c.Sitemap)),
		Include: value(c.Include), Exclude: value(c.Exclude), MaxPages: value(c.MaxPages), MaxDepth: value(c.MaxDepth),
	}
	limit := maxPlanAddresses
	if site.MaxPages > 0 {
		limit = min(limit, site.MaxPages)
	}
	select {
	case s.plans <- struct{}{}:
		defer func() { <-s.plans }()
	default:
		return nil, &domain.Error{Code: domain.CodeRateLimit, Message: fmt.Sprintf("%d plans are being made, which is the most at once; try again in a moment", maxPlans), RetryAfter: planTimeout / 4}
	}
	ctx, cancel := context.WithTimeout(ctx, planTimeout)
	defer cancel()
	p, err := s.Planner.Plan(ctx, site, limit)
	if err != nil {
		return nil, err
	}
	return PlanSite200JSONResponse(renderPlan(p)), nil
}

func renderPlan(p Plan) SitePlan {
	out := SitePlan{
		Root: p.Root, Follow: p.Follow, Sitemaps: p.Sitemaps, Cut: p.Cut, Problems: append([]string{}, p.Problems...),
		Decisions: map[string]int{}, Reasons: map[string]int{}, Delay: p.Delay.Seconds(), Addresses: []PlannedAddress{},
	}
	for decision, n := range p.Decisions {
		out.Decisions[decision] = n
	}
	for reason, n := range p.Reasons {
		out.Reasons[reason] = n
	}
	for i, a := range p.Addresses {
		if i == maxPlanShown {
			out.Cut = true
			break
		}
		out.Addresses = append(out.Addresses, PlannedAddress{
			Url: a.URL, Depth: a.Depth, Decision: PlannedAddressDecision(a.Decision), Reason: optional(a.Reason),
			Title: optional(a.Title), Bytes: a.Bytes,
		})
	}
	return out
}

// planRule checks what the document cannot say about a site to be planned.
func planRule(body map[string]any) []domain.FieldError {
	config, _ := body["config"].(map[string]any)
	if config == nil {
		return nil // the schema says so
	}
	return createDatasourceRule(map[string]any{"type": string(domain.TypeWebSite), "config": config})
}
