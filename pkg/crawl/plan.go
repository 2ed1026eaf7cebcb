package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/sleep"
)

// PlanRequest holds the parameters of Plan.
type PlanRequest struct {
	// Spec describes the site in the same way as the site's crawl job.
	Spec domain.CrawlSpec
	// Limit is the maximum number of addresses in the site. Default: the crawler's MaxPages.
	Limit int
	// Check fetches pages listed in sitemaps instead of just reporting them. Without a sitemap, pages are always
	// fetched for their links.
	Check bool

	pause time.Duration // delay between attempts if the host doesn't ask for one; default: planPause
}

// Decision is the outcome for an address.
type Decision string

// Outcomes for an address.
const (
	PlanPage      Decision = "page"      // a page in the datastore
	PlanListed    Decision = "listed"    // listed in the sitemap but not fetched, so its kind is unknown
	PlanDuplicate Decision = "duplicate" // another address has the same page
	PlanSkipped   Decision = "skipped"   // fetched and skipped on purpose
	PlanError     Decision = "error"     // cannot be fetched
	PlanLeftOut   Decision = "left out"  // never requested
)

// PlanEntry is an address with its outcome.
type PlanEntry struct {
	URL      string   `json:"url"`
	Depth    int      `json:"depth"` // links from the root
	Decision Decision `json:"decision"`
	// Reason explains, for display, why the address isn't a page, or names the target of its redirect.
	Reason   string    `json:"reason,omitempty"`
	From     string    `json:"from,omitempty"` // the first page that links to it; "" if it is in a sitemap
	Title    string    `json:"title,omitempty"`
	MIMEType string    `json:"mime_type,omitempty"`
	Bytes    int64     `json:"bytes,omitempty"` // decompressed size of the body
	LastMod  time.Time `json:"last_mod,omitzero"`
}

// PlanSummary contains the totals for a plan.
type PlanSummary struct {
	Root      string           `json:"root"`
	Follow    bool             `json:"follow"` // pages are found by following links instead of in sitemaps
	Sitemaps  int              `json:"sitemaps"`
	Complete  bool             `json:"complete"` // the sitemaps list every page
	Problems  []string         `json:"problems,omitempty"`
	Addresses int              `json:"addresses"` // addresses that a crawl would request
	Decisions map[Decision]int `json:"decisions"`
	// Documents is the number of non-HTML pages. A plan does not extract text, so it cannot tell whether a document is
	// damaged or has no text.
	Documents int            `json:"documents"`
	Reasons   map[string]int `json:"reasons,omitempty"` // addresses per reason; a skipped address counts once per linking page
	// Delay is the minimum interval between two requests to the site's host. Time is the minimum duration of a crawl at
	// that pace.
	Delay time.Duration `json:"delay_ns"`
	Time  time.Duration `json:"time_ns"`
}

const (
	planAhead   = 8               // pages fetched in advance while others are judged; the host's limits apply too
	planTries   = 3               // maximum attempts for a page with temporary errors
	planTimeout = time.Minute     // maximum time a page waits for slots and between attempts
	planPause   = 2 * time.Second // delay between attempts if the host doesn't ask for one
	maxPlanLeft = 100_000         // maximum number of skipped addresses to report; others are only counted
)

// Plan does what a crawl would do, with the same functions and the same politeness, but stores nothing. It passes each
// address to `emit` once, with its outcome and the reason. Pages found through links are judged level by level, in a
// fixed order within each level, so that the result doesn't depend on response times.
//
// A crawl retries a failed page for minutes, but a plan makes only three attempts. Errors come from Discover, from
// fetching the root, from emit, or from ctx.
func (c *Crawler) Plan(ctx context.Context, req PlanRequest, emit func(PlanEntry) error) (PlanSummary, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &plan{
		crawler: c, ctx: ctx, emit: emit, limit: req.Limit, pause: req.pause, known: make(map[string]*planned), pagesByHash: make(map[string]string), left: make(map[string]PlanEntry),
		summary: PlanSummary{Decisions: make(map[Decision]int), Reasons: make(map[string]int)},
	}
	defer p.fetches.Wait()
	defer cancel()
	p.limit = cmp.Or(p.limit, c.opts.MaxPages)
	p.pause = cmp.Or(p.pause, planPause)
	err := p.discover(req.Spec)
	if err == nil && (p.follow || req.Check) {
		err = p.walk()
	} else if err == nil {
		err = p.list()
	}
	if err == nil {
		err = p.reportRejected()
	}
	p.summary.Time = time.Duration(p.summary.Addresses) * p.summary.Delay
	return p.summary, err
}

// plan is one run of Plan.
type plan struct {
	crawler *Crawler
	ctx     context.Context
	emit    func(PlanEntry) error
	limit   int
	pause   time.Duration
	scope   domain.SiteScope
	follow  bool

	patterns domain.Patterns // the scope's patterns

	level       []*planned // the level being judged
	next        []*planned // the next level
	known       map[string]*planned
	pagesByHash map[string]string    // pages' addresses by the hash of their text or, if there is none, their content
	leads       int                  // pages read only for their links
	moved       []*planned           // redirecting pages, to be judged after all others with the same content
	left        map[string]PlanEntry // addresses skipped so far
	fetches     sync.WaitGroup
	summary     PlanSummary
}

type planned struct {
	link   domain.Link
	from   string
	lead   int             // number of consecutive pages up to this one that match no include pattern
	done   chan planResult // receives the result of the fetch
	state  planState
	result planResult
	sketch []byte     // sketch of the page's text
	wait   []*planned // addresses whose canonical address is this one
}

type planState int

const (
	planPending  planState = iota // not yet judged
	planMoved                     // redirects; counts as a page unless another page has the same content
	planWaits                     // waits until its canonical address is judged
	planPage                      // a page
	planExcluded                  // not a page
)

