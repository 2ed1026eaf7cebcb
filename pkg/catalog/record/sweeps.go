package record

import (
	"context"
	"strings"

	"github.com/sluice/sluice/pkg/catalog/db"
	"github.com/sluice/sluice/pkg/domain"
)

const (
	// OriginalsPerSweep is the maximum number of keys per sweep.
	OriginalsPerSweep = 200
	// RemovalBatch is the number of datasources removed per transaction when their datastore or site is deleted.
	RemovalBatch = 500
)

// AllGenerations is how domain.AllGenerations is stored. It is -1, because the column is signed.
const AllGenerations = -1

// Values for a sweep's jobs column. SweepCrawls deletes crawl jobs with generations below from_generation.
const (
	sweepNoJobs  = 0
	SweepAllJobs = 1
	SweepCrawls  = 2
)

// dueAtOnce sorts before all other due times. Sweeps for withdrawn jobs use it, because they should delete the jobs
// from the stream before workers receive them.
const dueAtOnce = -1

// QueueSweep queues a sweep. It does so even if an identical sweep is already queued, because the earlier sweep may be
// in progress and miss data written since it began.
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
		from, jobs, due = db.Unsigned(s.Crawls), SweepCrawls, dueAtOnce
	case s.Jobs:
		jobs = SweepAllJobs
	}
	t.Notify(TopicSweeps)
	return t.Queue(ctx, db.Write{Action: "queueing a sweep", Text: `INSERT INTO sweeps (id, workspace_id, datastore_id, datasource_id, engine, model, from_generation, below,
		originals, jobs, attempts, cause, due_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, '', ?) ON CONFLICT (id) DO NOTHING`,
		Args: []any{s.ID, s.WorkspaceID, s.DatastoreID, s.DatasourceID, s.Place.Engine, s.Place.Model, from, below,
			strings.Join(s.Originals, "\n"), jobs, due},
	})
}

// QueueSweeps queues several sweeps; see QueueSweep.
func QueueSweeps(ctx context.Context, t *db.Tx, sweeps []domain.Sweep) error {
	for _, s := range sweeps {
		if err := QueueSweep(ctx, t, s); err != nil {
			return err
		}
	}
	return nil
}

// QueueWithdrawals queues sweeps that delete the datasources' crawl jobs from the stream.
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
