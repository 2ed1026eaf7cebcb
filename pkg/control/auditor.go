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

// AuditCatalog is the part of the catalog that audits read and repair.
type AuditCatalog interface {
	EachDatastore(ctx context.Context, f func(domain.Datastore) error) error
	Stores
	EachActive(ctx context.Context, datastoreID string, f func(catalog.ActiveState) error) error
	EachOriginal(ctx context.Context, f func(catalog.OriginalRef) error) error
	Datasource(ctx context.Context, workspaceID, id string) (domain.Datasource, error)
	NewJob(ctx context.Context, d domain.Datasource, kind domain.JobKind) (domain.Job, error)
	Requeue(ctx context.Context, workspaceID, id string, job domain.Job, p catalog.Priority) (domain.Datasource, error)
	QueueSweep(ctx context.Context, s domain.Sweep) error
	// DeleteIf deletes a datasource unless the datasource has changed since it was read. It reports whether it deleted
	// the datasource.
	DeleteIf(ctx context.Context, d domain.Datasource) (bool, error)
	// Adopt updates the catalog from a job newer than the catalog's state.
	Adopt(ctx context.Context, job domain.Job) (catalog.Adopted, error)
	Leases
}

// Leases ensure that only one process at a time performs a task.
type Leases interface {
	// Lease acquires or renews the lease and reports whether the holder has it.
	Lease(ctx context.Context, name, holder string, ttl time.Duration) (bool, error)
	// Release gives up the lease if the holder has it.
	Release(ctx context.Context, name, holder string) error
}

// Log is the job log. LastJobs calls f for every datasource's last job, skipping generations below `from`.
type Log interface {
	LastJobs(ctx context.Context, from uint64, f func(domain.Job) error) error
}

// OriginalsList is the part of the original store that audits read.
type OriginalsList interface {
	Each(ctx context.Context, f func(key string, size int64, modified time.Time) error) error
	Exists(ctx context.Context, key string) (bool, error)
	// Verify checks an original's digest. It fails with originals.ErrCorrupt if there is no intact copy, and with
	// originals.ErrNotFound if the original was deleted.
	Verify(ctx context.Context, key string) error
}

// Auditor compares the index and the original store with the catalog. It queues sweeps for stray rows and originals,
// and jobs to restore missing ones. Datasources with unfinished jobs are ignored.
type Auditor struct {
	Catalog   AuditCatalog
	Engines   Engines
	Originals OriginalsList
	JobLog    Log
	Every     time.Duration
	// Alarm, unless nil, receives a value when an index has detected damage. The next audit then starts immediately.
	Alarm  <-chan struct{}
	Holder string // unique name of this process
	Log    *slog.Logger
	Now    func() time.Time
	// GuardedNow is the clock for deciding whether data is old enough to delete. It may lag behind Now after the system
	// clock has jumped. If nil, Now is used instead.
	GuardedNow func() time.Time
	// Audited, unless nil, is called after every audit without errors. `began` is when the audit started.
	Audited func(began time.Time)

	running sync.Mutex // held during an audit: concurrent audits would each report only some of the differences
}

// Scope says how much work an audit does. Periodic audits use the zero value.
type Scope struct {
	// Thorough audits verify all checksums in the index and the digests of all originals, and so find damage before a
	// query or reader does.
	Thorough bool
	// Prune makes the audit delete datasources that have neither rows nor an original.
	Prune bool
}

// Report counts the differences found by an audit and the repairs it queued.
type Report struct {
	Datasources      int   // all datasources, including Unfinished
	Unfinished       int   // datasources not compared because they have unfinished jobs
	Adopted          int   // datasources that were missing or outdated in the catalog
	Missing          int   // datasources with missing rows; their originals are processed again
	Refetched        int   // web pages refetched because they have no original
	StrayRows        int64 // rows swept because no active generation contains them
	StrayOriginals   int   // originals swept because no datasource refers to them
	MissingOriginals int   // datasources with rows but no original, which cannot be re-indexed
	DamagedOriginals int   // datasources whose original is damaged on all servers, which cannot be re-indexed
	Lost             int   // datasources with missing rows and no original, which cannot be repaired
	Pruned           int   // datasources deleted because they have neither rows nor an original
}

// Clean reports whether there are no differences.
func (r Report) Clean() bool {
	return r == Report{Datasources: r.Datasources, Unfinished: r.Unfinished}
}

// Note reports an audit's findings and actions to the operator, one line per call.
type Note func(format string, args ...any)

// An unreferenced original younger than uploadGrace doesn't count as stray: its upload may still be in progress.
const uploadGrace = time.Hour

// Delay before the first audit after startup, so that it does not compete with recovery.
const firstAudit = time.Minute

// Name of the lease that a process needs for an audit. The process keeps the lease after the audit, so that other
// processes skip their next one.
const auditLease = "audit"

// Run audits until ctx is done.
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

// release gives up the lease so that another process can audit at once.
func (a *Auditor) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := a.Catalog.Release(ctx, auditLease, a.Holder); err != nil {
		a.Log.Warn("could not release the lease of the audit", "error", err)
	}
}

// round runs an audit unless another process has done so recently, and returns how long to wait until the next. It
// always runs after an alarm, because other processes may not have noticed the damage.
func (a *Auditor) round(ctx context.Context, alarmed bool) (pause time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, auditBound)
	defer cancel()
	if !alarmed {
		held, err := a.Catalog.Lease(ctx, auditLease, a.Holder, a.Every/2)
		if err != nil && ctx.Err() == nil {
			a.Log.Warn("could not start an audit", "error", err)
			return min(firstAudit, a.Every)
		}
		if !held {
			return a.Every / 2
		}
	}
	report, err := a.Audit(ctx, Scope{}, func(format string, args ...any) { a.Log.Info("audit", "found", fmt.Sprintf(format, args...)) })
	if err != nil && ctx.Err() == nil {
		// Audits are expensive, so don't retry before the next regular one.
		a.Log.Warn("the audit could not be completed", "error", err)
	}
	if !report.Clean() {
		a.Log.Info("audit found differences", "datasources", report.Datasources, "stray_rows", report.StrayRows,
			"missing", report.Missing, "stray_originals", report.StrayOriginals, "missing_originals", report.MissingOriginals,
			"damaged_originals", report.DamagedOriginals,
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
	lost map[string]bool // ids of the datasources counted as Lost or Pruned

	lostFiles int // files and upload parts with lost or damaged content
}

// Audit runs one audit. It continues after errors and returns them all.
func (a *Auditor) Audit(ctx context.Context, scope Scope, note Note) (Report, error) {
	a.running.Lock()
	defer a.running.Unlock()
	began := a.Now()
	run := audit{Auditor: a, Scope: scope, note: note, lost: map[string]bool{}}
	err := run.auditAll(ctx)
	if err == nil && a.Audited != nil {
		a.Audited(began)
	}
	return run.Report, err
}

func (a *audit) auditAll(ctx context.Context) error {
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

// Adopt updates the catalog from the jobs in the job log with a generation of at least `from`. The catalog lacks those
// jobs if an old copy of the database was restored.
func (a *Auditor) Adopt(ctx context.Context, from uint64, report *Report, note Note) error {
	err := a.JobLog.LastJobs(ctx, from, func(job domain.Job) error {
		adopted, err := a.Catalog.Adopt(ctx, job)
		if err != nil {
			return fmt.Errorf("importing job %s of datasource %s: %w", job.ID, job.DatasourceID, err)
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
