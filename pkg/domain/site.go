package domain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Crawl is what is known of a site's newest crawl beside its pages.
type Crawl struct {
	StartedAt time.Time      `json:"started_at"`
	Removed   int64          `json:"removed"`             // pages that have left the datastore
	LeftOut   map[string]int `json:"left_out,omitempty"`  // addresses that were not taken, by reason; one may be counted on every page that links to it
	Rest      RestPolicy     `json:"rest,omitempty"`      // what becomes of the pages that it has not come upon
	StoppedAt time.Time      `json:"stopped_at,omitzero"` // when its owner stopped it: pages that waited were left out; zero: not stopped
	Widened   bool           `json:"widened,omitempty"`   // settings that take more pages came while its discovery went by those of before
}

// Stopped reports whether the crawl, if there is one, was stopped by its owner.
func (c *Crawl) Stopped() bool { return c != nil && !c.StoppedAt.IsZero() }

// RestPolicy says what becomes of a site's pages that its newest crawl has not come upon, once its discovery is done.
type RestPolicy string

// The policies.
const (
	RestStays   RestPolicy = ""        // nothing: the list of pages was not complete
	RestAsked   RestPolicy = "asked"   // they are fetched again: links lead from page to page, and an unchanged page shows none
	RestRemoved RestPolicy = "removed" // they leave the datastore: the sitemap lists every page, and not them
)

// maxLeftOut bounds the reasons that a crawl keeps.
const maxLeftOut = 50

// leaveOut adds counts of addresses that were not taken. Past the bound of reasons, new ones are not kept.
func (c *Crawl) leaveOut(counts map[string]int) {
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		if _, known := c.LeftOut[reason]; !known && len(c.LeftOut) >= maxLeftOut {
			continue
		}
		if c.LeftOut == nil {
			c.LeftOut = map[string]int{}
		}
		c.LeftOut[reason] += counts[reason]
	}
}

// LeaveAddressesOut notes on a site how many addresses were not taken, by reason. It reports whether there were any.
func (d *Datasource) LeaveAddressesOut(counts map[string]int) bool {
	if len(counts) == 0 {
		return false
	}
	d.crawl(d.UpdatedAt).leaveOut(counts)
	return true
}

// BeginCrawl makes a crawl that has found nothing yet the newest of the site.
func (d *Datasource) BeginCrawl(at time.Time) {
	d.Crawl, d.DiscoveryDone = &Crawl{StartedAt: at}, false
}

// crawl is the site's newest crawl, which for one that began before crawls were kept is made now. What is shared with
// copies of the datasource is not changed.
func (d *Datasource) crawl(at time.Time) *Crawl {
	c := Crawl{StartedAt: at}
	if d.Crawl != nil {
		c = *d.Crawl
		c.LeftOut = maps.Clone(c.LeftOut)
	}
	d.Crawl = &c
	return &c
}

// Removed notes on a site that pages of it have left the datastore.
func (d *Datasource) Removed(pages int64) { d.crawl(d.UpdatedAt).Removed += pages }

// CrawlWidened notes on a site that its settings take more pages than those by which the discovery of its newest crawl goes.
func (d *Datasource) CrawlWidened() { d.crawl(d.UpdatedAt).Widened = true }

// CrawlStopped ends the crawl of a site: nothing more is found, and its discovery, should it be under way, is overtaken.
func (d *Datasource) CrawlStopped(at time.Time) {
	d.crawl(at).StoppedAt = at
	if !d.DiscoveryDone && !d.Status.Terminal() {
		d.JobID, d.DiscoveryDone = "", true
		d.finish(StatusRunning, at)
		d.Progress.Stage = stageCrawling
	}
	d.UpdatedAt = at
}

// PageStopped puts a page whose crawl job has been withdrawn back to where it was: what has content keeps it, and what
// has none is left out.
func (d *Datasource) PageStopped(at time.Time) {
	d.JobID, d.Unchanged, d.DuplicateOf = "", false, ""
	if d.ActiveGeneration > 0 {
		d.finish(StatusSynched, at)
		return
	}
	d.finish(StatusSkipped, at)
	d.Error = "The crawl was stopped before this page was fetched."
}

// SiteProgress counts the pages of a site.
type SiteProgress struct {
	Discovered int64 // all pages that the site has
	Waiting    int64 // to be fetched or read
	Fetched    int64 // with content that the newest fetch brought, or that was read again since
	Unchanged  int64 // with content that the newest fetch found as it was
	Skipped    int64 // left out on purpose
	Failed     int64
	Removed    int64 // have left the datastore in the newest crawl; not among those discovered
}

// WarnOfSitemap adds a warning to a site with a sitemap whose scope was widened: the other pages of the sitemap become
// known only when it is read again.
func (d *Datasource) WarnOfSitemap() {
	if !slices.Contains(d.Warnings, moreListed) {
		d.Warnings = append(slices.Clone(d.Warnings), moreListed)
	}
}

const moreListed = "The site takes more pages than before. Refresh it to find those that its sitemap lists."

// pagesFailed and crawlStopped mark warnings that SettlePages writes, so that it can replace them.
const (
	pagesFailed  = " pages could not be read; each says why"
	crawlStopped = "The crawl was stopped before all pages were fetched."
	onlyTheRoot  = "No page but the root was found that the site's include and exclude patterns take."
)

