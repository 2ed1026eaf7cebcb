package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/filter"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// Number of rows whose datasource, generation and ordinal CountValues reads at a time.
const countBatch = 4096

// CountValues implements index.Index.
func (x *Index) CountValues(ctx context.Context, id index.Space, q index.CountQuery) (index.Counts, error) {
	wanted, err := lexical.NewFilter(q.Filter, id.DatastoreID)
	if err != nil {
		return index.Counts{}, err
	}
	out := index.Counts{ByKey: make(map[string]map[filter.Value]int)}
	err = x.use(ctx, id, false, func(s *store.Space) error {
		if err := x.permits.Acquire(ctx, 1); err != nil {
			return fmt.Errorf("waiting for a permit: %w", err)
		}
		defer x.permits.Release(1)
		return s.Read(ctx, func(v store.View) error {
			words := v.Lexical()
			passing, err := words.Filter(ctx, wanted)
			if err != nil {
				return err
			}
			documents, err := activeDocuments(ctx, v, passing, q.Active)
			if err != nil {
				return err
			}
			out.Documents = documents.Len()
			for _, key := range q.Keys {
				if out.ByKey[key], err = words.CountValues(ctx, key, id.DatastoreID, documents); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return index.Counts{}, fmt.Errorf("counting values in the space of datastore %q: %w", id.DatastoreID, err)
	}
	return out, nil
}

// activeDocuments returns the slots of live rows with ordinal 0 that pass a filter and belong to an active document.
func activeDocuments(ctx context.Context, v store.View, passing bitmap.Set, active func(context.Context, []index.Document) ([]bool, error)) (bitmap.Set, error) {
	out := bitmap.NewSet(v.Slots)
	hits := make([]index.Hit, countBatch)
	var slots, first []uint32
	var documents []index.Document
	flush := func() error {
		clear(hits[:len(slots)])
		if err := v.Locate(ctx, slots, hits[:len(slots)]); err != nil {
			return err
		}
		first, documents = first[:0], documents[:0]
		for i, h := range hits[:len(slots)] {
			if h.Ordinal == 0 {
				first, documents = append(first, slots[i]), append(documents, index.Document{DatasourceID: h.DatasourceID, Generation: h.Generation})
			}
		}
		slots = slots[:0]
		if len(documents) == 0 {
			return nil
		}
		are, err := active(ctx, documents)
		if err != nil {
			return err
		}
		for i, is := range are {
			if is {
				out.Add(first[i])
			}
		}
		return ctx.Err()
	}
	for slot := range v.Slots {
		if !v.Live.Has(slot) || !passing.Has(slot) {
			continue
		}
		if slots = append(slots, slot); len(slots) == countBatch {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	return out, flush()
}
