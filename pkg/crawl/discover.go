package crawl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/url"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/crawl/sitemap"
	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/domain"
)

// Discovery is the result of Discover.
type Discovery struct {
	// Complete means that all sitemaps were read to the end and none of them is a feed, since feeds list only new
	// pages. If it is true, a known page that no sitemap lists no longer belongs to the site.
	Complete bool
	// Follow means that the site has no sitemap: only the root was emitted, and links must be followed from there.
	Follow bool
	// Scope defines which addresses belong to the site. Crawl jobs for the site's pages need it.
	Scope domain.SiteScope
	// Moved is the site's new address, or "". A site has moved if its root redirects outside the site and the sitemaps
	// list pages there.
	Moved string
	// Found is the number of emitted links, and Sitemaps is the number of sitemap files read.
	Found    int
	Sitemaps int
	// Refused counts the rejected addresses by reason.
	Refused map[scope.Refusal]int
	// Problems describes, for display, any sitemaps that couldn't be read when at least one other could. If there are
	// any, pages missing from the results may still exist.
	Problems []string
}

// LeftOut returns Refused with string keys, for events.
func (d Discovery) LeftOut() map[string]int {
	out := make(map[string]int, len(d.Refused))
	for why, n := range d.Refused {
		out[string(why)] = n
	}
	return out
}

// Summary describes the discovery in one sentence for display.
func (d Discovery) Summary() string {
	if d.Follow {
		return "no sitemap was found; pages are found by following links from the root"
	}
	parts := []string{fmt.Sprintf("%d pages from %d sitemap files", d.Found, d.Sitemaps)}
	reasons := make([]string, 0, len(d.Refused))
	for why, n := range d.Refused {
		reasons = append(reasons, fmt.Sprintf("%d addresses skipped: %s", n, why))
	}
	slices.Sort(reasons)
	return strings.Join(append(append(parts, reasons...), d.Problems...), "; ")
}

// usualSitemaps are common locations of sitemaps, for sites without a Sitemap line in robots.txt.
var usualSitemaps = []string{
	"sitemap.xml", "sitemap_index.xml", "sitemap-index.xml", "wp-sitemap.xml", "sitemap.xml.gz", "sitemap.txt",
}

// Discover finds a site's pages and passes each one to `emit` once, in groups of at most domain.MaxLinksPerEvent. It
// reads spec.Sitemap if set, and otherwise the sitemaps listed in robots.txt or found in the usual locations. If it
// finds no sitemap, it emits only the root and sets Discovery.Follow: the pages' links must then be followed.
//
// A sitemap that is unavailable or lists no pages is an error, never an empty site. Errors have the type *Error or come
// from emit or ctx. Repeating the call emits the same pages.
func (c *Crawler) Discover(ctx context.Context, spec domain.CrawlSpec, emit func([]domain.Link) error) (Discovery, error) {
	return c.discover(ctx, spec, emit, nil)
}

// discover implements Discover. If `refused` is not nil, discover calls it with each rejected address and the reason.
func (c *Crawler) discover(ctx context.Context, spec domain.CrawlSpec, emit func([]domain.Link) error, refused func(string, scope.Refusal)) (Discovery, error) {
	ctx, done, err := c.begin(ctx)
	if err != nil {
		return Discovery{}, err
	}
	defer done()
	s, derived, err := siteScope(spec)
	if err != nil {
		return Discovery{}, err
	}
	sc, err := scope.New(s)
	if err != nil {
		return Discovery{}, permanent(s.Root, "%s", err).withCause(err)
	}
	sc.Listed = true
	d := &discovery{
		crawler: c, scope: sc, emit: emit, refused: refused, seed: maphash.MakeSeed(), seen: make(map[uint64]struct{}),
		visited: make(map[string]bool), budget: sitemap.NewBudget(c.opts.Sitemaps, c.opts.Now), result: Discovery{Scope: s, Refused: make(map[scope.Refusal]int)},
	}
	if spec.Sitemap != "" {
		err = d.readGiven(ctx, spec.Sitemap, derived)
	} else {
		err = d.search(ctx)
	}
	if err == nil {
		err = d.flush()
	}
	r := &d.result
	r.Complete = err == nil && !r.Follow && r.Found > 0 && len(r.Problems) == 0 && r.Refused[scope.RefusedPageLimit] == 0 && !d.feed
	return d.result, err
}

