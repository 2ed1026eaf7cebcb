package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// Ledger is the catalog as an audit reads and mends it.
type Ledger interface {
	EachDatastore(ctx context.Context, f func(domain.Datastore) error) error
	Stores
	EachActive(ctx context.Context, datastoreID string, f func(catalog.ActiveState) error) error
	EachOriginal(ctx context.Context, f func(key string) error) error
	Datasource(ctx context.Context, workspaceID, id string) (domain.Datasource, error)
	Requeue(ctx context.Context, workspaceID, id string, job domain.Job, p catalog.Priority) (domain.Datasource, error)
	QueueSweep(ctx context.Context, s domain.Sweep) error
	// Adopt takes over what the job log knows better than the catalog.
	Adopt(ctx context.Context, job domain.Job) (catalog.Adopted, error)
	Leases
}

// Leases let one of several processes do what need not be done by each.
type Leases interface {
	// Lease takes or renews the lease for the holder and reports whether it has it.
	Lease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error)
}

// Log is the job log: the last job of every datasource, from a generation on.
type Log interface {
	LastJobs(ctx context.Context, from uint64, f func(domain.Job) error) error
}

// OriginalsList is the store of originals as an audit reads it.
type OriginalsList interface {
	Each(ctx context.Context, f func(key string, size int64, modified time.Time) error) error
	Exists(ctx context.Context, key string) (bool, error)
}

// Auditor compares what lies in the index and in originals with what the catalog says, queues sweeps for strays and
// issues jobs for what is missing. Anything that may still be in the making is left alone.
type Auditor struct {
	Catalog   Ledger
	Engines   Engines
	Originals OriginalsList
	JobLog    Log
	Every     time.Duration
	// Alarm, if set, receives when an index has found itself damaged: an audit is then due at once.
	Alarm  <-chan struct{}
	Holder string // names this process among those that share the catalog
	Log    *slog.Logger
	Now    func() time.Time
}

// Report counts what an audit found and queued for mending.
type Report struct {
	Datasources      int   // looked at
	Adopted          int   // datasources that the catalog did not know, or knew only an older version of
	Missing          int   // datasources whose rows are incomplete: they are read again
	StrayRows        int64 // rows that no reader sees: they are swept
	StrayOriginals   int   // that no datasource refers to: they are swept
	MissingOriginals int   // that a datasource refers to: it cannot be read again
}

// Clean reports whether nothing was found.
func (r Report) Clean() bool { return r == Report{Datasources: r.Datasources} }

// Note takes what an audit has found and done, in words for people, a line each.
type Note func(format string, args ...any)

// uploadGrace is how long an original may lie unreferenced: its upload or the event of its fetch may be under way.
const uploadGrace = time.Hour

// settling is how long before an audit a generation must have become active to be compared: the index is read first, and
// what was written while it was read is not missing. It allows for clocks that differ.
const settling = 5 * time.Minute

// firstAudit is how long after the start the first audit waits, so that it does not compete with recovery.
const firstAudit = time.Minute

// Run audits until ctx ends.
func (a *Auditor) Run(ctx context.Context) {
	if !wait(ctx, a.Alarm, min(firstAudit, a.Every)) {
		return
	}
	every(ctx, a.Log, a.Alarm, a.Every, auditBound, func(ctx context.Context) (bool, error) {
		held, err := a.Catalog.Lease(ctx, "audit", a.Holder, a.Every/2)
		if err != nil || !held {
			return false, err
		}
		report, err := a.Audit(ctx, func(format string, args ...any) { a.Log.Info("audit", "found", fmt.Sprintf(format, args...)) })
		if err != nil {
			// Looking at everything is too dear to be repeated in haste.
			a.Log.Warn("audit is not complete", "error", err)
		}
		if !report.Clean() {
			a.Log.Info("audit found differences", "datasources", report.Datasources, "stray_rows", report.StrayRows,
				"missing", report.Missing, "stray_originals", report.StrayOriginals, "missing_originals", report.MissingOriginals)
		}
		return false, nil
	})
}