// SettlePages gives a site, whose discovery is done and whose pages wait for nothing, the status that follows from them:
// error when not one page could be had, else synched, with a warning when some failed or patterns leave but the root. cause is the error of one of
// those that failed, or else the reason of one that was left out. It reports whether anything changed.
func (d *Datasource) SettlePages(pages SiteProgress, cause string, at time.Time) bool {
	status, message := StatusSynched, ""
	warnings := slices.DeleteFunc(slices.Clone(d.Warnings), func(w string) bool {
		return w == crawlStopped || w == onlyTheRoot || strings.HasSuffix(w, pagesFailed)
	})
	all, failed, skipped := pages.Discovered, pages.Failed, pages.Skipped
	stopped := d.Crawl.Stopped()
	switch {
	case all == 0 && stopped:
		status, message = StatusError, "The crawl was stopped before any page was found."
	case all == 0:
		status, message = StatusError, "The site has no pages that may be read."
	case failed == all:
		status, message = StatusError, fmt.Sprintf("None of the site's %d pages could be read. One of them: %s", all, cause)
	case skipped == all:
		status, message = StatusError, fmt.Sprintf("All of the site's %d pages are left out. One of them: %s", all, cause)
	case failed+skipped == all:
		status = StatusError
		message = fmt.Sprintf("None of the site's %d pages could be had: %d could not be read, %d are left out. One of them: %s", all, failed, skipped, cause)
	case failed > 0:
		warnings = append(warnings, fmt.Sprintf("%d of %d%s", failed, all, pagesFailed))
	case all == 1 && d.FollowLinks && !stopped && len(d.Config.Include)+len(d.Config.Exclude) > 0:
		warnings = append(warnings, onlyTheRoot)
	}
	if stopped {
		warnings = append(warnings, crawlStopped)
	}
	if d.Status == status && d.Error == message && slices.Equal(d.Warnings, warnings) {
		return false
	}
	d.finish(status, at)
	d.Error, d.Warnings = message, warnings
	if status == StatusSynched {
		d.LastSynch = &at
	}
	return true
}

// Alive reports whether a page of a site has content, or may yet get it: others can be left out for it.
func (d *Datasource) Alive() bool {
	return d.Status != StatusSkipped && (d.Status != StatusError || d.ActiveGeneration > 0)
}

// TextName returns the hash of the page's text or, if that is unknown, of its bytes. Pages with the same name have the same
// content. It is "" for a page that was never fetched.
func (d *Datasource) TextName() string {
	switch {
	case d.Original == nil:
		return ""
	case d.Config.TextHash != "":
		return d.Config.TextHash
	default:
		return d.Original.SHA256
	}
}

// Refuses returns the reason why the settings of a site exclude an address that is depth links away from the root; ""
// if they include it. Depth does not count if a sitemap lists the pages.
func (s SiteScope) Refuses(p Patterns, address string, depth int) string {
	why := p.RefusesURL(address)
	if why != LeftExcluded && s.Follow && depth > s.MaxDepth {
		return LeftTooDeep
	}
	return why
}

// LeadsOn reports whether a page that was refused for the given reason is still read for its links. That is so if the
// site follows links, and the page is the root or matches no include pattern.
func (s SiteScope) LeadsOn(why, address string) bool {
	return s.Follow && (why == LeftNotIncluded || SameSpelling(address, s.Root))
}

// LeftOutBy returns the reason for leaving out a page, as a sentence for people.
func (s SiteScope) LeftOutBy(why, address string) string {
	if s.LeadsOn(why, address) {
		return address + " is read for its links alone: " + why + "."
	}
	return address + " is left out: " + why + "."
}

// Better reports whether of two pages with the same content this one is to stay. One that was reached without a redirect
// stays rather than one that leads elsewhere, and where a redirect ended rather than where it began; then the better
// address counts: fewer links from the root, then the shorter.
func (c DatasourceConfig) Better(than DatasourceConfig) bool {
	leads, target := c.FinalURL == than.SourceURL, than.FinalURL == c.SourceURL
	switch {
	case (c.FinalURL == "") != (than.FinalURL == ""):
		return c.FinalURL == ""
	case leads != target:
		return target
	case c.Depth != than.Depth:
		return c.Depth < than.Depth
	case len(c.SourceURL) != len(than.SourceURL):
		return len(c.SourceURL) < len(than.SourceURL)
	default:
		return c.SourceURL < than.SourceURL
	}
}

// SameReach reports whether two settings of a site include the same pages.
func (c DatasourceConfig) SameReach(other DatasourceConfig) bool {
	return slices.Equal(c.Include, other.Include) && slices.Equal(c.Exclude, other.Exclude) &&
		c.MaxPages == other.MaxPages && c.MaxDepth == other.MaxDepth
}

// Widens reports whether the other settings of a site may include pages that these exclude.
func (c DatasourceConfig) Widens(other DatasourceConfig) bool {
	lacks := func(all, some []string) bool {
		return slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
	}
	include := len(c.Include) > 0 && (len(other.Include) == 0 || lacks(c.Include, other.Include))
	pages := c.MaxPages > 0 && (other.MaxPages == 0 || other.MaxPages > c.MaxPages)
	return include || lacks(other.Exclude, c.Exclude) || pages
}

// SameSite reports whether two sites take the same pages: by the same addresses and the same patterns.
func (c DatasourceConfig) SameSite(other DatasourceConfig) bool {
	same := func(a, b []string) bool {
		return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
	}
	return sameAddress(c.SourceURL, other.SourceURL) && sameAddress(c.Sitemap, other.Sitemap) &&
		same(c.Include, other.Include) && same(c.Exclude, other.Exclude)
}