// planResult is a fetch's result without the body.
type planResult struct {
	page    Page
	hash    string // hash of the text or, if there is none, of the content
	size    int64
	refused []refusedLink
	err     error
}

type refusedLink struct {
	address string
	why     scope.Refusal
}

// discover finds out whether the site has sitemaps and collects its first addresses.
func (p *plan) discover(spec domain.CrawlSpec) error {
	var refused []refusedLink
	d, err := p.crawler.discover(p.ctx, spec, func(links []domain.Link) error {
		for _, l := range links {
			p.add(l, "", 0)
		}
		return nil
	}, func(address string, why scope.Refusal) {
		if len(refused) < maxPlanLeft {
			refused = append(refused, refusedLink{address, why})
		}
	})
	p.scope, p.follow, p.patterns = d.Scope, d.Follow, d.Scope.Patterns()
	s := &p.summary
	s.Root, s.Follow, s.Sitemaps, s.Problems = d.Scope.Root, d.Follow, d.Sitemaps, d.Problems
	s.Complete = d.Complete && s.Reasons[string(scope.RefusedPageLimit)] == 0
	for why, n := range d.Refused {
		s.Reasons[string(why)] += n
	}
	if err != nil {
		return err
	}
	s.Delay = p.crawler.opts.PerHostDelay
	if u, err := weburl.Parse(s.Root); err == nil {
		if r, err := p.crawler.robots.get(p.ctx, u); err == nil { // discovery has already requested it
			s.Delay = max(s.Delay, r.CrawlDelay)
		}
	}
	p.recordRejected(refused, 0, "")
	return nil
}

// add queues an address for the next level unless it is known or the limit is reached. `lead` is 0 if the address
// matches an include pattern, and otherwise the number of consecutive pages without a match on the path to it,
// including itself. Addresses without a match don't count towards the limit.
func (p *plan) add(l domain.Link, from string, lead int) {
	switch {
	case p.known[l.URL] != nil:
	case lead == 0 && len(p.known)-p.leads >= p.limit:
		p.summary.Reasons[string(scope.RefusedPageLimit)]++
	default:
		if lead > 0 {
			p.leads++
		}
		it := &planned{link: l, from: from, lead: lead, done: make(chan planResult, 1)}
		p.known[l.URL] = it
		p.next = append(p.next, it)
	}
}

// list reports the addresses in the sitemaps without fetching them.
func (p *plan) list() error {
	for _, it := range p.next {
		p.summary.Addresses++
		if err := p.report(PlanEntry{URL: it.link.URL, Decision: PlanListed, LastMod: it.link.LastMod}, ""); err != nil {
			return err
		}
	}
	return nil
}

// walk fetches and judges the site level by level.
func (p *plan) walk() error {
	for len(p.next) > 0 {
		p.level, p.next = p.next, nil
		slices.SortStableFunc(p.level, func(a, b *planned) int {
			return cmp.Or(len(a.link.URL)-len(b.link.URL), strings.Compare(a.link.URL, b.link.URL))
		})
		started := 0
		for i := 0; i < len(p.level); i++ { // the level may grow
			for ; started < len(p.level) && started < i+planAhead; started++ {
				p.start(p.level[started])
			}
			it := p.level[i]
			it.result = <-it.done
			if err := p.judge(it); err != nil {
				return err
			}
		}
	}
	if err := p.settle(); err != nil {
		return err
	}
	// Some pages are still waiting for a canonical page that was never fetched. Add the waiting pages themselves.
	for _, u := range slices.Sorted(maps.Keys(p.known)) {
		if it := p.known[u]; it.state == planWaits {
			if err := p.addPage(it); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *plan) start(it *planned) {
	p.summary.Addresses++
	p.fetches.Go(func() { it.done <- p.fetch(it) })
}

// fetch fetches a page, retrying after the same errors as a crawl.
func (p *plan) fetch(it *planned) planResult {
	maxWait := planTimeout
	for try := 1; ; {
		r := p.fetchOnce(it)
		var e *Error
		if r.err == nil || !errors.As(r.err, &e) || e.Permanent {
			return r
		}
		pause := max(e.RetryAfter, 0)
		if !e.Deferred {
			if try++; try > planTries {
				return r
			}
			pause = max(pause, p.pause)
		}
		if maxWait -= max(pause, time.Millisecond); maxWait < 0 {
			return r
		}
		if err := sleep.For(p.ctx, pause); err != nil {
			return planResult{err: err}
		}
	}
}

func (p *plan) fetchOnce(it *planned) (r planResult) {
	r.page, r.err = p.crawler.Fetch(p.ctx, PageRequest{
		URL: it.link.URL, Depth: it.link.Depth, Scope: &p.scope, WantLinks: p.follow, PastPatterns: true,
		refused: func(address string, why scope.Refusal) { r.refused = append(r.refused, refusedLink{address, why}) },
	})
	if r.err != nil {
		return r
	}
	r.hash, r.size, r.err = digest(r.page.Body)
	if r.page.TextHash != "" {
		r.hash = r.page.TextHash
	}
	if err := r.page.Close(); r.err == nil {
		r.err = err
	}
	return r
}

// errorKind returns a short name for the kind of error, used to count errors.
func errorKind(err error) string {
	var e *Error
	switch {
	case errors.Is(err, errForbidden):
		return "disallowed by robots.txt"
	case errors.Is(err, errSignIn):
		return "requires signing in"
	case errors.As(err, &e) && e.StatusCode >= 400:
		return fmt.Sprintf("the server answered %d %s", e.StatusCode, http.StatusText(e.StatusCode))
	case errors.As(err, &e) && e.Permanent:
		return "cannot be read"
	default:
		return "could not be fetched"
	}
}
