// Package pipeline moves datasources through their jobs: the outbox, the events of workers, sweeps, replays, moves of
// datastores, refreshes, and the rescue of lost jobs. domain.Apply decides the outcome of an event; the pipeline stores it
// together with everything that follows from it, in one transaction. It imports db, record, accounts and sites.
package pipeline

import (
	"sync"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/catalog/accounts"
	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/catalog/record"
	"github.com/sluice/sluice/pkg/catalog/sites"
)

// Pipeline is the store of jobs and of what they lead to. All methods are safe for concurrent use.
type Pipeline struct {
	db       *db.DB
	accounts *accounts.Accounts
	sites    *sites.Sites

	generation atomic.Uint64 // that the mark of generations is known to have reached

	turnMu sync.Mutex
	turn   map[record.Priority]string // the workspace that was served last
}

// New returns the pipeline of a database.
func New(d *db.DB, a *accounts.Accounts, s *sites.Sites) *Pipeline {
	return &Pipeline{db: d, accounts: a, sites: s, turn: map[record.Priority]string{}}
}

// OutboxWake receives after a commit that has put a job into the outbox, of this process or, with PostgreSQL, of
// another one, after one of this process by which a job in the stream has ended, so that there is room for another,
// and once after opening. Several commits may be announced as one, and an announcement of another process may be
// lost: look from time to time as well.
func (c *Pipeline) OutboxWake() <-chan struct{} { return c.db.Topic(record.TopicOutbox) }

// SweepWake receives after a commit that has queued a sweep, on the same terms as OutboxWake.
func (c *Pipeline) SweepWake() <-chan struct{} { return c.db.Topic(record.TopicSweeps) }
