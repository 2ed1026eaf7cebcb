package crawl

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/url"
	"slices"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"

	"github.com/sluice/sluice/pkg/domain"
)

const (
	maxSitemapNesting = 3
	maxSitemapFiles   = 1_000
	maxProblems       = 20
)

// Discovery is what a site's discovery found.
type Discovery struct {
	// Follow says that there is no sitemap: the root was emitted, and the links of pages are to be followed.
	Follow bool
	// Scope is what belongs to the site, for its pages' own crawl jobs.
	Scope domain.SiteScope
	// Found is the number of emitted links, Sitemaps of sitemap files read.
	Found    int
	Sitemaps int
	// Refused counts the addresses that were not taken, by reason.
	Refused map[Refusal]int
	// Problems are sitemaps that could not be read while others could, in words for people. With any, the list of
	// pages is not complete, and pages missing from it may still exist.
	Problems []string
}

// Summary is the discovery in one sentence for people.
func (d Discovery) Summary() string {
	if d.Follow {
		return "no sitemap was found; the pages are found by following links from the root"
	}
	parts := []string{fmt.Sprintf("%d pages from %d sitemap files", d.Found, d.Sitemaps)}
	reasons := make([]string, 0, len(d.Refused))
	for why, n := range d.Refused {
		reasons = append(reasons, fmt.Sprintf("%d addresses left out: %s", n, why))
	}
	slices.Sort(reasons)
	return strings.Join(append(append(parts, reasons...), d.Problems...), "; ")
}

// usualSitemaps are where sites without a Sitemap line in robots.txt have one.
var usualSitemaps = []string{
	"sitemap.xml", "sitemap_index.xml", "sitemap-index.xml", "wp-sitemap.xml", "sitemap.xml.gz", "sitemap.txt",
}

// Discover finds the pages of a site and hands them to emit in groups of at most domain.MaxLinksPerEvent, each page
// once. With spec.Sitemap it reads that; else it looks for sitemaps in robots.txt and the usual places, and where
// there is none, emits the root alone, whose links are then to be followed (Discovery.Follow).
//
// A sitemap that cannot be had is an error and never an empty site. Errors are *Error, or emit's own, or ctx's.
// Doing it again emits the same pages.
func (c *Crawler) Discover(ctx context.Context, spec domain.CrawlSpec, emit func([]domain.Link) error) (Discovery, error) {
	ctx, done, err := c.begin(ctx)
	if err != nil {
		return Discovery{}, err
	}
	defer done()
	s, err := siteScope(spec)
	if err != nil {
		return Discovery{}, err
	}
	sc, err := newScope(s)
	if err != nil {
		return Discovery{}, err
	}
	d := &discovery{
		crawler: c, scope: sc, emit: emit, seed: maphash.MakeSeed(), seen: make(map[uint64]struct{}),
		visited: make(map[string]bool), result: Discovery{Scope: s, Refused: make(map[Refusal]int)},
	}
	if spec.Sitemap != "" {
		err = d.given(ctx, spec)
	} else {
		err = d.search(ctx)
	}
	if err == nil {
		err = d.flush()
	}
	return d.result, err
}

