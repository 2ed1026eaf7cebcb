package crawl

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/url"
	"path"
	"strings"

	"github.com/sluice/sluice/pkg/crawl/scope"
	"github.com/sluice/sluice/pkg/crawl/sitemap"
	"github.com/sluice/sluice/pkg/crawl/weburl"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lazyregexp"
)

const (
	maxSitemapNesting = 3
	maxProblems       = 20
)

// errTooManySitemaps means that an index lists more sitemaps than the crawler reads per site.
var errTooManySitemaps = errors.New("too many sitemaps for one site")

// read reads a sitemap and any sitemaps it lists. If the sitemap itself can't be read, read returns an error. If a
// sitemap that it lists fails permanently, read only reports a problem. If `admit` is true, addresses below the
// sitemap's directory become part of the site; see scope.Scope.Add.
func (d *discovery) read(ctx context.Context, at string, level int, admit bool) error {
	key, err := weburl.Normalise(at)
	if err != nil {
		return permanent(at, "the sitemap %.200q is not a web address", at).withCause(err)
	}
	if d.visited[key] {
		return nil
	}
	d.visited[key] = true
	if limit := d.budget.File(); limit != "" {
		return d.limitReached(limit)
	}
	a, err := d.crawler.retrieve(withInProgress(ctx), retrieval{url: at, limit: d.crawler.opts.MaxSitemapBytes, anyType: true})
	if err != nil {
		return err
	}
	defer a.body.Close()
	if admit {
		d.scope.Add(a.url)
	}
	base := a.url.String()
	onto := weburl.NewBase(base)
	var (
		nested []string
		maybe  []sitemap.Entry
	)
	limit := d.budget.Limits.Files
	err = sitemap.Read(a.body, d.crawler.opts.MaxSitemapBytes, d.budget, func(e sitemap.Entry) error {
		if limit := d.budget.Entry(); limit != "" {
			return d.limitReached(limit)
		}
		if e.Feed && d.listed {
			return sitemap.ErrNotSitemap // a feed among pages
		}
		d.feed = d.feed || e.Feed
		switch {
		case !e.Sitemap && d.looksLikeSitemap(e, len(maybe)):
			maybe = append(maybe, e)
		case !e.Sitemap:
			return d.entry(ctx, onto, e)
		case len(nested) < limit:
			nested = append(nested, e.Loc)
		default:
			return errTooManySitemaps
		}
		return context.Cause(ctx)
	})
	switch {
	case err == nil:
	case errors.Is(err, sitemap.ErrNotSitemap), errors.Is(err, errPageLimit), errors.Is(err, errLimitReached), ctx.Err() != nil:
		return err
	case errors.Is(err, sitemap.ErrTextSpent):
		return d.limitReached(d.budget.TextSpent())
	case errors.Is(err, errTooManySitemaps):
		d.problem("%s lists more than %d sitemaps; the rest were skipped", base, limit)
	case errors.Is(err, sitemap.ErrTooManyEntries):
		d.problem("%s has more than %d entries; the rest were skipped", base, sitemap.MaxEntries)
	default:
		if _, ok := errors.AsType[*emitError](err); ok {
			return err
		}
		if level == 1 && d.result.Found == 0 {
			return permanent(base, "%s is damaged: %v", base, err).withCause(err)
		}
		d.problem("%s is damaged: %v", base, err)
	}
	d.result.Sitemaps++
	if err := d.readNested(ctx, a.url, nested, level+1); err != nil {
		return err
	}
	return d.readListed(ctx, a.url, maybe, level+1)
}

// Some sites list sitemaps as if they were pages. Up to maxMaybe such entries are tried as sitemaps. After maxMisses
// wrong guesses, all other entries count as pages.
const (
	maxMaybe  = 100
	maxMisses = 3
)

// looksLikeSitemap reports whether an entry in a list of pages looks like another sitemap. `already` is the number of
// earlier entries in the list that looked like one.
func (d *discovery) looksLikeSitemap(e sitemap.Entry, already int) bool {
	if e.Feed || e.Alternate || already >= maxMaybe || d.misses >= maxMisses {
		return false
	}
	at, _, _ := strings.Cut(strings.ToLower(e.Loc), "?")
	at, packed := strings.CutSuffix(at, ".gz")
	if feedName().MatchString(path.Base(at)) {
		return false
	}
	switch ext := path.Ext(at); ext {
	case ".xml":
		return true
	case ".txt":
		return packed || strings.Contains(path.Base(at), "sitemap")
	case ".html", ".htm":
		return false // a site map page for readers
	default:
		return ext != "" && strings.Contains(path.Base(at), "sitemap")
	}
}