// siteScope returns the scope of the job's site. If the job does not specify a root, siteScope derives it from the
// sitemap's location, and `derived` is true.
func siteScope(spec domain.CrawlSpec) (s domain.SiteScope, derived bool, err error) {
	if spec.Site != nil {
		s = *spec.Site
	}
	if s.MaxDepth <= 0 {
		s.MaxDepth = domain.DefaultMaxDepth
	}
	s.Root = cmp.Or(s.Root, spec.URL)
	// If the user configured only a sitemap, the scope has no root, or its root is the sitemap's address.
	derived = spec.Sitemap != "" && spec.URL == "" && (s.Root == "" || s.Root == spec.Sitemap)
	switch {
	case derived:
		u, err := weburl.Parse(spec.Sitemap)
		if err != nil {
			return s, derived, permanent(spec.Sitemap, "the sitemap %q is not a web address", spec.Sitemap)
		}
		s.Root = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}).String()
	case s.Root == "":
		return s, derived, permanent("", "the site has neither a sitemap nor a root address")
	}
	return s, derived, nil
}

// discovery is one run of Discover.
type discovery struct {
	crawler *Crawler
	scope   *scope.Scope
	emit    func([]domain.Link) error
	refused func(address string, why scope.Refusal) // may be nil
	result  Discovery

	seed    maphash.Seed
	seen    map[uint64]struct{} // hashes of emitted addresses, 8 bytes each
	visited map[string]bool     // requested sitemaps
	budget  *sitemap.Budget
	feed    bool // at least one sitemap is a feed
	listed  bool // the current sitemap was listed among pages
	misses  int  // entries that looked like sitemaps but were not
	batch   []domain.Link
}

// errPageLimit stops reading sitemaps once the page limit is reached.
var errPageLimit = errors.New("enough pages")

// readGiven reads the sitemap specified by the caller.
func (d *discovery) readGiven(ctx context.Context, at string, derived bool) error {
	d.result.Scope.Follow = false
	err := ignoreLimitReached(d.read(ctx, at, 1, derived))
	if err == nil && d.result.Found == 0 {
		var moved *url.URL
		if moved, err = d.followMovedRoot(ctx); moved != nil {
			err = ignoreLimitReached(d.read(ctx, at, 1, false))
		}
	}
	switch {
	case errors.Is(err, errPageLimit):
		return nil
	case errors.Is(err, sitemap.ErrNotSitemap):
		return permanent(at, "%s is not a sitemap: it contains no sitemap XML, feed or list of addresses", at).withCause(err)
	case err != nil:
		return err
	case d.result.Found > 0:
		return nil
	case len(d.result.Problems) > 0:
		return permanent(at, "no pages were found through %s: %s", at, strings.Join(d.result.Problems, "; "))
	case len(d.result.Refused) > 0:
		return permanent(at, "%s lists no pages on the site %s: %s", at, d.result.Scope.Root, d.result.Summary())
	}
	return permanent(at, "the sitemap %s is empty", at)
}

// search reads the site's sitemaps. If there are none, it emits the root and sets Discovery.Follow.
func (d *discovery) search(ctx context.Context) error {
	root := d.scope.Root
	err := ignoreLimitReached(d.sitemapsOf(ctx, root))
	if err == nil && d.result.Found == 0 {
		var moved *url.URL
		if moved, err = d.followMovedRoot(ctx); moved != nil {
			err = ignoreLimitReached(d.sitemapsOf(ctx, moved))
		}
	}
	if err == nil && d.result.Found > 0 {
		// The root belongs to the site even if the sitemap does not list it, because the user asked for it.
		err = d.entry(ctx, weburl.NewBase(root.String()), sitemap.Entry{Loc: root.String()})
	}
	if err != nil {
		return ignorePageLimit(err)
	}
	if d.result.Found > 0 {
		return nil
	}
	d.result.Follow, d.result.Scope.Follow = true, true
	at, err := weburl.Normalise(root.String())
	if err != nil {
		return permanent(root.String(), "the root address %s is not a web address", root).withCause(err)
	}
	return d.add(domain.Link{URL: at})
}

