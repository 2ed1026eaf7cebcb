package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// Ledger is the catalog as an audit reads and mends it.
type Ledger interface {
	EachDatastore(ctx context.Context, f func(domain.Datastore) error) error
	Stores
	EachActive(ctx context.Context, datastoreID string, f func(catalog.ActiveState) error) error
	EachOriginal(ctx context.Context, f func(catalog.OriginalRef) error) error
	Datasource(ctx context.Context, workspaceID, id string) (domain.Datasource, error)
	NewJob(ctx context.Context, d domain.Datasource, kind domain.JobKind) (domain.Job, error)
	Requeue(ctx context.Context, workspaceID, id string, job domain.Job, p catalog.Priority) (domain.Datasource, error)
	QueueSweep(ctx context.Context, s domain.Sweep) error
	// DeleteIf deletes a datasource that is still as it was read, and reports whether it did.
	DeleteIf(ctx context.Context, d domain.Datasource) (bool, error)
	// Adopt takes over what the job log knows better than the catalog.
	Adopt(ctx context.Context, job domain.Job) (catalog.Adopted, error)
	Leases
}

// Leases let one of several processes do what need not be done by each.
type Leases interface {
	// Lease takes or renews the lease for the holder and reports whether it has it.
	Lease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error)
	// Release gives the lease back, if the holder has it.
	Release(ctx context.Context, name, holder string) error
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
	// Aged is Now for what is deleted because it is old, by a clock that may be slower to believe that time has passed; nil: Now.
	Aged func() time.Time
	// Audited, if set, is called after an audit that could look at everything, with when it began.
	Audited func(began time.Time)

	running sync.Mutex // two audits at once would each mend a part, and neither could say what was found
}

// Scope says how far an audit goes. The zero value is that of an audit from time to time.
type Scope struct {
	// Thorough has the files of an index that keeps checksums read from end to end: damage is then found before a query
	// meets it.
	Thorough bool
	// Prune has datasources deleted that have neither rows nor an original any more.
	Prune bool
}

// Report counts what an audit found and queued for mending.
type Report struct {
	Datasources      int   // compared, or passed over as Unfinished
	Unfinished       int   // being worked on: what they lack may still be in the making
	Adopted          int   // datasources that the catalog did not know, or knew only an older version of
	Missing          int   // datasources whose rows are incomplete: they are read again
	Refetched        int   // web pages that have lost their original: they are fetched again
	StrayRows        int64 // rows that no reader sees: they are swept
	StrayOriginals   int   // that no datasource refers to: they are swept
	MissingOriginals int   // datasources that have rows and no original: they cannot be read again
	Lost             int   // datasources that have neither all their rows nor an original: nothing can be mended
	Pruned           int   // datasources without any rows and without an original: they are deleted
}

// Clean reports whether nothing was found.
func (r Report) Clean() bool {
	return r == Report{Datasources: r.Datasources, Unfinished: r.Unfinished}
}

// Note takes what an audit has found and done, in words for people, a line each.
type Note func(format string, args ...any)

// uploadGrace is how long an original may lie unreferenced: its upload or the event of its fetch may be under way.
const uploadGrace = time.Hour

// firstAudit is how long after the start the first audit waits, so that it does not compete with recovery.
const firstAudit = time.Minute

// auditLease is held by the process that audits, and for a while after, so that the others need not.
const auditLease = "audit"

// Run audits until ctx ends.
func (a *Auditor) Run(ctx context.Context) {
	defer a.release(ctx)
	pause := min(firstAudit, a.Every)
	for {
		alarmed := false
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-a.Alarm:
			alarmed = true
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
		pause = a.round(ctx, alarmed)
	}
}

// release lets whoever comes after audit at once.
func (a *Auditor) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := a.Catalog.Release(ctx, auditLease, a.Holder); err != nil {
		a.Log.Warn("giving back the lease of the audit", "error", err)
	}
}

// round audits, unless another process has done so not long ago, and returns when to audit next. One that was alarmed
// knows of damage that no other may have seen, and does not ask.
func (a *Auditor) round(ctx context.Context, alarmed bool) (pause time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, auditBound)
	defer cancel()
	if !alarmed {
		held, err := a.Catalog.Lease(ctx, auditLease, a.Holder, a.Every/2)
		if err != nil && ctx.Err() == nil {
			a.Log.Warn("audit could not begin", "error", err)
			return min(firstAudit, a.Every)
		}
		if !held {
			return a.Every / 2
		}
	}
	report, err := a.Audit(ctx, Scope{}, func(format string, args ...any) { a.Log.Info("audit", "found", fmt.Sprintf(format, args...)) })
	if err != nil && ctx.Err() == nil {
		// Looking at everything is too dear to be repeated in haste.
		a.Log.Warn("audit is not complete", "error", err)
	}
	if !report.Clean() {
		a.Log.Info("audit found differences", "datasources", report.Datasources, "stray_rows", report.StrayRows,
			"missing", report.Missing, "stray_originals", report.StrayOriginals, "missing_originals", report.MissingOriginals,
			"refetched", report.Refetched, "lost", report.Lost)
	}
	return a.Every
}

// audit is one run of an Auditor.
type audit struct {
	*Auditor
	Scope
	Report
	note Note
	lost map[string]bool // datasources that are counted as Lost or Pruned
}

// Audit looks once at everything. What cannot be looked at does not keep it from the rest; all such errors are returned.
func (a *Auditor) Audit(ctx context.Context, scope Scope, note Note) (Report, error) {
	a.running.Lock()
	defer a.running.Unlock()
	began := a.Now()
	run := audit{Auditor: a, Scope: scope, note: note, lost: map[string]bool{}}
	err := run.everything(ctx)
	if err == nil && a.Audited != nil {
		a.Audited(began)
	}
	return run.Report, err
}

func (a *audit) everything(ctx context.Context) error {
	var stores []domain.Datastore
	err := a.Catalog.EachDatastore(ctx, func(d domain.Datastore) error {
		stores = append(stores, d)
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing datastores: %w", err)
	}
	faults := []error{a.discardDamaged(ctx)}
	for _, store := range stores {
		if err := a.datastore(ctx, store); err != nil {
			faults = append(faults, fmt.Errorf("auditing datastore %s: %w", store.ID, err))
		}
		if ctx.Err() != nil {
			return errors.Join(faults...)
		}
	}
	return errors.Join(append(faults, a.originals(ctx))...)
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