// feedName matches names of feeds, which list only new pages.
var feedName = lazyregexp.New(`feed|rss|atom`)

// readListed tries entries from a list of pages as sitemaps. Those that aren't sitemaps become pages.
func (d *discovery) readListed(ctx context.Context, list *url.URL, maybe []sitemap.Entry, level int) error {
	onto := weburl.NewBase(list.String())
	for _, e := range maybe {
		is, err := d.isListedSitemap(ctx, list, e, level)
		if err != nil {
			return err
		}
		if !is {
			if err := d.entry(ctx, onto, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// isListedSitemap reads the entry and reports whether it is one of the site's sitemaps. An entry that permanently fails
// to load counts as a page, so that its crawl job reports the cause.
func (d *discovery) isListedSitemap(ctx context.Context, list *url.URL, e sitemap.Entry, level int) (bool, error) {
	u, err := weburl.Resolve(list.String(), e.Loc)
	if err != nil || d.misses >= maxMisses || level > maxSitemapNesting ||
		domain.BareHost(u) != domain.BareHost(list) && !d.scope.HasHost(u) {
		return false, nil //nolint:nilerr // entry counts it as refused
	}
	was := d.listed
	d.listed = true
	err = d.read(ctx, u.String(), level, false)
	d.listed = was
	if own, ok := errors.AsType[*Error](err); errors.Is(err, sitemap.ErrNotSitemap) || ok && own.Permanent {
		d.misses++
		return false, nil
	}
	return err == nil, err
}

// readNested reads the sitemaps that an index lists. It ignores those that are neither on the index's host nor on one
// of the site's hosts.
func (d *discovery) readNested(ctx context.Context, index *url.URL, nested []string, level int) error {
	for _, loc := range nested {
		u, err := weburl.Resolve(index.String(), loc)
		if err != nil {
			d.result.Refused[scope.RefusedNoURL]++
			continue
		}
		if domain.BareHost(u) != domain.BareHost(index) && !d.scope.HasHost(u) {
			d.result.Refused[scope.RefusedHost]++
			continue
		}
		if level > maxSitemapNesting {
			d.problem("%s was skipped: sitemaps are nested more than %d levels deep", u, maxSitemapNesting)
			return nil
		}
		err = d.read(ctx, u.String(), level, false)
		var e *Error
		switch {
		case errors.Is(err, sitemap.ErrNotSitemap):
			d.problem("%s is not a sitemap", u)
		case errors.As(err, &e) && e.Permanent:
			d.problem("%s", e.Message)
		case err != nil:
			return err
		}
	}
	return nil
}

// entry processes one page address from a sitemap.
func (d *discovery) entry(ctx context.Context, base *weburl.Base, e sitemap.Entry) error {
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("reading a sitemap: %w", err)
	}
	u, why := d.scope.Resolve(base, e.Loc, 0)
	if why != "" && e.Alternate {
		return nil // not counted here, because each translation also has an entry of its own
	}
	if why != "" {
		d.result.Refused[why]++
		if d.refused != nil {
			d.refused(scope.Resolved(base, e.Loc), why)
		}
		return nil
	}
	return d.add(domain.Link{URL: u, LastMod: e.LastMod})
}

func (d *discovery) add(l domain.Link) error {
	h := maphash.String(d.seed, l.URL)
	if _, dup := d.seen[h]; dup {
		return nil
	}
	if d.result.Found >= d.crawler.opts.MaxPages {
		d.result.Refused[scope.RefusedPageLimit]++
		return errPageLimit
	}
	d.seen[h] = struct{}{}
	d.result.Found++
	d.batch = append(d.batch, l)
	if len(d.batch) < domain.MaxLinksPerEvent {
		return nil
	}
	return d.flush()
}

// emitError is an error from the caller's emit function rather than from the sitemap.
type emitError struct{ err error }

func (e *emitError) Error() string { return "passing on links: " + e.err.Error() }
func (e *emitError) Unwrap() error { return e.err }

func (d *discovery) flush() error {
	if len(d.batch) == 0 {
		return nil
	}
	batch := d.batch
	d.batch = nil // emit may keep its argument
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

// errLimitReached stops reading sitemaps once a limit is reached. Discovery.Problems names the limit.
var errLimitReached = errors.New("the site's sitemaps together exceed a limit")

// limitReached reports the limit as the first problem and returns errLimitReached.
func (d *discovery) limitReached(limit string) error {
	const maximum = maxProblems - 1
	p := d.result.Problems
	d.result.Problems = append([]string{fmt.Sprintf(
		"Reading the sitemaps stopped at the limit for one site: %s. The remaining entries were skipped.", limit)},
		p[:min(len(p), maximum)]...)
	return errLimitReached
}
