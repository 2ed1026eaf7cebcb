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
)

// PlanRequest says what crawl to plan.
type PlanRequest struct {
	// Spec is the site as its crawl job has it.
	Spec domain.CrawlSpec
	// Limit is how many addresses the site may have. Default: as the crawler has it.
	Limit int
	// Check fetches each page that a sitemap lists. A site without a sitemap is fetched in any case: its pages are found by
	// the links of others.
	Check bool

	pause time.Duration // between tries when the host names no time; default: planPause
}

// Decision is what a crawl does with an address.
type Decision string

// The decisions.
const (
	PlanPage      Decision = "page"      // it becomes a page of the datastore
	PlanListed    Decision = "listed"    // the sitemap lists it, and it was not fetched to see what it is
	PlanDuplicate Decision = "duplicate" // another address has the page
	PlanSkipped   Decision = "skipped"   // it is fetched, and left out on purpose
	PlanError     Decision = "error"     // it cannot be had
	PlanLeftOut   Decision = "left out"  // it is never asked for
)

// PlanEntry is one address and what a crawl does with it.
type PlanEntry struct {
	URL      string   `json:"url"`
	Depth    int      `json:"depth"` // links from the root
	Decision Decision `json:"decision"`
	// Reason says in words for people why it is no page; of a page, where it lies after redirects, if that is elsewhere.
	Reason   string    `json:"reason,omitempty"`
	From     string    `json:"from,omitempty"` // the page that was first to link to it; "" of what a sitemap lists
	Title    string    `json:"title,omitempty"`
	MIMEType string    `json:"mime_type,omitempty"`
	Bytes    int64     `json:"bytes,omitempty"` // of the body, unpacked
	LastMod  time.Time `json:"last_mod,omitzero"`
}

// PlanSummary is a plan in numbers.
type PlanSummary struct {
	Root      string           `json:"root"`
	Follow    bool             `json:"follow"` // the pages are found by links, not by sitemaps
	Sitemaps  int              `json:"sitemaps"`
	Complete  bool             `json:"complete"` // the sitemaps list every page
	Problems  []string         `json:"problems,omitempty"`
	Addresses int              `json:"addresses"` // that a crawl asks for
	Decisions map[Decision]int `json:"decisions"`
	// Documents counts the pages that are no HTML. A plan does not read contents, so a crawl may yet find one of them damaged,
	// or any page without text.
	Documents int            `json:"documents"`
	Reasons   map[string]int `json:"reasons,omitempty"` // why addresses are no pages; of those left out, one counts on every page that links to it
	// Delay is the time between two requests to the site's host, and Time what a crawl takes at that pace at least.
	Delay time.Duration `json:"delay_ns"`
	Time  time.Duration `json:"time_ns"`
}

const (
	planAhead    = 8               // pages that are fetched while others are judged; the host's limits hold below it
	planTries    = 3               // of a page that may be had later
	planPatience = time.Minute     // for the host's turn and between tries, all together
	planPause    = 2 * time.Second // between tries, when the host names no time
	maxPlanLeft  = 100_000         // addresses left out that are told; more are only counted
)

// Plan goes through a site as a crawl would, by the same functions and as politely, but keeps nothing: emit is told of
// each address once, and why it is or is not a page. Pages that are to be found by links are judged level by level, the
// better addresses first, so that the result does not depend on which page is faster.
//
// Where a crawl tries pages again for minutes, a plan tries three times. Its errors are those of Discover, that of the
// root's fetch when that cannot be had, or emit's own, or ctx's.
func (c *Crawler) Plan(ctx context.Context, req PlanRequest, emit func(PlanEntry) error) (PlanSummary, error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &plan{
		crawler: c, ctx: ctx, emit: emit, limit: req.Limit, pause: req.pause, known: make(map[string]*planned), kept: make(map[string]string), left: make(map[string]PlanEntry),
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
		err = p.tellLeft()
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

	patterns domain.Patterns // of the scope

	level   []*planned // being judged
	next    []*planned // one link further
	known   map[string]*planned
	kept    map[string]string    // pages by hash of text or, without text, of content
	leads   int                  // pages read only for their links
	moved   []*planned           // that lead elsewhere: whatever has their content comes before them
	left    map[string]PlanEntry // addresses left out so far
	fetches sync.WaitGroup
	summary PlanSummary
}

// planned is an address on its way through the plan.
type planned struct {
	link   domain.Link
	from   string
	lead   int             // number of consecutive pages up to this one that match no include pattern; 0: it matches one
	done   chan planResult // of its fetch; holds one
	state  planState
	result planResult
	sketch []byte     // of its text
	wait   []*planned // that name this address as their own
}

type planState int

const (
	planAwaited planState = iota // nothing is known yet
	planMoved                    // it leads elsewhere, and is a page unless another turns out to have its content
	planWaits                    // until something is known of the address that it names as its own
	planAlive                    // it is a page
	planOut                      // it is none
)

// planResult is what a fetch brought, without the body.
type planResult struct {
	page    Page
	hash    string // of the text or, without text, of the content
	size    int64
	refused []refusedLink
	err     error
}

type refusedLink struct {
	address string
	why     scope.Refusal
}

// discover finds out what kind of site it is, and its first addresses.
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
		if r, err := p.crawler.robots.get(p.ctx, u); err == nil { // it has been asked already
			s.Delay = max(s.Delay, r.CrawlDelay)
		}
	}
	p.leaveOut(refused, 0, "")
	return nil
}

// add queues an address for the next level, once and within the limit. lead is that of the address; see planned.
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

// list tells of what the sitemaps list, without asking for it.
func (p *plan) list() error {
	for _, it := range p.next {
		p.summary.Addresses++
		if err := p.tell(PlanEntry{URL: it.link.URL, Decision: PlanListed, LastMod: it.link.LastMod}, ""); err != nil {
			return err
		}
	}
	return nil
}

// walk fetches and judges level by level.
func (p *plan) walk() error {
	for len(p.next) > 0 {
		p.level, p.next = p.next, nil
		slices.SortStableFunc(p.level, func(a, b *planned) int {
			if n := len(a.link.URL) - len(b.link.URL); n != 0 {
				return n
			}
			return strings.Compare(a.link.URL, b.link.URL)
		})
		started := 0
		for i := 0; i < len(p.level); i++ { // it may grow
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
	// What still waits names an address that was never fetched.
	for _, u := range slices.Sorted(maps.Keys(p.known)) {
		if it := p.known[u]; it.state == planWaits {
			if err := p.keep(it); err != nil {
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

// fetch gets a page, with the patience that a crawl has by putting it off.
func (p *plan) fetch(it *planned) planResult {
	patience := planPatience
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
		if patience -= max(pause, time.Millisecond); patience < 0 {
			return r
		}
		select {
		case <-time.After(pause):
		case <-p.ctx.Done():
			return planResult{err: p.ctx.Err()}
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

// errorKind is the short form of an error, for counting.
func errorKind(err error) string {
	var e *Error
	switch {
	case errors.Is(err, errForbidden):
		return "robots.txt does not allow it"
	case errors.Is(err, errSignIn):
		return "asks to sign in"
	case errors.As(err, &e) && e.StatusCode >= 400:
		return fmt.Sprintf("the server answered %d %s", e.StatusCode, http.StatusText(e.StatusCode))
	case errors.As(err, &e) && e.Permanent:
		return "cannot be read"
	default:
		return "could not be fetched"
	}
}
