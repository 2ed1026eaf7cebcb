// Package sites stores the effects of a crawl on a web site's pages. It decides which pages exist, which are
// duplicates, which are excluded by changed settings, and when a site is complete. It imports db and record.
//
// A site's pages double as its crawl's queue: a page's run_id is the id of the last crawl that requested it. The
// transaction that applies a fetched page's event compares the page with the site's other pages (see Judge), so of
// several pages with equal text, only one has content. If many pages must be changed, a row in site_work describes the
// work, and WorkOnSite performs it in batches. A crawl is not complete while its site has such a row.
package sites

import (
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
)

// Sites stores sites and their pages. All methods are safe for concurrent use.
type Sites struct {
	db     *db.DB
	limits Limits
}

// Limits configure a site store. All must be positive.
type Limits struct {
	Pages int // pages per site, even if the site's own limit is higher
	Leads int // further pages per site that are read only for their links
	Batch int // pages per transaction, when work on a site's pages is done in batches
}

// New returns a site store that uses the given database.
func New(d *db.DB, l Limits) *Sites { return &Sites{db: d, limits: l} }

// SiteWake returns a channel that receives a value after opening and after each commit in this process that queues work
// on a site. It does not signal other processes' work, so callers must also poll.
func (c *Sites) SiteWake() <-chan struct{} { return c.db.Topic(record.TopicSites) }
