package ingest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/originals"
)

// Web fetches pages and discovers sites. A *crawl.Error says whether a retry may help.
type Web interface {
	Fetch(ctx context.Context, req crawl.PageRequest) (crawl.Page, error)
	Discover(ctx context.Context, spec domain.CrawlSpec, emit func([]domain.Link) error) (crawl.Discovery, error)
}

// PageStore stores fetched pages. Put returns originals.ErrExists if an earlier attempt at the same job has already
// written the key.
type PageStore interface {
	Put(ctx context.Context, key string, r io.Reader, o originals.PutOptions) (domain.Original, error)
}

// Crawler handles crawl jobs. It stores each page as an original and reports a site as links to its pages.
type Crawler struct {
	Web       Web
	Originals PageStore
	Events    Events
	Measure   Measure
	Now       func() time.Time
	// MaxTries is the maximum number of fetch attempts if all errors are temporary. Default: 20, which takes about two
	// hours with backoff.
	MaxTries int
	// Access decrypts a workspace's headers for a protected site. It is nil if this process has no key.
	Access func(workspaceID string, a domain.SiteAccess) (*crawl.Access, error)
}

// Handle processes one job. Its error is marked by jobs.Permanent if a retry can't help. If the host failed or must not
// be contacted yet, Handle emits an event with the time of the next attempt and returns jobs.Rescheduled. The job then
// waits in the catalog, where it doesn't occupy a slot in the admission window.
func (c *Crawler) Handle(ctx context.Context, job domain.Job) error {
	report := reporter{events: c.Events, job: job, now: c.Now}
	if job.Crawl == nil {
		return jobs.Permanent(errors.New("the crawl job has no address; resync the datasource"))
	}
	stage, do := "fetching", c.page
	if job.Type == domain.TypeWebSite {
		stage, do = "discovering", c.site
	}
	// Don't report progress for a site's page: fetching it takes only a moment, and users see the whole site's
	// progress.
	if job.GroupID == "" {
		if err := report.progress(ctx, domain.EventRunning, stage, 0, 0); err != nil {
			return err
		}
	}
	ctx, err := c.withAccess(ctx, job)
	if err != nil {
		return err
	}
	return c.classify(ctx, do(ctx, job, report), job, report)
}

// withAccess returns a context that adds the headers stored for the job's site, if any, to the job's requests.
func (c *Crawler) withAccess(ctx context.Context, job domain.Job) (context.Context, error) {
	sealed := job.Crawl.Access
	if sealed == nil {
		return ctx, nil
	}
	if c.Access == nil {
		return nil, jobs.Permanent(errors.New("this crawler cannot decrypt the site's headers: set SLUICE_SECRET_KEY to the same value in every api and crawler process"))
	}
	access, err := c.Access(job.WorkspaceID, *sealed)
	if err != nil {
		return nil, jobs.Permanent(fmt.Errorf("cannot decrypt the site's headers: SLUICE_SECRET_KEY differs from the key that encrypted them; set that key, or send config.headers again: %w", err))
	}
	return crawl.WithAccess(ctx, access), nil
}

const (
	// maxStreamWait is the longest time a job waits for its host in the stream. Longer waits happen in the catalog.
	maxStreamWait = time.Second
	defaultTries  = 20
	// faultTries is the maximum number of attempts for a page that returns status 500. These attempts take about two
	// minutes. There are only a few because usually the page itself is broken, and the site's crawl can't finish before
	// the last attempt.
	faultTries = 8
	// The delay between attempts doubles from firstRetry to lastRetry.
	firstRetry, lastRetry = time.Second, 10 * time.Minute
	// minTries is the minimum number of attempts, even if the host asks for long waits. After minTries attempts, the
	// total time is limited to lastRetry times the maximum number of attempts. Otherwise, a host that always answers
	// "retry tomorrow" would keep its site's crawl from ever finishing.
	minTries = 3
)

// classify turns errors from package crawl into events and package jobs' errors.
func (c *Crawler) classify(ctx context.Context, err error, job domain.Job, report reporter) error {
	var e *crawl.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Gone() && job.Type == domain.TypeWebPage:
		ev := report.event(domain.EventGone)
		ev.Error = e.Message
		return report.emit(ctx, ev)
	case e.Permanent:
		return jobs.Permanent(err)
	case e.Deferred && e.RetryAfter < maxStreamWait:
		return jobs.Snooze(e.RetryAfter, err)
	case e.Deferred && e.Err == nil:
		return c.postpone(ctx, report, postponement{delay: e.RetryAfter, tries: job.Tries, since: job.Since, cause: e})
	// Either the page or its host has failed. In both cases, count an attempt. If only the page's own failures counted,
	// pages on a host that is down could take weeks to fail, because only a few pages are requested between two pauses
	// of the host.
	default:
		return c.retry(ctx, report, e, err)
	}
}

