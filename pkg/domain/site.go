package domain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Crawl is the state of a site's latest crawl or an archive's latest unpacking, not including the states of pages or
// files.
type Crawl struct {
	StartedAt    time.Time      `json:"started_at"`
	Removed      int64          `json:"removed"`             // pages removed from the datastore
	LeftOut      map[string]int `json:"left_out,omitempty"`  // skipped addresses by reason; an address may be counted once per page that links to it
	MissingPages MissingPolicy  `json:"rest,omitempty"`      // what to do with pages the crawl did not find
	StoppedAt    time.Time      `json:"stopped_at,omitzero"` // when the site's owner stopped the crawl and its waiting pages were skipped; zero if not stopped
	Widened      bool           `json:"widened,omitempty"`   // a settings change made the site include more pages after discovery had started
}

// Stopped reports whether a user has stopped the crawl. It returns false if c is nil.
func (c *Crawl) Stopped() bool { return c != nil && !c.StoppedAt.IsZero() }

// MissingPolicy determines what happens after discovery to pages that a site's newest crawl did not find.
type MissingPolicy string

// Values of MissingPolicy.
const (
	RestKept      MissingPolicy = ""        // keep them, because the list of pages was incomplete
	RestRefetched MissingPolicy = "asked"   // fetch them again, because the pages that link to them may be unchanged and so have reported no links
	RestRemoved   MissingPolicy = "removed" // remove them, because the sitemap lists all pages
)

// Maximum number of different reasons in Crawl.LeftOut.
const maxLeftOut = 50

