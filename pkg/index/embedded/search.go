package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

// maxLimit is the largest number of candidates per leg.
const maxLimit = 10_000

// Search implements index.Index.
func (x *Index) Search(ctx context.Context, id index.Space, q index.Query) (index.Result, error) {
	if q.Limit < 1 || q.Limit > maxLimit {
		return index.Result{}, fmt.Errorf("%w: the limit %d is not between 1 and %d", index.ErrInvalid, q.Limit, maxLimit)
	}
	fields, err := filterFields(q.Filter)
	if err != nil {
		return index.Result{}, err
	}
	var vector []float32
	if q.Vector != nil {
		if vector, err = index.Unit(q.Vector, id.Dimensions); err != nil {
			return index.Result{}, err
		}
	}
	x.searches.Add(1)
	var out index.Result
	err = x.use(ctx, id, false, func(s *space) error {
		return s.glance(ctx, func(v view) error {
			var err error
			out, err = v.search(ctx, q, fields, vector)
			return err
		})
	})
	if errors.Is(err, errNoSpace) {
		return emptyResult(q.Text), nil
	}
	if err != nil {
		return index.Result{}, fmt.Errorf("searching space of datastore %q: %w", id.DatastoreID, err)
	}
	return out, nil
}

// emptyResult is what a space finds that has no rows.
func emptyResult(text string) index.Result {
	v := view{snapshot: &snapshot{}}
	l, err := v.score(context.Background(), analysis.Query(text, nil), nil)
	if err != nil {
		return index.Result{} // nothing is read where there is no segment
	}
	defer l.release()
	return index.Result{MaxLexical: l.max, TermWeights: l.weights}
}

// search runs both legs and gathers the union of their best.
func (v view) search(ctx context.Context, q index.Query, fields [][]string, vector []float32) (index.Result, error) {
	filter, err := v.resolve(ctx, fields)
	if err != nil {
		return index.Result{}, err
	}
	var terms []analysis.QueryTerm
	if q.Text != "" {
		terms = analysis.Query(q.Text, v.languages())
	}
	words, err := v.score(ctx, terms, filter)
	if err != nil {
		return index.Result{}, err
	}
	defer words.release()
	best := words.top(q.Limit)
	if vector != nil && v.rows > 0 {
		near, err := denseTop(ctx, v.snapshot, filter, vector, q.Limit)
		if err != nil {
			return index.Result{}, err
		}
		best = append(best, near...)
	}
	slots := make([]uint32, 0, len(best))
	for _, s := range best {
		slots = append(slots, s.slot)
	}
	slices.Sort(slots)
	hits, err := v.hits(ctx, slices.Compact(slots), vector, words)
	if err != nil {
		return index.Result{}, err
	}
	return index.Result{Hits: hits, MaxLexical: words.max, TermWeights: words.weights}, nil
}

// hits tells what lies in slots, which are in ascending order, with exact scores.
func (v view) hits(ctx context.Context, slots []uint32, vector []float32, words *lexical) ([]index.Hit, error) {
	if len(slots) == 0 {
		return nil, nil
	}
	hits := make([]index.Hit, len(slots))
	if err := v.locate(ctx, slots, hits); err != nil {
		return nil, err
	}
	words.fill(hits, slots)
	if vector == nil || v.dimensions == 0 {
		return hits, nil
	}
	for i, slot := range slots {
		if i+1 < len(slots) {
			quant.Prefetch(floatsOf(v.vectors.record(slots[i+1])))
		}
		w := int(slot / 64)
		if err := v.vectors.check(w, v.live.word(w)); err != nil {
			return nil, err
		}
		hits[i].Dense = min(max(float64(quant.Dot(vector, floatsOf(v.vectors.record(slot)))), -1), 1)
	}
	return hits, nil
}

// vector returns a copy of a live slot's vector, checked.
func (v view) vector(slot uint32) ([]float32, error) {
	if v.dimensions == 0 {
		return nil, nil
	}
	w := int(slot / 64)
	if err := v.vectors.check(w, v.live.word(w)); err != nil {
		return nil, err
	}
	return slices.Clone(floatsOf(v.vectors.record(slot))), nil
}
