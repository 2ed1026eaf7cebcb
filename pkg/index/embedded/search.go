package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
	"github.com/sluice/sluice/pkg/index/embedded/store"
	"github.com/sluice/sluice/pkg/index/embedded/topk"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
	"github.com/sluice/sluice/pkg/processors"
)

// If at most smallRows rows pass the filter, the vector leg returns as many candidates as the lexical leg, even if the
// query asks for fewer.
const smallRows = 1000

// Search implements index.Index.
func (x *Index) Search(ctx context.Context, id index.Space, q index.Query) (index.Result, error) {
	if err := index.CheckLimits(q); err != nil {
		return index.Result{}, err
	}
	filter, err := lexical.NewFilter(q.Filter, id.DatastoreID)
	if err != nil {
		return index.Result{}, err
	}
	var query []float32
	if q.Vector != nil {
		if query, err = index.Unit(q.Vector, id.Dimensions); err != nil {
			return index.Result{}, err
		}
	}
	x.searches.Add(1)
	var out index.Result
	err = x.use(ctx, id, false, func(s *store.Space) error {
		vector.Running.Add(1)
		defer vector.Running.Add(-1)
		if err := x.permits.Acquire(ctx, 1); err != nil {
			return fmt.Errorf("waiting for a permit: %w", err)
		}
		defer x.permits.Release(1)
		defer x.repairIVF(s, id)
		return s.ReadLazy(ctx, func(v store.View) error {
			var err error
			out, err = searchView(ctx, v, q, filter, query)
			return err
		})
	})
	if errors.Is(err, store.ErrNotFound) {
		return emptyResult(q), nil
	}
	if err != nil {
		return index.Result{}, fmt.Errorf("searching space of datastore %q: %w", id.DatastoreID, err)
	}
	return out, nil
}