// addLeftOut adds counts of skipped addresses by reason. Once there are maxLeftOut reasons, it drops new ones.
func (c *Crawl) addLeftOut(counts map[string]int) {
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

// AddLeftOut adds counts of skipped addresses by reason to the site's crawl. It returns false if counts is empty.
func (d *Datasource) AddLeftOut(counts map[string]int) bool {
	if len(counts) == 0 {
		return false
	}
	d.crawl(d.UpdatedAt).addLeftOut(counts)
	return true
}

// BeginCrawl starts a new crawl of the site.
func (d *Datasource) BeginCrawl(at time.Time) {
	d.Crawl, d.DiscoveryDone = &Crawl{StartedAt: at}, false
}

// crawl returns the site's newest crawl for modification. It copies d.Crawl, which copies of the datasource share. If
// none is stored, as in older versions, it returns a new one.
func (d *Datasource) crawl(at time.Time) *Crawl {
	c := Crawl{StartedAt: at}
	if d.Crawl != nil {
		c = *d.Crawl
		c.LeftOut = maps.Clone(c.LeftOut)
	}
	d.Crawl = &c
	return &c
}

// Removed adds `pages` to the number of pages removed from the datastore during the newest crawl.
func (d *Datasource) Removed(pages int64) { d.crawl(d.UpdatedAt).Removed += pages }

// CrawlWidened records that new settings include more pages than when the newest crawl started.
func (d *Datasource) CrawlWidened() { d.crawl(d.UpdatedAt).Widened = true }

// CrawlStopped stops a site's crawl: no more pages are added, and events from a running discovery are ignored.
func (d *Datasource) CrawlStopped(at time.Time) {
	d.crawl(at).StoppedAt = at
	if !d.DiscoveryDone && !d.Status.Terminal() {
		d.JobID, d.DiscoveryDone = "", true
		d.finish(StatusRunning, at)
		d.Progress.Stage = stageCrawling
	}
	d.UpdatedAt = at
}

// RestorePage restores a page whose crawl job was withdrawn. A page without content becomes skipped.
func (d *Datasource) RestorePage(at time.Time) {
	d.JobID, d.Unchanged, d.DuplicateOf = "", false, ""
	if d.ActiveGeneration > 0 {
		d.finish(StatusSynched, at)
		return
	}
	d.finish(StatusSkipped, at)
	d.Error = "The crawl was stopped before this page was fetched."
}

// SiteProgress counts a site's pages by state.
type SiteProgress struct {
	Discovered int64 // all of the site's pages
	Waiting    int64 // waiting to be fetched or processed
	Fetched    int64 // with content processed after the newest fetch
	Unchanged  int64 // with content that the newest fetch found unchanged
	Skipped    int64 // skipped on purpose
	Failed     int64
	Removed    int64 // removed from the datastore by the newest crawl; not included in Discovered
}

// WarnSitemap adds a warning, after a site's scope was widened, that new pages are found only when its sitemap is read
// again.
func (d *Datasource) WarnSitemap() {
	if !slices.Contains(d.Warnings, rereadSitemapWarning) {
		d.Warnings = append(slices.Clone(d.Warnings), rereadSitemapWarning)
	}
}

const rereadSitemapWarning = "The site now includes more pages than before. Refresh it to find new pages in its sitemap." //nolint:gosec // G101: a warning, no credential

// Warning texts added by SettlePages, which also uses them to find and replace existing warnings.
const (
	pagesFailed     = " pages could not be read; each shows its error"
	filesFailed     = " files could not be read; each shows its error"
	crawlStopped    = "The crawl was stopped before all pages were fetched."
	onlyRootWarning = "Apart from the root, no page matches the site's include and exclude patterns."
)

// SettlePages sets the status of a site whose discovery is complete, or of an unpacked archive, once all its pages or
// files are processed. The status is error if none could be read, and otherwise synched, with a warning if some failed
// or the patterns exclude every page but the root. cause is a failed page's error or the reason why a page was skipped.
// SettlePages reports whether anything changed.
func (d *Datasource) SettlePages(pages SiteProgress, cause string, at time.Time) bool {
	status, message := StatusSynched, ""
	warnings := slices.DeleteFunc(slices.Clone(d.Warnings), func(w string) bool {
		return w == crawlStopped || w == onlyRootWarning || strings.HasSuffix(w, pagesFailed) || strings.HasSuffix(w, filesFailed)
	})
	group, part, partsFailed := "site", "page", pagesFailed
	if d.Type == TypeArchive {
		group, part, partsFailed = "archive", "file", filesFailed
	}
	all, failed, skipped := pages.Discovered, pages.Failed, pages.Skipped
	stopped := d.Crawl.Stopped()
	switch {
	case all == 0 && stopped:
		status, message = StatusError, "The crawl was stopped before any page was found."
	case all == 0:
		status, message = StatusError, fmt.Sprintf("The %s has no readable %ss.", group, part)
	case all == 1 && failed == 1:
		status, message = StatusError, fmt.Sprintf("The %s's only %s could not be read: %s", group, part, cause)
	case all == 1 && skipped == 1:
		status, message = StatusError, fmt.Sprintf("The %s's only %s was skipped: %s", group, part, cause)
	case failed == all:
		status, message = StatusError, fmt.Sprintf("None of the %s's %d %ss could be read. Example: %s", group, all, part, cause)
	case skipped == all:
		status, message = StatusError, fmt.Sprintf("All of the %s's %d %ss were skipped. Example: %s", group, all, part, cause)
	case failed+skipped == all:
		status = StatusError
		message = fmt.Sprintf("The %s has no readable %s: of %d %ss, %d could not be read and %d were skipped. Example: %s", group, part, all, part, failed, skipped, cause)
	case failed > 0:
		warnings = append(warnings, fmt.Sprintf("%d of %d%s", failed, all, partsFailed))
	case all == 1 && d.FollowLinks && !stopped && len(d.Config.Include)+len(d.Config.Exclude) > 0:
		warnings = append(warnings, onlyRootWarning)
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

// Alive reports whether a site's page has content or may still get some. Only then can duplicates be skipped in its
// favour.
func (d *Datasource) Alive() bool {
	return d.Status != StatusSkipped && (d.Status != StatusError || d.ActiveGeneration > 0)
}

// TextName identifies the page's content by a hash of its text or, if that is unknown, of its bytes. Pages with the
// same name have the same content. It is "" if the page was never fetched.
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

// Refuses returns why a site's settings exclude an address, or "" if they don't. depth is the number of links from the
// root, and is ignored if pages come from a sitemap.
func (s SiteScope) Refuses(p Patterns, address string, depth int) string {
	why := p.RefusesURL(address)
	if why != LeftExcluded && s.Follow && depth > s.MaxDepth {
		return LeftTooDeep
	}
	return why
}

// ReadsLinksOnly reports whether a page refused for this reason is still read for its links: the site must follow
// links, and the page must be the root or match no include pattern.
func (s SiteScope) ReadsLinksOnly(why, address string) bool {
	return s.Follow && (why == LeftNotIncluded || SameAddress(address, s.Root))
}

// LeftOutReason returns a sentence that tells users why a page was skipped.
func (s SiteScope) LeftOutReason(why, address string) string {
	if s.ReadsLinksOnly(why, address) {
		return address + " was read only for its links: " + why + "."
	}
	return address + " was skipped: " + why + "."
}

// IsBetterThan reports whether to keep the page c and not the page `than`, which has the same content. It prefers pages
// that don't redirect, then a redirect's target over its source, then the page with fewer links from the root, and
// finally the shorter address.
func (c DatasourceConfig) IsBetterThan(than DatasourceConfig) bool {
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

// SameScope reports whether two configurations for a site have the same scope settings.
func (c DatasourceConfig) SameScope(other DatasourceConfig) bool {
	return slices.Equal(c.Include, other.Include) && slices.Equal(c.Exclude, other.Exclude) &&
		c.MaxPages == other.MaxPages && c.MaxDepth == other.MaxDepth
}

// Widens reports whether `other` may include pages that c excludes.
func (c DatasourceConfig) Widens(other DatasourceConfig) bool {
	lacks := func(all, some []string) bool {
		return slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
	}
	include := len(c.Include) > 0 && (len(other.Include) == 0 || lacks(c.Include, other.Include))
	pages := c.MaxPages > 0 && (other.MaxPages == 0 || other.MaxPages > c.MaxPages)
	return include || lacks(other.Exclude, c.Exclude) || pages
}

// SameSite reports whether two sites have the same addresses and patterns, and therefore the same pages.
func (c DatasourceConfig) SameSite(other DatasourceConfig) bool {
	same := func(a, b []string) bool {
		return slices.Equal(slices.Compact(slices.Sorted(slices.Values(a))), slices.Compact(slices.Sorted(slices.Values(b))))
	}
	return sameAddress(c.SourceURL, other.SourceURL) && sameAddress(c.Sitemap, other.Sitemap) &&
		same(c.Include, other.Include) && same(c.Exclude, other.Exclude)
}

// Pace limits requests to a host.
type Pace struct {
	Concurrency int           // concurrent requests; 0 means unlimited
	Delay       time.Duration // minimum time between the starts of two requests
	Lease       time.Duration // maximum time to hold a slot; after that, the crawler has probably died, so the slot is freed
}

// HostSlot is the reply to a crawler that has requested a slot at a host.
type HostSlot struct {
	Granted bool
	// Wait is how long to wait before starting the request if a slot was granted. If not, it is how long to wait before
	// asking again.
	Wait time.Duration
	// Release gives back a granted slot. Call it exactly once, when the request is complete. It is nil if no slot was
	// granted.
	Release func()
}
