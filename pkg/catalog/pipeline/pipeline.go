// Package pipeline stores the progress of datasources through their jobs: the outbox, events of workers, sweeps,
// replays, moves of datastores, refreshes, and the rescue of lost jobs. domain.Apply decides the outcome of an event;
// the pipeline stores it with all consequences in one transaction. It imports db, record, accounts and sites.
package pipeline

import (
	"sync"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/sites"
)

// Pipeline stores jobs and their effects. All methods are safe for concurrent use.
type Pipeline struct {
	db       *db.DB
	accounts *accounts.Accounts
	sites    *sites.Sites

	generation atomic.Uint64 // the highest generation stored in the database is known to be at least this one

	lastMu sync.Mutex
	last   map[record.Priority]string // the workspace served last, by priority
}

// New returns a Pipeline for the database.
func New(d *db.DB, a *accounts.Accounts, s *sites.Sites) *Pipeline {
	return &Pipeline{db: d, accounts: a, sites: s, last: map[record.Priority]string{}}
}

// OutboxWake returns a channel that receives a value when there may be jobs to publish: once after opening, whenever a
// commit adds a job to the outbox, and whenever a commit of this process ends a published job, which frees capacity. With
// PostgreSQL, new jobs of other processes are signalled too. Signals may be coalesced, and those from other processes may
// be lost, so callers must also poll.
func (c *Pipeline) OutboxWake() <-chan struct{} { return c.db.Topic(record.TopicOutbox) }

// SweepWake returns a channel that receives a value after a commit that has queued a sweep; see OutboxWake.
func (c *Pipeline) SweepWake() <-chan struct{} { return c.db.Topic(record.TopicSweeps) }