// Prepare runs a query's lexical leg while its vector is still being computed. Pass the result to Search in
// Query.Prepared. The result is nil if the maximum number of searches is already running or the space does not exist.
func (x *Index) Prepare(ctx context.Context, id index.Space, q index.Query) (index.Prepared, error) {
	if err := index.CheckLimits(q); err != nil {
		return nil, err
	}
	filter, err := lexical.NewFilter(q.Filter, id.DatastoreID)
	if err != nil {
		return nil, err
	}
	var out index.Prepared
	err = x.use(ctx, id, false, func(s *store.Space) error {
		if !x.permits.TryAcquire(1) {
			return nil
		}
		defer x.permits.Release(1)
		return s.ReadLazy(ctx, func(v store.View) error {
			leg, err := lexicalSearch(ctx, v, q, filter)
			if err == nil {
				out = leg
			}
			return err
		})
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("preparing to search the space of datastore %q: %w", id.DatastoreID, err)
	}
	return out, nil
}

// lexicalLeg is the result of the lexical leg on one snapshot.
type lexicalLeg struct {
	of     *store.Snapshot
	text   string
	rules  *analysis.Rules
	limit  int
	filter lexical.Filter

	passing bitmap.Set
	words   *lexical.Query
	best    []topk.Scored
}

// lexicalSearch resolves the filter, which both legs need, and runs the lexical leg. It returns Prepare's result if
// that is for the same query and snapshot. In another snapshot, the same slots may belong to other rows.
func lexicalSearch(ctx context.Context, v store.View, q index.Query, filter lexical.Filter) (*lexicalLeg, error) {
	if leg, ok := q.Prepared.(*lexicalLeg); ok && leg.of == v.Snapshot && leg.text == q.Text && leg.rules == q.Rules && leg.limit == q.Limit && leg.filter.Equal(filter) {
		return leg, nil
	}
	words := v.Lexical()
	leg := &lexicalLeg{of: v.Snapshot, text: q.Text, rules: q.Rules, limit: q.Limit, filter: filter}
	var err error
	if leg.passing, err = words.Filter(ctx, filter); err != nil {
		return nil, err
	}
	var terms []analysis.QueryTerm
	if q.Text != "" {
		terms = append(analysis.QueryWith(q.Text, v.Languages(), q.Rules), analysis.PageTerms(q.Text)...)
	}
	if leg.words, err = words.Query(ctx, terms); err != nil {
		return nil, err
	}
	leg.best = words.Top(leg.words, leg.passing, q.Limit)
	return leg, nil
}

// emptyResult returns the result for a space without rows.
func emptyResult(q index.Query) index.Result {
	l, err := lexical.Reader{}.Query(context.Background(), analysis.QueryWith(q.Text, nil, q.Rules))
	if err != nil {
		return index.Result{} // unreachable: there are no segments to read
	}
	return index.Result{MaxLexical: l.Max, TermWeights: l.Weights}
}

// searchLegs runs both legs. If a processor is idle and there's no filter to resolve first, the vector leg runs
// concurrently in a goroutine. Starting the goroutine takes at least 0.1 ms, but the lexical leg doesn't wait for that.
func searchLegs(ctx context.Context, v store.View, q index.Query, filter lexical.Filter, query []float32) (words *lexicalLeg, near []topk.Scored, limit int, err error) {
	dense := query != nil && v.Rows > 0
	if !dense || !filter.IsEmpty() || q.Text == "" || q.Prepared != nil || v.Rows < vector.ParallelRows || int(vector.Running.Load()) >= processors.Count() {
		if words, err = lexicalSearch(ctx, v, q, filter); err == nil && dense {
			limit = vectorLimit(v, words.passing, q)
			near, err = vector.Search(ctx, &v.Set, words.passing, query, limit)
		}
		return words, near, limit, err
	}
	var both errgroup.Group
	defer func() { _ = both.Wait() }() // on errors and panics too: the snapshot is released next
	limit = vectorLimit(v, nil, q)
	both.Go(vector.Recovered(func() (err error) {
		near, err = vector.Search(ctx, &v.Set, nil, query, limit)
		return err
	}))
	words, err = lexicalSearch(ctx, v, q, filter)
	fault := both.Wait()
	return words, near, limit, errors.Join(err, fault)
}

// vectorLimit returns the vector leg's limit. A nil filter lets all rows pass.
func vectorLimit(v store.View, passing bitmap.Set, q index.Query) int {
	rows := int(v.Rows)
	if passing != nil {
		rows = passing.CountIn(v.Live, v.Slots)
	}
	if q.VectorLimit == 0 || rows <= smallRows {
		return q.Limit
	}
	return q.VectorLimit
}

// searchView runs both legs and merges their hits.
func searchView(ctx context.Context, v store.View, q index.Query, filter lexical.Filter, query []float32) (index.Result, error) {
	leg, near, limit, err := searchLegs(ctx, v, q, filter, query)
	if err != nil {
		return index.Result{}, err
	}
	words, best := leg.words, leg.best
	slices.SortFunc(near, func(a, b topk.Scored) int { return cmp.Compare(a.Slot, b.Slot) })
	slots := make([]uint32, 0, len(best)+len(near))
	for _, s := range best {
		slots = append(slots, s.Slot)
	}
	for _, s := range near {
		slots = append(slots, s.Slot)
	}
	slices.Sort(slots)
	found := index.Result{MaxLexical: words.Max, TermWeights: words.Weights, VectorLimit: limit}
	if slots = slices.Compact(slots); len(slots) == 0 {
		return found, nil
	}
	found.Allocate(len(slots))
	if err := describe(ctx, v, found.Hits, slots, query, near, words); err != nil {
		found.Release()
		return index.Result{}, err
	}
	return found, nil
}

// describe fills in the hits from both legs. It computes exact vector scores for hits that only the lexical leg found.
// `slots` are the hits' slots, and `near` is the vector leg's result. Both are sorted by slot.
func describe(ctx context.Context, v store.View, hits []index.Hit, slots []uint32, query []float32, near []topk.Scored, words *lexical.Query) error {
	if err := v.Locate(ctx, slots, hits); err != nil {
		return err
	}
	words.Fill(hits, slots)
	if query == nil || v.Dimensions == 0 {
		return nil
	}
	unscored := make([]int, 0, len(slots)-len(near)) // hits from the lexical leg only
	for i, slot := range slots {
		if len(near) > 0 && near[0].Slot == slot {
			hits[i].Dense = min(max(near[0].Score, -1), 1)
			near = near[1:]
			continue
		}
		unscored = append(unscored, i)
	}
	return v.Products(query, slots, unscored, func(i int, product float32) { hits[i].Dense = min(max(float64(product), -1), 1) })
}
