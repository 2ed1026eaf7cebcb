package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// Write implements index.Index. If several rows have the same key, only the last one is stored.
func (x *Index) Write(ctx context.Context, id index.Space, rows []index.Row) error {
	batch, err := x.prepare(ctx, id, rows)
	if err != nil {
		return err
	}
	err = x.use(ctx, id, true, func(s *store.Space) error {
		if len(batch.Rows) == 0 {
			return nil
		}
		if err := s.Write(ctx, batch); err != nil {
			return err
		}
		x.queueMerge(s, id)
		return nil
	})
	if err != nil {
		return fmt.Errorf("writing %d rows of datastore %q: %w", len(rows), id.DatastoreID, err)
	}
	return nil
}

// prepare validates and analyses rows outside the write lock.
func (x *Index) prepare(ctx context.Context, id index.Space, rows []index.Row) (*store.Batch, error) {
	words, err := x.analyzers.get(ctx)
	if err != nil {
		return nil, err
	}
	defer x.analyzers.put(words)
	out := make([]*store.Prepared, 0, len(rows))
	at := make(map[string]int, len(rows))
	preparer := store.NewPreparer(id.Dimensions, words)
	for i := range rows {
		p, err := preparer.Prepare(&rows[i])
		if err != nil {
			return nil, fmt.Errorf("writing row %d with key %.80q: %w", i, rows[i].Key, err)
		}
		if j, ok := at[rows[i].Key]; ok {
			out[j] = p
			continue
		}
		at[rows[i].Key] = len(out)
		out = append(out, p)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("analysing rows: %w", ctx.Err())
		}
	}
	return store.NewBatch(preparer.Words, out), nil
}

// DeleteGenerations implements index.Index. It uses a single commit, or several if there are many rows.
func (x *Index) DeleteGenerations(ctx context.Context, id index.Space, generations ...index.Generations) error {
	all := slices.DeleteFunc(slices.Clone(generations), func(g index.Generations) bool { return g.From >= g.Below })
	if len(all) == 0 {
		return nil
	}
	err := x.use(ctx, id, false, func(s *store.Space) error {
		if err := s.DeleteGenerations(ctx, all); err != nil {
			return err
		}
		x.queueMerge(s, id)
		return nil
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("deleting generations of datasource %q and %d others: %w", all[0].DatasourceID, len(all)-1, err)
	}
	return nil
}

// Rows implements index.Index.
func (x *Index) Rows(ctx context.Context, id index.Space, datasourceID string, generation uint64, fromOrdinal, limit int) ([]index.Row, error) {
	if limit < 0 {
		return nil, fmt.Errorf("%w: the limit %d is negative", index.ErrInvalid, limit)
	}
	var out []index.Row
	err := x.read(ctx, id, func(v store.View) (err error) {
		out, err = v.RowsOf(ctx, datasourceID, generation, fromOrdinal, limit)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("reading rows of datasource %q: %w", datasourceID, err)
	}
	return out, nil
}

// Count implements index.Index.
func (x *Index) Count(ctx context.Context, id index.Space, datasourceID string, generation uint64) (int64, error) {
	var n int64
	err := x.read(ctx, id, func(v store.View) (err error) {
		n, err = v.Count(ctx, datasourceID, generation)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, fmt.Errorf("counting rows of datasource %q: %w", datasourceID, err)
	}
	return n, nil
}

// Stored implements index.Index.
func (x *Index) Stored(ctx context.Context, id index.Space, f func(index.Stored) error) error {
	err := x.read(ctx, id, func(v store.View) error { return v.Stored(ctx, f) })
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// Fill implements index.Index.
func (x *Index) Fill(ctx context.Context, id index.Space, hits []*index.Hit) error {
	wanted := make(map[uint32]*index.Hit, len(hits))
	for _, h := range hits {
		if !h.Complete {
			wanted[uint32(h.Location)] = h
		}
	}
	if len(wanted) == 0 {
		return ctx.Err()
	}
	// Search has just checked that the files were not deleted or replaced, so acquire is enough.
	err := x.useWith(ctx, id, false, x.acquire, func(s *store.Space) error {
		return s.ReadLazy(ctx, func(v store.View) error { return v.Fill(ctx, wanted) })
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("reading %d hits of datastore %q: %w", len(wanted), id.DatastoreID, err)
	}
	return nil
}

// analyzers is a pool with one analyser per processor. An analyser caches the words it has seen. A nil entry is created
// on first use.
type analyzers chan *analysis.Analyzer

func newAnalyzers(n int) analyzers {
	free := make(analyzers, n)
	for range n {
		free <- nil
	}
	return free
}

// get waits for an analyser. The caller must return it with put.
func (free analyzers) get(ctx context.Context) (*analysis.Analyzer, error) {
	select {
	case a := <-free:
		if a == nil {
			a = new(analysis.Analyzer)
		}
		return a, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to analyse rows: %w", ctx.Err())
	}
}

func (free analyzers) put(a *analysis.Analyzer) { free <- a }

// clear drops the caches of all idle analysers, a few megabytes each.
func (free analyzers) clear() {
	for range cap(free) {
		select {
		case <-free:
			free <- nil
		default:
		}
	}
}
