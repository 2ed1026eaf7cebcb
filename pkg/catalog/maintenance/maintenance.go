// Package maintenance works on the catalog as a whole. It takes snapshots, queues repairs, adopts jobs from the job
// log, checks for damage, and lists what the index should contain. It may import all of the catalog's other packages.
package maintenance

import (
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/pipeline"
	"github.com/sluice/sluice/pkg/catalog/sites"
)

// Maintenance provides catalog operations for repairs and audits. All methods are safe for concurrent use.
type Maintenance struct {
	db       *db.DB
	sites    *sites.Sites
	pipeline *pipeline.Pipeline
}

// New returns the Maintenance of a database.
func New(d *db.DB, s *sites.Sites, p *pipeline.Pipeline) *Maintenance {
	return &Maintenance{db: d, sites: s, pipeline: p}
}
