// Package maintenance contains operations on the whole catalog: taking snapshots, queueing repairs, adopting jobs from
// the job log, checking for damage, and listing what the index should contain. It may import all of the catalog's other
// packages.
package maintenance

import (
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/pipeline"
	"github.com/sluice/sluice/pkg/catalog/sites"
)

// Maintenance operates on the catalog as a whole. All methods are safe for concurrent use.
type Maintenance struct {
	db       *db.DB
	sites    *sites.Sites
	pipeline *pipeline.Pipeline
}

// New returns a Maintenance for the given database.
func New(d *db.DB, s *sites.Sites, p *pipeline.Pipeline) *Maintenance {
	return &Maintenance{db: d, sites: s, pipeline: p}
}
