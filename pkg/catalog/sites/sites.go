// Package sites stores what a crawl means for the pages of a web site: which pages there are, which are duplicates, what
// changed settings do to them, and when the site is done. It imports db and record.
//
// The frontier of a site's crawl is its pages: run_id names the crawl that last asked for each of them. A page that was
// fetched is judged against the others in the transaction that applies the event (see Judge), so at most one of equal
// pages has content. Work on many pages at once is a row of site_work, which WorkOnSite does in batches; a site
// is not settled while there is one.
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

// New returns the sites of a database. A site has at most maxPages pages, whatever it asks for itself.
func New(d *db.DB, maxPages int) *Sites { return &Sites{db: d, maxPages: maxPages} }

// SiteWake receives after a commit of this process that has left work on a site, and once after opening. Work of
// other processes is not announced: look from time to time as well.
func (c *Sites) SiteWake() <-chan struct{} { return c.db.Topic(record.TopicSites) }