// retry postpones a failed fetch or gives up on it.
func (c *Crawler) retry(ctx context.Context, report reporter, e *crawl.Error, err error) error {
	job := report.job
	tries, limit, since, now := job.Tries+1, c.maxAttempts(e), job.Since, c.Now()
	if since.IsZero() {
		since = now
	}
	took := now.Sub(since)
	switch {
	case tries >= limit:
		return jobs.Permanent(fmt.Errorf("gave up after %d attempts; last error: %w", tries, err))
	case tries >= minTries && took >= time.Duration(limit)*lastRetry:
		return jobs.Permanent(fmt.Errorf("gave up after %d attempts in %s; last error: %w", tries, took.Round(time.Minute), err))
	}
	delay := min(firstRetry<<min(job.Tries, 10), lastRetry)
	return c.postpone(ctx, report, postponement{
		delay: max(delay, e.RetryAfter), tries: tries, since: since, attempt: fmt.Sprintf("Attempt %d of %d", tries, limit), cause: e,
	})
}

// maxAttempts returns the maximum number of attempts, which depends on the error.
func (c *Crawler) maxAttempts(e *crawl.Error) int {
	limit := cmp.Or(c.MaxTries, defaultTries)
	if e.StatusCode == http.StatusInternalServerError && !e.Deferred {
		limit = min(limit, faultTries)
	}
	return limit
}

// postponement says how long to delay a job's next attempt, and why.
type postponement struct {
	delay   time.Duration
	tries   int       // number of failed attempts
	since   time.Time // time of the first failed attempt; zero if none
	attempt string    // name of the attempt that just failed; "" if none
	cause   *crawl.Error
}

// postpone emits the event that postpones the job.
func (c *Crawler) postpone(ctx context.Context, report reporter, p postponement) error {
	ev := report.event(domain.EventPostponed)
	ev.Until, ev.Tries, ev.Since = ev.At.Add(p.delay), p.tries, p.since
	if p.attempt != "" {
		ev.Error = fmt.Sprintf("%s failed and will be retried at %s: %s", p.attempt, ev.Until.Format("2006-01-02 15:04:05 UTC"), p.cause.Message)
	}
	if err := report.emit(ctx, ev); err != nil {
		return err
	}
	return jobs.Rescheduled(p.cause)
}

// site emits the addresses of a site's pages in groups, one event per group. The last event also says whether the crawl
// must follow the pages' links. That is known only at the end of the discovery, so site holds each group back until the
// next one arrives or the discovery ends. If links must be followed, there is only one group, which contains only the
// root.
func (c *Crawler) site(ctx context.Context, job domain.Job, report reporter) error {
	var held []domain.Link
	emit := func(follow bool) error {
		if len(held) == 0 {
			return nil
		}
		ev := report.event(domain.EventDiscovered)
		ev.Links, ev.Follow = held, follow
		return report.emit(ctx, ev)
	}
	discovered := func(links []domain.Link) error {
		if err := emit(false); err != nil {
			return err
		}
		held = append([]domain.Link(nil), links...)
		return nil
	}
	found, err := measureStage(ctx, c.Measure, StageFetch, func(ctx context.Context) (crawl.Discovery, error) {
		return c.Web.Discover(ctx, *job.Crawl, discovered)
	})
	if err != nil {
		return err
	}
	if err := emit(found.Follow); err != nil {
		return err
	}
	ev := report.event(domain.EventSynched)
	ev.Warnings, ev.Complete, ev.LeftOut = found.Problems, found.Complete, found.LeftOut()
	return report.emit(ctx, ev)
}

// leftOut converts the counts of refused addresses to the event format.
func leftOut(refused map[scope.Refusal]int) map[string]int {
	if len(refused) == 0 {
		return nil
	}
	out := make(map[string]int, len(refused))
	for why, n := range refused {
		out[string(why)] = n
	}
	return out
}

