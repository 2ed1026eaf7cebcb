// Package maintenance looks after a catalog: snapshots, requests of repairs, jobs taken over from the job log, damage, and
// what audits compare with the index. It imports all other packages of the catalog.
package maintenance

import (
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/pipeline"
	"github.com/sluice/sluice/pkg/catalog/sites"
)

// Maintenance is what repairs and audits need. All methods are safe for concurrent use.
type Maintenance struct {
	db       *db.DB
	sites    *sites.Sites
	pipeline *pipeline.Pipeline
}

// New returns the maintenance of a database.
func New(d *db.DB, s *sites.Sites, p *pipeline.Pipeline) *Maintenance {
	return &Maintenance{db: d, sites: s, pipeline: p}
}
