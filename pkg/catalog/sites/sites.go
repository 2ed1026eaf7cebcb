// Package sites stores the effects of a crawl on the pages of a web site: which pages exist, which are duplicates, the
// effect of changed settings, and when the site is complete. It imports db and record.
//
// The frontier of a site's crawl is its pages: run_id is the crawl that last requested a page. A fetched page is
// compared with the others in the transaction that applies the event (see Judge), so at most one of several equal pages
// has content. Work on many pages is stored as a row of site_work, which WorkOnSite processes in batches; a site is not
// settled while there is such a row.
package sites

import (
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
)

// Sites is the store of sites and their pages. All methods are safe for concurrent use.
type Sites struct {
	db       *db.DB
	maxPages int
}

// New returns the sites of a database. A site has at most maxPages pages, even if its own setting is higher.
func New(d *db.DB, maxPages int) *Sites { return &Sites{db: d, maxPages: maxPages} }

// SiteWake returns a channel that receives after a commit of this process that has queued work on a site, and once
// after opening. Work queued by other processes is not announced, so poll as well.
func (c *Sites) SiteWake() <-chan struct{} { return c.db.Topic(record.TopicSites) }
