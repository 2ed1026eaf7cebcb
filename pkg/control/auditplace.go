package control

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// placeAudit compares the index with the catalog in one of a datastore's places. A place is an engine and an embedding
// model.
type placeAudit struct {
	*audit
	store     domain.Datastore
	place     domain.Place
	rows      map[string][]index.Stored // by datasource
	strayRows int64
	missing   int
	suspects  []catalog.ActiveState // datasources that seem to have missing rows
}

// Maximum number of suspects whose rows are counted one by one. If there are more, the whole place is listed again: a
// count takes tens of milliseconds in Milvus, so after the loss of an index, counting would take longer than the
// rebuild.
const maxCounts = 16

func (a *audit) datastore(ctx context.Context, store domain.Datastore) error {
	for i, p := range store.Places() {
		// Read the index before the catalog. Then a generation activated in between shows as active in the catalog, and
		// one still being written belongs to a datasource with an unfinished job.
		idx, spaces, err := spacesIn(ctx, a.Engines, store.ID, p)
		if err != nil {
			return err
		}
		rows, err := a.stored(ctx, idx, spaces)
		if err != nil {
			return fmt.Errorf("listing rows in %s: %w", p, err)
		}
		here := placeAudit{audit: a, store: store, place: p, rows: rows}
		err = here.run(ctx, i == 0)
		a.StrayRows += here.strayRows
		a.Missing += here.missing
		if here.strayRows > 0 {
			a.note("datastore %s (%s): %s in %s will be removed", store.ID, store.Name, formatCount(here.strayRows, "stray row"), p)
		}
		if here.missing > 0 {
			a.note("datastore %s (%s): rows of %s are missing in %s; their documents will be indexed again", store.ID, store.Name, formatCount(here.missing, "datasource"), p)
		}
		if err != nil {
			return err
		}
	}
	return a.sweepAbandoned(ctx, store)
}

// sweepAbandoned sweeps rows that are neither in the datastore's current place nor in its move's target.
func (a *audit) sweepAbandoned(ctx context.Context, store domain.Datastore) error {
	left := map[domain.Place]index.Stored{} // number of rows and highest generation
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
	// Read the datastore again: a move may have started since the first read. One that starts later can't have written
	// the rows counted above.
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
		a.StrayRows += rows.Rows
		a.note("datastore %s (%s): %s in %s, which the datastore does not use, will be removed", store.ID, store.Name, formatCount(rows.Rows, "row"), p)
		err := a.Catalog.QueueSweep(ctx, domain.Sweep{WorkspaceID: store.WorkspaceID, DatastoreID: store.ID, Place: p, Below: rows.Generation + 1})
		if err != nil {
			return fmt.Errorf("queueing a sweep: %w", err)
		}
	}
	return nil
}

// run compares the index with the catalog for every datasource in the datastore. If `count` is set, it also counts the
// datasources; callers set it only for the datastore's first place, so that each is counted once.
func (a *placeAudit) run(ctx context.Context, count bool) error {
	err := a.Catalog.EachActive(ctx, a.store.ID, func(state catalog.ActiveState) error {
		if count {
			a.Datasources++
			if !state.Status.Terminal() {
				a.Unfinished++
			}
		}
		rows := a.rows[state.DatasourceID]
		delete(a.rows, state.DatasourceID)
		return a.datasource(ctx, state, rows)
	})
	if err != nil {
		return fmt.Errorf("listing active generations: %w", err)
	}
	if err := a.confirm(ctx); err != nil {
		return err
	}
	for id, rows := range a.rows { // datasources missing from the catalog
		// Sweep only the generations known so far. By the time of the sweep, a page with the same id may have been
		// added to the site again, and its new rows must stay.
		var n int64
		var last uint64
		for _, r := range rows {
			n, last = n+r.Rows, max(last, r.Generation)
		}
		if err := a.sweep(ctx, id, 0, last+1, n); err != nil {
			return err
		}
	}
	return nil
}

func (a *placeAudit) sweep(ctx context.Context, datasourceID string, from, below uint64, rows int64) error {
	a.strayRows += rows
	err := a.Catalog.QueueSweep(ctx, domain.Sweep{
		WorkspaceID: a.store.WorkspaceID, DatastoreID: a.store.ID, DatasourceID: datasourceID, Place: a.place, From: from, Below: below,
	})
	if err != nil {
		return fmt.Errorf("queueing a sweep: %w", err)
	}
	return nil
}