func (c *Crawler) page(ctx context.Context, job domain.Job, report reporter) (err error) {
	spec := job.Crawl
	req := crawl.PageRequest{
		URL: spec.URL, ETag: spec.ETag, LastModified: spec.LastModified, Depth: spec.Depth,
		Scope: linkScope(spec), WantLinks: spec.Site != nil && spec.Site.Follow, PastPatterns: true,
	}
	// An excluded page is still requested if it was found before the settings changed or is read only for its links.
	refused := ""
	if spec.Site != nil {
		if refused = spec.Site.Refuses(spec.Site.Patterns(), spec.URL, spec.Depth); refused != "" && !spec.Site.ReadsLinksOnly(refused, spec.URL) {
			return report.skip(ctx, spec.Site.LeftOutReason(refused, spec.URL))
		}
	}
	if refused != "" {
		req.ETag, req.LastModified = "", "" // an unchanged page would return no links
	}
	page, err := measureStage(ctx, c.Measure, StageFetch, func(ctx context.Context) (crawl.Page, error) { return c.Web.Fetch(ctx, req) })
	if e, ok := errors.AsType[*crawl.Error](err); ok && errors.Is(err, crawl.ErrNoText) && job.GroupID != "" && !isRoot(spec) {
		// The address looked like a page but leads to a file without text, which the site doesn't need.
		return report.skip(ctx, e.Message)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.Close()) }()
	if page.NotModified {
		return report.emit(ctx, report.event(domain.EventUnchanged))
	}
	if page.IsSitemap {
		if job.GroupID == "" {
			return report.emit(ctx, report.event(domain.EventSitemap))
		}
		return report.skip(ctx, page.URL+" is a sitemap or a feed, not a page.")
	}
	// Report the links before the page: once the page is reported as fetched, its job is done, and the site may count
	// as complete. A noindex page may still link to other pages. For a nofollow page, page.Links is empty.
	if err := reportLinks(ctx, report, page, req.WantLinks); err != nil {
		return err
	}
	if refused != "" {
		return report.skip(ctx, spec.Site.LeftOutReason(refused, spec.URL))
	}
	if page.NoIndex {
		return report.skip(ctx, page.URL+" is marked noindex.")
	}
	original, err := c.storePage(ctx, job, page)
	if err != nil {
		return err
	}
	ev := report.event(domain.EventFetched)
	ev.Fetched = &domain.Fetched{
		Original: original, URL: page.URL, Title: page.Title, ETag: page.ETag, LastModified: page.LastModified,
		Redirects: page.Redirects, Canonical: page.Canonical, Rendered: page.Rendered,
		TextHash: page.TextHash, Sketch: page.Sketch, LinksKnown: req.WantLinks,
	}
	return report.emit(ctx, ev)
}

// isRoot reports whether the job is for the root of its site. If the root cannot be fetched, the whole site fails.
func isRoot(spec *domain.CrawlSpec) bool {
	return spec.Site != nil && domain.SameAddress(spec.URL, spec.Site.Root)
}

// linkScope returns the scope for a page's links. It allows one level more than MaxDepth, because only the catalog
// knows whether there is a shorter path to the linked page.
func linkScope(spec *domain.CrawlSpec) *domain.SiteScope {
	if spec.Site == nil || !spec.Site.Follow || spec.Depth < spec.Site.MaxDepth {
		return spec.Site
	}
	site := *spec.Site
	site.MaxDepth = spec.Depth + 1
	return &site
}

// reportLinks reports a page's links. If `stored` is true, the catalog stores the page's links, so even an empty list
// is reported.
func reportLinks(ctx context.Context, report reporter, page crawl.Page, stored bool) error {
	refused := leftOut(page.Refused)
	parts := (len(page.Links) + domain.MaxLinksPerEvent - 1) / domain.MaxLinksPerEvent
	if parts == 0 && (stored || len(refused) > 0) { // refused links are reported even without other links
		parts = 1
	}
	links := page.Links
	for part := range parts {
		n := min(len(links), domain.MaxLinksPerEvent)
		ev := report.event(domain.EventDiscovered)
		ev.Links, ev.LeftOut = links[:n], refused
		if stored {
			ev.Part, ev.Parts = part, parts
		}
		if err := report.emit(ctx, ev); err != nil {
			return err
		}
		links, refused = links[n:], nil
	}
	return nil
}

// storePage stores the page under a key derived from the job's generation and the content.
func (c *Crawler) storePage(ctx context.Context, job domain.Job, page crawl.Page) (domain.Original, error) {
	digest := sha256.New()
	size, err := io.Copy(digest, page.Body)
	if err != nil {
		return domain.Original{}, fmt.Errorf("reading the page: %w", err)
	}
	if size == 0 {
		return domain.Original{}, jobs.Permanent(fmt.Errorf("%s is empty", page.URL))
	}
	if _, err := page.Body.Seek(0, io.SeekStart); err != nil {
		return domain.Original{}, fmt.Errorf("rewinding the page: %w", err)
	}
	sum := hex.EncodeToString(digest.Sum(nil))
	key := originals.PageKey(job.DatasourceID, job.Generation, sum)
	original, err := c.Originals.Put(ctx, key, page.Body, originals.PutOptions{
		MaxBytes: size, MIMEType: page.MIMEType, Name: page.URL,
	})
	if errors.Is(err, originals.ErrExists) {
		return domain.Original{Key: key, SHA256: sum, Size: size, MIMEType: page.MIMEType, Name: page.URL}, nil
	}
	if err != nil {
		return domain.Original{}, fmt.Errorf("storing the page: %w", err)
	}
	return original, nil
}