// Audit looks once at everything. What cannot be looked at does not keep it from the rest; all such errors are returned.
func (a *Auditor) Audit(ctx context.Context, note Note) (Report, error) {
	var report Report
	var stores []domain.Datastore
	err := a.Catalog.EachDatastore(ctx, func(d domain.Datastore) error {
		stores = append(stores, d)
		return nil
	})
	if err != nil {
		return report, fmt.Errorf("listing datastores: %w", err)
	}
	faults := []error{a.discardDamaged(ctx, note)}
	for _, store := range stores {
		if err := a.datastore(ctx, store, &report, note); err != nil {
			faults = append(faults, fmt.Errorf("auditing datastore %s: %w", store.ID, err))
		}
		if ctx.Err() != nil {
			return report, errors.Join(faults...)
		}
	}
	return report, errors.Join(append(faults, a.originals(ctx, &report, note))...)
}

// Adopt compares the job log, from a generation on, with the catalog, and has the catalog take over what it does not
// know: after an older copy of the database was restored, the log knows what was accepted since.
func (a *Auditor) Adopt(ctx context.Context, from uint64, report *Report, note Note) error {
	err := a.JobLog.LastJobs(ctx, from, func(job domain.Job) error {
		adopted, err := a.Catalog.Adopt(ctx, job)
		if err != nil {
			return fmt.Errorf("taking over job %s of datasource %s: %w", job.ID, job.DatasourceID, err)
		}
		if adopted != catalog.NothingAdopted {
			report.Adopted++
			note("datasource %s (%s): %s from the job log", job.DatasourceID, job.Name, adopted)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the job log: %w", err)
	}
	return nil
}

func (a *Auditor) originals(ctx context.Context, report *Report, note Note) error {
	// The store is read before the catalog, so that an original referenced in between is seen as referenced.
	kept := map[string]bool{} // key → old enough to be a stray
	newest := a.Now().Add(-uploadGrace)
	err := a.Originals.Each(ctx, func(key string, _ int64, modified time.Time) error {
		kept[key] = modified.Before(newest)
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing originals: %w", err)
	}
	err = a.Catalog.EachOriginal(ctx, func(key string) error {
		if _, ok := kept[key]; ok {
			delete(kept, key)
			return nil
		}
		exists, err := a.Originals.Exists(ctx, key) // it may have come since the listing
		if err == nil && !exists {
			report.MissingOriginals++
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("listing referenced originals: %w", err)
	}
	if report.MissingOriginals > 0 {
		note("%d datasources have lost their original: what is in the index stays, to rebuild it upload or fetch them again", report.MissingOriginals)
	}
	for key, old := range kept {
		if !old {
			continue
		}
		report.StrayOriginals++
		if err := a.Catalog.QueueSweep(ctx, domain.Sweep{Originals: []string{key}}); err != nil {
			return fmt.Errorf("queueing a sweep: %w", err)
		}
	}
	if report.StrayOriginals > 0 {
		note("%d originals belong to nothing: they are removed", report.StrayOriginals)
	}
	return nil
}

// damageable is an index that can find its own files damaged or gone, and put a damaged space aside, so that all of it is
// missing and is read again.
type damageable interface {
	Damaged() []index.Space
	// Discard reports whether the space was put aside; one that is intact after all is left as it is.
	Discard(ctx context.Context, space index.Space) (bool, error)
}

func (a *Auditor) discardDamaged(ctx context.Context, note Note) error {
	var faults []error
	for _, e := range a.Engines.Engines() {
		idx, err := a.Engines.Index(e)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		d, ok := idx.(damageable)
		if !ok {
			continue
		}
		for _, space := range d.Damaged() {
			faults = append(faults, discard(ctx, d, space, note))
		}
	}
	return errors.Join(faults...)
}

func discard(ctx context.Context, d damageable, space index.Space, note Note) error {
	done, err := d.Discard(ctx, space)
	if err != nil {
		return fmt.Errorf("putting a damaged space aside: %w", err)
	}
	if done {
		note("datastore %s: its index with %s was damaged and is put aside, to be built anew", space.DatastoreID, space.Model)
	}
	return nil
}

// stored reads which generations spaces hold, by datasource. A damaged space is put aside: all of it is then missing.
func stored(ctx context.Context, idx Index, spaces []index.Space, note Note) (map[string][]index.Stored, error) {
	rows := map[string][]index.Stored{}
	for _, space := range spaces {
		var found []index.Stored
		err := idx.Stored(ctx, space, func(s index.Stored) error {
			found = append(found, s)
			return nil
		})
		if d, ok := idx.(damageable); ok && errors.Is(err, index.ErrCorrupt) {
			found, err = nil, discard(ctx, d, space, note)
		}
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			rows[s.DatasourceID] = append(rows[s.DatasourceID], s)
		}
	}
	return rows, nil
}
