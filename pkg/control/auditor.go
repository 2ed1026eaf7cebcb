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
	EachActive(ctx context.Context, datastoreID string, f func(catalog.ActiveState) error) error
	EachOriginal(ctx context.Context, f func(key string) error) error
	Datasource(ctx context.Context, workspaceID, id string) (domain.Datasource, error)
	Requeue(ctx context.Context, workspaceID, id string, job domain.Job, p catalog.Priority) (domain.Datasource, error)
	QueueSweep(ctx context.Context, s domain.Sweep) error
}

// Inventory is the index as an audit reads it.
type Inventory interface {
	Stored(ctx context.Context, space index.Space, f func(index.Stored) error) error
}

// OriginalsList is the store of originals as an audit reads it.
type OriginalsList interface {
	Each(ctx context.Context, f func(key string, size int64, modified time.Time) error) error
}

// Auditor compares what lies in the index and in originals with what the catalog says, queues sweeps for strays and
// issues jobs for what is missing. Anything that may still be in the making is left alone.
type Auditor struct {
	Catalog   Ledger
	Spaces    Spaces
	Index     Inventory
	Originals OriginalsList
	Every     time.Duration
	Log       *slog.Logger
	Now       func() time.Time
}

// Report counts what an audit found and queued for mending.
type Report struct {
	Datasources    int // looked at
	StrayRows      int64
	Missing        int // datasources whose rows are incomplete
	StrayOriginals int
}

// uploadGrace is how long an original may lie unreferenced: its upload or the event of its fetch may be under way.
const uploadGrace = time.Hour

// settling is how long before an audit a generation must have become active to be compared: the index is read first, and
// what was written while it was read is not missing. It allows for clocks that differ.
const settling = 5 * time.Minute

// firstAudit is how long after the start the first audit waits, so that it does not compete with recovery.
const firstAudit = time.Minute

// Run audits until ctx ends.
func (a *Auditor) Run(ctx context.Context) {
	if !wait(ctx, nil, min(firstAudit, a.Every)) {
		return
	}
	every(ctx, a.Log, nil, a.Every, auditBound, func(ctx context.Context) (bool, error) {
		report, err := a.Audit(ctx)
		if err != nil {
			// Looking at everything is too dear to be repeated in haste.
			a.Log.Warn("audit is not complete", "error", err)
		}
		if report.StrayRows > 0 || report.Missing > 0 || report.StrayOriginals > 0 {
			a.Log.Info("audit found differences", "datasources", report.Datasources, "stray_rows", report.StrayRows,
				"missing", report.Missing, "stray_originals", report.StrayOriginals)
		}
		return false, nil
	})
}

// Audit looks once at everything. What cannot be looked at does not keep it from the rest; all such errors are returned.
func (a *Auditor) Audit(ctx context.Context) (Report, error) {
	var report Report
	var stores []domain.Datastore
	err := a.Catalog.EachDatastore(ctx, func(d domain.Datastore) error {
		stores = append(stores, d)
		return nil
	})
	if err != nil {
		return report, fmt.Errorf("listing datastores: %w", err)
	}
	var faults []error
	for _, store := range stores {
		if err := a.datastore(ctx, store, &report); err != nil {
			faults = append(faults, fmt.Errorf("auditing datastore %s: %w", store.ID, err))
		}
		if ctx.Err() != nil {
			return report, errors.Join(faults...)
		}
	}
	return report, errors.Join(append(faults, a.originals(ctx, &report))...)
}