// siteScope completes what the job says about the site.
func siteScope(spec domain.CrawlSpec) (domain.SiteScope, error) {
	var s domain.SiteScope
	if spec.Site != nil {
		s = *spec.Site
	}
	if s.Root == "" {
		s.Root = spec.URL
	}
	if s.Root == "" && spec.Sitemap != "" {
		u, err := parseRef("", spec.Sitemap)
		if err != nil {
			return s, permanent(spec.Sitemap, "the sitemap %q is not a web address", spec.Sitemap)
		}
		s.Root = (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/"}).String()
	}
	if s.Root == "" {
		return s, permanent("", "the site has neither a sitemap nor a root address")
	}
	if s.MaxDepth <= 0 {
		s.MaxDepth = DefaultMaxDepth
	}
	return s, nil
}

// discovery is one run of Discover.
type discovery struct {
	crawler *Crawler
	scope   *scope
	emit    func([]domain.Link) error
	result  Discovery

	seed    maphash.Seed
	seen    map[uint64]struct{} // hashes of emitted addresses: 8 bytes each, whatever their length
	visited map[string]bool     // sitemaps
	batch   []domain.Link
}

// errEnough ends the reading when the limit of pages is reached.
var errEnough = errors.New("enough pages")

// given reads the sitemap that the caller named.
func (d *discovery) given(ctx context.Context, spec domain.CrawlSpec) error {
	d.result.Scope.Follow = false
	// Without a root the site is wherever the sitemap turns out to be.
	derived := spec.URL == "" && (spec.Site == nil || spec.Site.Root == "")
	err := d.read(ctx, spec.Sitemap, 1, derived)
	switch {
	case errors.Is(err, errEnough):
		return nil
	case errors.Is(err, errNotSitemap):
		return permanent(spec.Sitemap, "%s is not a sitemap: neither XML of a known kind nor a list of addresses", spec.Sitemap).because(err)
	case err != nil:
		return err
	}
	if d.result.Found > 0 {
		return nil
	}
	if len(d.result.Problems) > 0 {
		return permanent(spec.Sitemap, "%s leads to no page: %s", spec.Sitemap, strings.Join(d.result.Problems, "; "))
	}
	if len(d.result.Refused) > 0 {
		return permanent(spec.Sitemap, "%s lists no page of the site %s: %s", spec.Sitemap, d.result.Scope.Root, d.result.Summary())
	}
	return nil
}

// search looks for sitemaps, and falls back to following links.
func (d *discovery) search(ctx context.Context) error {
	root := d.scope.root
	if err := d.crawler.guard.checkURL(root); err != nil {
		return err
	}
	r, err := d.crawler.robots.get(ctx, root)
	if err != nil {
		return classify(ctx, root.String(), err)
	}
	for _, at := range r.sitemaps {
		if u, err := parseRef(root.String(), at); err == nil {
			if err := d.try(ctx, u.String(), true); err != nil {
				return ignoreEnough(err)
			}
		}
	}
	if d.result.Found == 0 {
		for _, at := range d.usual() {
			if err := d.try(ctx, at, false); err != nil {
				return ignoreEnough(err)
			}
			if d.result.Found > 0 {
				break
			}
		}
	}
	if d.result.Found > 0 {
		// The root belongs to the site whether its sitemap lists it or not: it is what was asked for.
		return ignoreEnough(d.entry(ctx, readBase(root.String()), root.String()))
	}
	d.result.Follow, d.result.Scope.Follow = true, true
	at, err := Normalise(root.String())
	if err != nil {
		return permanent(root.String(), "the root address %s is not a web address", root).because(err)
	}
	return d.add(at)
}

// usual are the places to look at: in the root's own directory first, then at the top.
func (d *discovery) usual() []string {
	dirs := []string{"/"}
	if dir := strings.TrimSuffix(d.scope.prefixes[0], "/") + "/"; dir != "/" {
		dirs = []string{dir, "/"}
	}
	var out []string
	for _, dir := range dirs {
		for _, name := range usualSitemaps {
			out = append(out, d.scope.root.Scheme+"://"+d.scope.root.Host+dir+name)
		}
	}
	return out
}

// try reads a sitemap that may not exist. Only failures that another try could mend are errors; a declared sitemap
// that does not exist is a problem worth telling.
func (d *discovery) try(ctx context.Context, at string, declared bool) error {
	err := d.read(ctx, at, 1, false)
	var e *Error
	switch {
	case errors.Is(err, errNotSitemap):
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

func ignoreEnough(err error) error {
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// read takes the entries of one sitemap, and of those that it lists. Errors of the file itself are returned;
// permanent ones of nested files are problems.
func (d *discovery) read(ctx context.Context, at string, level int, admit bool) error {
	key, err := Normalise(at)
	if err != nil {
		return permanent(at, "the sitemap %.200q is not a web address", at).because(err)
	}
	if d.visited[key] {
		return nil
	}
	d.visited[key] = true
	a, err := d.crawler.retrieve(ctx, retrieval{url: at, limit: d.crawler.opts.MaxSitemapBytes, anyType: true})
	if err != nil {
		return err
	}
	defer a.body.Close()
	if admit {
		d.scope.admit(a.url)
	}
	base := a.url.String()
	onto := readBase(base)
	var nested []string
	err = readSitemap(a.body, d.crawler.opts.MaxSitemapBytes, func(e sitemapEntry) error {
		if !e.sitemap {
			return d.entry(ctx, onto, e.loc)
		}
		if len(nested) < maxSitemapFiles {
			nested = append(nested, e.loc)
		}
		return context.Cause(ctx)
	})
	switch {
	case err == nil:
	case errors.Is(err, errNotSitemap), errors.Is(err, errEnough), ctx.Err() != nil:
		return err
	case errors.Is(err, errTooManyEntries):
		d.problem("%s has more than %d entries; the others were left out", base, maxSitemapEntries)
	default:
		var mine *emitError
		if errors.As(err, &mine) {
			return err
		}
		if level == 1 && d.result.Found == 0 {
			return permanent(base, "%s is broken: %v", base, err).because(err)
		}
		d.problem("%s is broken: %v", base, err)
	}
	d.result.Sitemaps++
	return d.readNested(ctx, a.url, nested, level+1)
}

// readNested reads the sitemaps that an index lists, as far as they are on its own host or the site's.
func (d *discovery) readNested(ctx context.Context, index *url.URL, nested []string, level int) error {
	for _, loc := range nested {
		u, err := parseRef(index.String(), loc)
		if err != nil {
			d.result.Refused[RefusedNoURL]++
			continue
		}
		if bareHost(u) != bareHost(index) && !d.scope.hosts[bareHost(u)] {
			d.result.Refused[RefusedHost]++
			continue
		}
		if level > maxSitemapNesting || len(d.visited) >= maxSitemapFiles {
			d.problem("%s was not read: sitemaps are nested more than %d deep or are more than %d", u, maxSitemapNesting, maxSitemapFiles)
			return nil
		}
		err = d.read(ctx, u.String(), level, false)
		var e *Error
		switch {
		case errors.Is(err, errNotSitemap):
			d.problem("%s is not a sitemap", u)
		case errors.As(err, &e) && e.Permanent:
			d.problem("%s", e.Message)
		case err != nil:
			return err
		}
	}
	return nil
}

// entry takes one page address of a sitemap.
func (d *discovery) entry(ctx context.Context, base *whatwg.Url, loc string) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("reading the sitemap %s: %w", base, err)
	}
	u, why := d.scope.take(base, loc, 0)
	if why != "" {
		d.result.Refused[why]++
		return nil
	}
	return d.add(u)
}

func (d *discovery) add(u string) error {
	h := maphash.String(d.seed, u)
	if _, dup := d.seen[h]; dup {
		return nil
	}
	if d.result.Found >= d.crawler.opts.MaxPages {
		d.result.Refused[RefusedPageLimit]++
		return errEnough
	}
	d.seen[h] = struct{}{}
	d.result.Found++
	d.batch = append(d.batch, domain.Link{URL: u})
	if len(d.batch) < domain.MaxLinksPerEvent {
		return nil
	}
	return d.flush()
}

// emitError tells the caller's failure from one of the sitemap.
type emitError struct{ err error }

func (e *emitError) Error() string { return "handing on links: " + e.err.Error() }
func (e *emitError) Unwrap() error { return e.err }

func (d *discovery) flush() error {
	if len(d.batch) == 0 {
		return nil
	}
	batch := d.batch
	d.batch = nil // emit may keep what it is given
	if err := d.emit(batch); err != nil {
		return &emitError{err}
	}
	return nil
}

func (d *discovery) problem(format string, args ...any) {
	if len(d.result.Problems) < maxProblems {
		d.result.Problems = append(d.result.Problems, fmt.Sprintf(format, args...))
	}
}
