package record

import (
	"context"
	"strings"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

const (
	// OriginalsPerSweep bounds the keys of one sweep when much is deleted at once.
	OriginalsPerSweep = 200
	// RemovalBatch is how many datasources one transaction removes of a deleted datastore, or site.
	RemovalBatch = 500
)

// AllGenerations is domain.AllGenerations in the signed column.
const AllGenerations = -1

// Values of the column jobs. With SweepCrawls the column from_generation has the bound of the jobs.
const (
	sweepNoJobs  = 0
	SweepAllJobs = 1
	SweepCrawls  = 2
)

// dueFirst is before every time: withdrawn jobs are taken from the stream before workers come to them, if that is possible.
const dueFirst = -1

// QueueSweep stores a sweep under an id of its own, also when one like it waits: that one may be under way and have
// passed what this one is for.
func QueueSweep(ctx context.Context, t *db.Tx, s domain.Sweep) error {
	if s.ID == "" {
		s.ID = domain.NewID()
	}
	below := db.Unsigned(s.Below)
	if s.Below == domain.AllGenerations {
		below = AllGenerations
	}
	from, jobs, due := db.Unsigned(s.From), sweepNoJobs, 0
	switch {
	case s.Crawls > 0:
		from, jobs, due = db.Unsigned(s.Crawls), SweepCrawls, dueFirst
	case s.Jobs:
		jobs = SweepAllJobs
	}
	t.Notify(TopicSweeps)
	return t.Later(ctx, db.Write{Doing: "queueing a sweep", Text: `INSERT INTO sweeps (id, workspace_id, datastore_id, datasource_id, engine, model, from_generation, below,
		originals, jobs, attempts, cause, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '', ?) ON CONFLICT (id) DO NOTHING`,
		Args: []any{s.ID, s.WorkspaceID, s.DatastoreID, s.DatasourceID, s.Place.Engine, s.Place.Model, from, below,
			strings.Join(s.Originals, "\n"), jobs, due},
	})
}

// QueueSweeps queues sweeps: see QueueSweep.
func QueueSweeps(ctx context.Context, t *db.Tx, sweeps []domain.Sweep) error {
	for _, s := range sweeps {
		if err := QueueSweep(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}

// QueueWithdrawals has the crawl jobs of datasources that were in the stream leave it.
func QueueWithdrawals(ctx context.Context, t *db.Tx, withdrawn []Record) error {
	for _, r := range withdrawn {
		if r.Location != InStream || r.JobKind != domain.JobCrawl {
			continue
		}
		s := domain.Sweep{WorkspaceID: r.WorkspaceID, DatastoreID: r.DatastoreID, DatasourceID: r.ID, Crawls: r.Seen + 1}
		if err := QueueSweep(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}
