package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// placeAudit compares one place of a datastore with the catalog.
type placeAudit struct {
	*Auditor
	store   domain.Datastore
	place   domain.Place
	rows    map[string][]index.Stored // by datasource
	settled time.Time                 // what has changed since may still be in the making
	strays  int64
	missing int
}

func (a *Auditor) datastore(ctx context.Context, store domain.Datastore, report *Report, note Note) error {
	for i, p := range store.Places() {
		// The index is read before the catalog: a generation that becomes active in between is then seen as active, and
		// one that is being written belongs to a datasource that the catalog shows as unfinished.
		settled := a.Now().Add(-settling)
		idx, spaces, err := spacesIn(ctx, a.Engines, store.ID, p)
		if err != nil {
			return err
		}
		rows, err := stored(ctx, idx, spaces, note)
		if err != nil {
			return fmt.Errorf("listing rows in %s: %w", p, err)
		}
		audit := placeAudit{Auditor: a, store: store, place: p, rows: rows, settled: settled}
		looked, err := audit.run(ctx)
		if err != nil {
			return err
		}
		if i == 0 {
			report.Datasources += looked
		}
		report.StrayRows += audit.strays
		report.Missing += audit.missing
		if audit.strays > 0 {
			note("datastore %s (%s): %d rows in %s belong to nothing: they are removed", store.ID, store.Name, audit.strays, p)
		}
		if audit.missing > 0 {
			note("datastore %s (%s): %d datasources have not all of their rows in %s: they are read again", store.ID, store.Name, audit.missing, p)
		}
	}
	return a.abandoned(ctx, store, report, note)
}

// abandoned sweeps what lies where the datastore neither is nor goes.
func (a *Auditor) abandoned(ctx context.Context, store domain.Datastore, report *Report, note Note) error {
	left := map[domain.Place]index.Stored{} // what was there, with the highest generation of it
	for _, e := range a.Engines.Engines() {
		idx, err := a.Engines.Index(e)
		if err != nil {
			return err
		}
		spaces, err := idx.Spaces(ctx, store.ID)
		if err != nil {
			return fmt.Errorf("listing the spaces of %s: %w", e, err)
		}
		for _, space := range spaces {
			p := domain.Place{Engine: e, Model: space.Model}
			if slices.Contains(store.Places(), p) {
				continue
			}
			err := idx.Stored(ctx, space, func(s index.Stored) error {
				sum := left[p]
				left[p] = index.Stored{Rows: sum.Rows + s.Rows, Generation: max(sum.Generation, s.Generation)}
				return nil
			})
			if err != nil {
				return fmt.Errorf("listing rows in %s: %w", p, err)
			}
		}
	}
	if len(left) == 0 {
		return nil
	}
	// A move that has begun since writes there rightly. What was listed before this reading is not of a later one.
	now, err := a.Catalog.DatastoreByID(ctx, store.ID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading datastore %s again: %w", store.ID, err)
	}
	for p, rows := range left {
		if slices.Contains(now.Places(), p) {
			continue
		}
		report.StrayRows += rows.Rows
		note("datastore %s (%s): %d rows are left in %s: they are removed", store.ID, store.Name, rows.Rows, p)
		err := a.Catalog.QueueSweep(ctx, domain.Sweep{WorkspaceID: store.WorkspaceID, DatastoreID: store.ID, Place: p, Below: rows.Generation + 1})
		if err != nil {
			return fmt.Errorf("queueing a sweep: %w", err)
		}
	}
	return nil
}

func (a *placeAudit) run(ctx context.Context) (looked int, err error) {
	err = a.Catalog.EachActive(ctx, a.store.ID, func(state catalog.ActiveState) error {
		looked++
		rows := a.rows[state.DatasourceID]
		delete(a.rows, state.DatasourceID)
		return a.datasource(ctx, state, rows)
	})
	if err != nil {
		return looked, fmt.Errorf("listing active generations: %w", err)
	}
	for id, rows := range a.rows { // datasources that the catalog does not know
		// Not every generation: a page of a site may come back under its id before the sweep, and what it writes then stays.
		var n int64
		var last uint64
		for _, r := range rows {
			n, last = n+r.Rows, max(last, r.Generation)
		}
		if err := a.sweep(ctx, id, 0, last+1, n); err != nil {
			return looked, err
		}
	}
	return looked, nil
}

func (a *placeAudit) sweep(ctx context.Context, datasourceID string, from, below uint64, rows int64) error {
	a.strays += rows
	err := a.Catalog.QueueSweep(ctx, domain.Sweep{
		WorkspaceID: a.store.WorkspaceID, DatastoreID: a.store.ID, DatasourceID: datasourceID, Place: a.place, From: from, Below: below,
	})
	if err != nil {
		return fmt.Errorf("queueing a sweep: %w", err)
	}
	return nil
}

// expected is the generation that the place should hold of a datasource, and its rows; 0 when it need not hold any.
func (a *placeAudit) expected(state catalog.ActiveState) (generation uint64, rows int64) {
	switch {
	case a.place == a.store.Serving():
		return state.Generation, state.Chunks
	case state.Target != nil:
		return state.Target.Generation, state.Target.Chunks
	default:
		return 0, 0
	}
}

func (a *placeAudit) datasource(ctx context.Context, state catalog.ActiveState, rows []index.Stored) error {
	generation, chunks := a.expected(state)
	var have, older int64
	for _, r := range rows {
		switch {
		case r.Generation == generation:
			have += r.Rows
		case r.Generation < generation:
			older += r.Rows
		case r.Generation <= state.Fence && state.Status.Terminal():
			// Left by a job that failed, or by one that it overtook: it cannot become active any more.
			if err := a.sweep(ctx, state.DatasourceID, r.Generation, r.Generation+1, r.Rows); err != nil {
				return err
			}
		}
	}
	if older > 0 {
		if err := a.sweep(ctx, state.DatasourceID, 0, generation, older); err != nil {
			return err
		}
	}
	if generation == 0 || have == chunks || !state.Status.Terminal() {
		return nil
	}
	return a.readAgain(ctx, state)
}

// readAgain has a datasource's original read again because rows are missing.
func (a *placeAudit) readAgain(ctx context.Context, state catalog.ActiveState) error {
	d, err := a.Catalog.Datasource(ctx, a.store.WorkspaceID, state.DatasourceID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading datasource %s: %w", state.DatasourceID, err)
	}
	if d.ActiveGeneration != state.Generation || d.Original == nil || !d.Status.Terminal() || d.UpdatedAt.After(a.settled) {
		return nil // it has moved on since it was listed, or was about to
	}
	job := domain.NewIngestJob(d, a.store)
	job.Force = true
	_, err = a.Catalog.Requeue(ctx, a.store.WorkspaceID, d.ID, job, catalog.PriorityReplay)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("issuing a job for datasource %s: %w", d.ID, err)
	}
	a.missing++
	return nil
}