// expected returns the datasource's generation that belongs in the place, and the number of its rows. It returns zeros
// if the place should contain no rows for the datasource.
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
			// This generation was written by a failed or superseded job, so it can never become active.
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
	a.suspects = append(a.suspects, state)
	return nil
}

// rowCounter returns the number of rows the place has for a generation.
type rowCounter func(ctx context.Context, datasourceID string, generation uint64) (int64, error)

// confirm repairs the suspects whose rows really are missing.
func (a *placeAudit) confirm(ctx context.Context) error {
	var count rowCounter = a.count
	if len(a.suspects) > maxCounts {
		var err error
		if count, err = a.recount(ctx); err != nil {
			return err
		}
	}
	for _, state := range a.suspects {
		if err := a.incomplete(ctx, state, count); err != nil {
			return err
		}
	}
	return nil
}

// incomplete repairs a datasource with missing rows after confirming that they really are missing. `count` must have
// read the rows after `state` was read from the catalog.
func (a *placeAudit) incomplete(ctx context.Context, state catalog.ActiveState, count rowCounter) error {
	// The index and the catalog were read at different times, so rows may only seem to be missing. An active generation
	// is always complete, so count the rows and then read the catalog again: if the same generation is still active,
	// the rows really are missing.
	generation, chunks := a.expected(state)
	have, err := count(ctx, state.DatasourceID, generation)
	if err != nil || have == chunks {
		return err
	}
	d, same, err := a.reread(ctx, state)
	if err != nil || !same || d.Original == nil {
		return err
	}
	gone, err := a.hasLostOriginal(ctx, d)
	if err != nil {
		return err
	}
	if gone && d.Type == domain.TypeWebPage && d.Status == domain.StatusSynched {
		return a.fetchAgain(ctx, d)
	}
	if gone && a.place == a.store.Serving() {
		deleted, err := a.countLost(ctx, d, have, chunks)
		if err != nil || deleted || d.Status == domain.StatusError {
			return err
		}
		// The new job will fail because the original is missing, and its error tells users that the original is lost.
		return a.requeue(ctx, d)
	}
	a.missing++
	return a.requeue(ctx, d)
}

// reread reads a datasource again and reports whether its active generation is unchanged.
func (a *placeAudit) reread(ctx context.Context, state catalog.ActiveState) (d domain.Datasource, same bool, err error) {
	d, err = a.Catalog.Datasource(ctx, a.store.WorkspaceID, state.DatasourceID)
	if err != nil {
		return d, false, ignoreNotFound(err, "reading", state.DatasourceID)
	}
	same = d.Status.Terminal() && d.ActiveGeneration == state.Generation && (d.Target == nil) == (state.Target == nil)
	if same && d.Target != nil {
		same = d.Target.Generation == state.Target.Generation
	}
	return d, same, nil
}

// count returns how many rows of a generation the place currently has.
func (a *placeAudit) count(ctx context.Context, datasourceID string, generation uint64) (sum int64, err error) {
	idx, spaces, err := spacesIn(ctx, a.Engines, a.store.ID, a.place)
	if err != nil {
		return 0, err
	}
	for _, space := range spaces {
		n, err := idx.Count(ctx, space, datasourceID, generation)
		if err != nil {
			return 0, fmt.Errorf("counting the rows of datasource %s in %s: %w", datasourceID, a.place, err)
		}
		sum += n
	}
	return sum, nil
}

// recount lists the place's rows again, to count them by generation.
func (a *placeAudit) recount(ctx context.Context) (rowCounter, error) {
	type generation struct {
		datasourceID string
		number       uint64
	}
	idx, spaces, err := spacesIn(ctx, a.Engines, a.store.ID, a.place)
	if err != nil {
		return nil, err
	}
	rows := map[generation]int64{}
	for _, space := range spaces {
		err := idx.Stored(ctx, space, func(s index.Stored) error {
			rows[generation{s.DatasourceID, s.Generation}] += s.Rows
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("listing rows in %s again: %w", a.place, err)
		}
	}
	return func(_ context.Context, datasourceID string, number uint64) (int64, error) {
		return rows[generation{datasourceID, number}], nil
	}, nil
}

// requeue queues a job that processes the datasource's original again.
func (a *placeAudit) requeue(ctx context.Context, d domain.Datasource) error {
	job := domain.NewIngestJob(d, a.store)
	job.Force = true
	_, err := a.Catalog.Requeue(ctx, d.WorkspaceID, d.ID, job, catalog.PriorityReplay)
	return ignoreNotFound(err, "creating a job for", d.ID)
}