func (a *Auditor) datastore(ctx context.Context, store domain.Datastore, report *Report) error {
	// The index is read before the catalog: a generation that becomes active in between is then seen as active, and one
	// that is being written belongs to a datasource that the catalog shows as unfinished.
	stored := map[string][]index.Stored{}
	settled := a.Now().Add(-settling)
	spaces, err := a.Spaces.Spaces(ctx, store.ID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	for _, space := range spaces {
		err := a.Index.Stored(ctx, space, func(s index.Stored) error {
			stored[s.DatasourceID] = append(stored[s.DatasourceID], s)
			return nil
		})
		if err != nil {
			return fmt.Errorf("listing rows: %w", err)
		}
	}
	err = a.Catalog.EachActive(ctx, store.ID, func(state catalog.ActiveState) error {
		report.Datasources++
		rows := stored[state.DatasourceID]
		delete(stored, state.DatasourceID)
		return a.datasource(ctx, store, state, rows, settled, report)
	})
	if err != nil {
		return fmt.Errorf("listing active generations: %w", err)
	}
	for id, rows := range stored { // datasources that the catalog does not know
		// Not every generation: a page of a site may come back under its id before the sweep, and what it writes then stays.
		sweep := domain.Sweep{WorkspaceID: store.WorkspaceID, DatastoreID: store.ID, DatasourceID: id}
		for _, r := range rows {
			report.StrayRows += r.Rows
			sweep.Below = max(sweep.Below, r.Generation+1)
		}
		if err := a.Catalog.QueueSweep(ctx, sweep); err != nil {
			return fmt.Errorf("queueing a sweep: %w", err)
		}
	}
	return nil
}

func (a *Auditor) datasource(ctx context.Context, store domain.Datastore, state catalog.ActiveState, rows []index.Stored, settled time.Time, report *Report) error {
	var active, older int64
	for _, r := range rows {
		switch {
		case r.Generation == state.Generation:
			active += r.Rows
		case r.Generation < state.Generation:
			older += r.Rows
		}
	}
	if older > 0 {
		report.StrayRows += older
		sweep := domain.Sweep{WorkspaceID: store.WorkspaceID, DatastoreID: store.ID, DatasourceID: state.DatasourceID, Below: state.Generation}
		if err := a.Catalog.QueueSweep(ctx, sweep); err != nil {
			return fmt.Errorf("queueing a sweep: %w", err)
		}
	}
	if state.Generation == 0 || active == state.Chunks || !state.Status.Terminal() {
		return nil
	}
	return a.readAgain(ctx, store, state, settled, report)
}

// readAgain has a datasource's original read again because rows of its active generation are missing.
func (a *Auditor) readAgain(ctx context.Context, store domain.Datastore, state catalog.ActiveState, settled time.Time, report *Report) error {
	d, err := a.Catalog.Datasource(ctx, store.WorkspaceID, state.DatasourceID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading datasource %s: %w", state.DatasourceID, err)
	}
	if d.ActiveGeneration != state.Generation || d.Original == nil || !d.Status.Terminal() {
		return nil // it has moved on since it was listed
	}
	if d.LastSynch != nil && d.LastSynch.After(settled) {
		return nil
	}
	_, err = a.Catalog.Requeue(ctx, store.WorkspaceID, d.ID, domain.NewIngestJob(d, store.EmbeddingModel), catalog.PriorityReplay)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("issuing a job for datasource %s: %w", d.ID, err)
	}
	report.Missing++
	return nil
}

func (a *Auditor) originals(ctx context.Context, report *Report) error {
	// The store is read before the catalog, so that an original referenced in between is seen as referenced.
	unreferenced := map[string]bool{}
	newest := a.Now().Add(-uploadGrace)
	err := a.Originals.Each(ctx, func(key string, _ int64, modified time.Time) error {
		if modified.Before(newest) {
			unreferenced[key] = true
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing originals: %w", err)
	}
	if len(unreferenced) == 0 {
		return nil
	}
	err = a.Catalog.EachOriginal(ctx, func(key string) error {
		delete(unreferenced, key)
		return nil
	})
	if err != nil {
		return fmt.Errorf("listing referenced originals: %w", err)
	}
	for key := range unreferenced {
		report.StrayOriginals++
		if err := a.Catalog.QueueSweep(ctx, domain.Sweep{Originals: []string{key}}); err != nil {
			return fmt.Errorf("queueing a sweep: %w", err)
		}
	}
	return nil
}
