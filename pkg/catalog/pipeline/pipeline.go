// Package pipeline stores datasources' jobs and their results. It contains the outbox, applies workers' events,
// replaces lost jobs, and queues sweeps, replays, refreshes and datastore moves. domain.Apply decides how an event
// changes a datasource; the pipeline stores that change and its consequences, such as the next job, in one transaction.
// It imports db, record, accounts and sites.
package pipeline

import (
	"sync"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/sites"
)

// Pipeline stores jobs and their effects in the catalog. All methods are safe for concurrent use.
type Pipeline struct {
	db    *db.DB
	sites *sites.Sites

	generation atomic.Uint64 // a lower bound for the highest generation stored in the database

	lastMu sync.Mutex
	last   map[record.Priority]string // the workspace served last, by priority
}

// New returns a Pipeline for the database.
func New(d *db.DB, s *sites.Sites) *Pipeline {
	return &Pipeline{db: d, sites: s, last: map[record.Priority]string{}}
}

// OutboxWake returns a channel that receives a value when there may be jobs to publish: after opening, after a commit
// that adds a job to the outbox, and after a commit in this process that frees capacity by ending a published job. On
// PostgreSQL, it also signals other processes' new jobs. Signals may be combined, and those from other processes may be
// lost, so callers must also poll.
func (c *Pipeline) OutboxWake() <-chan struct{} { return c.db.Topic(record.TopicOutbox) }

// SweepWake returns a channel that receives a value after a commit that queues a sweep; see OutboxWake.
func (c *Pipeline) SweepWake() <-chan struct{} { return c.db.Topic(record.TopicSweeps) }