// sitemapsOf reads the sitemaps listed in a host's robots.txt or, if there are none, the first one in the usual
// locations.
func (d *discovery) sitemapsOf(ctx context.Context, root *url.URL) error {
	if err := checkURL(d.crawler.guard, root); err != nil {
		return err
	}
	r, err := d.crawler.robots.get(ctx, root)
	if err != nil {
		return classify(ctx, root.String(), err)
	}
	for _, at := range r.Sitemaps {
		u, err := weburl.Resolve(root.String(), at)
		if err != nil {
			continue
		}
		if err := d.readOptional(ctx, u.String(), true); err != nil {
			return err
		}
	}
	for _, at := range d.usualLocations(root) {
		if d.result.Found > 0 {
			return nil
		}
		if err := d.readOptional(ctx, at, false); err != nil {
			return err
		}
	}
	return nil
}

// followMovedRoot returns the site root's new address, or nil if the site has not moved. The site has moved if its root
// redirects elsewhere and its sitemaps list only pages there. In that case, followMovedRoot adds the new address to the
// scope and resets the results, so that the caller can read the sitemaps again.
func (d *discovery) followMovedRoot(ctx context.Context) (*url.URL, error) {
	if d.result.Refused[scope.RefusedHost]+d.result.Refused[scope.RefusedPath] == 0 {
		return nil, nil
	}
	root := d.scope.Root.String()
	a, err := d.crawler.retrieve(withInProgress(ctx), retrieval{url: root, limit: d.crawler.opts.MaxBody, anyType: true})
	var e *Error
	switch {
	case errors.As(err, &e) && e.Permanent:
		d.crawler.opts.Log.DebugContext(ctx, "fetching the root to find redirects of the site failed", "url", root, "reason", e.Message)
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := a.body.Close(); err != nil {
		return nil, fmt.Errorf("releasing the body of %s: %w", root, err)
	}
	if d.scope.HasHost(a.url) && d.scope.InPath(a.url) {
		return nil, nil
	}
	d.scope.Add(a.url)
	d.result.Moved = a.url.String()
	d.result.Sitemaps, d.result.Problems = 0, nil
	clear(d.result.Refused)
	clear(d.visited)
	return a.url, nil
}

// usualLocations returns the usual sitemap locations, starting with the root's own directory.
func (d *discovery) usualLocations(root *url.URL) []string {
	dirs := []string{"/"}
	if dir := strings.TrimSuffix(scope.PathPrefix(root.EscapedPath()), "/") + "/"; dir != "/" {
		dirs = []string{dir, "/"}
	}
	var out []string
	for _, dir := range dirs {
		for _, name := range usualSitemaps {
			out = append(out, root.Scheme+"://"+root.Host+dir+name)
		}
	}
	return out
}

// readOptional reads a sitemap that may not exist. It returns only temporary errors. Permanent errors are reported as
// problems if `declared` is true, which means that robots.txt lists the sitemap, and are ignored otherwise.
func (d *discovery) readOptional(ctx context.Context, at string, declared bool) error {
	err := d.read(ctx, at, 1, false)
	var e *Error
	switch {
	case errors.Is(err, sitemap.ErrNotSitemap):
		if declared {
			d.problem("%s, named in robots.txt, is not a sitemap", at)
		}
		return nil
	case errors.As(err, &e) && e.Permanent:
		d.crawler.opts.Log.DebugContext(ctx, "no sitemap", "url", at, "reason", e.Message)
		if declared {
			d.problem("%s", e.Message)
		}
		return nil
	}
	return err
}

func ignorePageLimit(err error) error {
	if errors.Is(err, errPageLimit) {
		return nil
	}
	return err
}

// ignoreLimitReached turns errLimitReached into nil, because the entries found before the limit can still be used.
func ignoreLimitReached(err error) error {
	if errors.Is(err, errLimitReached) {
		return nil
	}
	return err
}
