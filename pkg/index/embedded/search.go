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
	"github.com/sluice/sluice/pkg/processors"
)

// maxLimit is the largest number of candidates per leg.
const maxLimit = 10_000

// Search implements index.Index.
func (x *Index) Search(ctx context.Context, id index.Space, q index.Query) (index.Result, error) {
	if err := checkLimit(q.Limit); err != nil {
		return index.Result{}, err
	}
	fields, err := filterFields(q.Filter)
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
	err = x.use(ctx, id, false, func(s *space) error {
		running.Add(1)
		defer running.Add(-1)
		if err := x.turns.Acquire(ctx, 1); err != nil {
			return fmt.Errorf("waiting for its turn: %w", err)
		}
		defer x.turns.Release(1)
		defer x.mendCells(s, id)
		return s.glance(ctx, func(v view) error {
			var err error
			out, err = searchView(ctx, v, q, fields, query)
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

// Prepare searches for a query's words, whose vector is not there yet; the query is then asked with what it returns. It does
// nothing, and returns nil, while other searches have all turns, and where the space does not exist.
func (x *Index) Prepare(ctx context.Context, id index.Space, q index.Query) (index.Prepared, error) {
	if err := checkLimit(q.Limit); err != nil {
		return nil, err
	}
	fields, err := filterFields(q.Filter)
	if err != nil {
		return nil, err
	}
	var out index.Prepared
	err = x.use(ctx, id, false, func(s *space) error {
		if !x.turns.TryAcquire(1) {
			return nil
		}
		defer x.turns.Release(1)
		return s.glance(ctx, func(v view) error {
			leg, err := byWords(ctx, v, q, fields)
			if err == nil {
				out = leg
			}
			return err
		})
	})
	if err != nil && !errors.Is(err, errNoSpace) {
		return nil, fmt.Errorf("preparing to search the space of datastore %q: %w", id.DatastoreID, err)
	}
	return out, nil
}

func checkLimit(limit int) error {
	if limit < 1 || limit > maxLimit {
		return fmt.Errorf("%w: the limit %d is not between 1 and %d", index.ErrInvalid, limit, maxLimit)
	}
	return nil
}

// wordsLeg is what a query finds by words in a snapshot.
type wordsLeg struct {
	of     *snapshot
	text   string
	limit  int
	fields [][]string

	filter slotSet
	words  *lexical
	best   []scored
}

// byWords runs the leg of words, and resolves the filter, which both legs need; or it takes what Prepare has found, of the
// same query and in the same snapshot: slots of another one may be others' rows.
func byWords(ctx context.Context, v view, q index.Query, fields [][]string) (*wordsLeg, error) {
	if leg, ok := q.Prepared.(*wordsLeg); ok && leg.of == v.snapshot && leg.text == q.Text && leg.limit == q.Limit &&
		slices.EqualFunc(leg.fields, fields, slices.Equal) {
		return leg, nil
	}
	words := v.lexical()
	leg := &wordsLeg{of: v.snapshot, text: q.Text, limit: q.Limit, fields: fields}
	var err error
	if leg.filter, err = words.resolve(ctx, fields); err != nil {
		return nil, err
	}
	var terms []analysis.QueryTerm
	if q.Text != "" {
		terms = analysis.Query(q.Text, v.languages())
	}
	if leg.words, err = words.words(ctx, terms); err != nil {
		return nil, err
	}
	leg.best = words.topWords(leg.words, leg.filter, q.Limit)
	return leg, nil
}

// emptyResult is what a space finds that has no rows.
func emptyResult(text string) index.Result {
	l, err := reader{}.words(context.Background(), analysis.Query(text, nil))
	if err != nil {
		return index.Result{} // nothing is read where there is no segment
	}
	return index.Result{MaxLexical: l.max, TermWeights: l.weights}
}

// legs runs both legs: one after the other, or, where a processor is idle and no filter has to be resolved first, at the same
// moment. A thread takes a tenth of a millisecond and more to begin, in which words are looked up.
func legs(ctx context.Context, v view, q index.Query, fields [][]string, query []float32) (words *wordsLeg, near []scored, err error) {
	dense := query != nil && v.rows > 0
	if !dense || len(fields) > 0 || q.Text == "" || q.Prepared != nil || v.rows < parallelRows || int(running.Load()) >= processors.Count() {
		if words, err = byWords(ctx, v, q, fields); err == nil && dense {
			near, err = denseTop(ctx, &v.vectorSet, words.filter, query, q.Limit)
		}
		return words, near, err
	}
	var beside errgroup.Group
	defer func() { _ = beside.Wait() }() // whatever becomes of the words: the snapshot is ours for as long as this search lasts
	beside.Go(calmly(func() (err error) {
		near, err = denseTop(ctx, &v.vectorSet, nil, query, q.Limit)
		return err
	}))
	words, err = byWords(ctx, v, q, fields)
	fault := beside.Wait()
	return words, near, errors.Join(err, fault)
}

// searchView runs both legs and gathers the union of their best.
func searchView(ctx context.Context, v view, q index.Query, fields [][]string, query []float32) (index.Result, error) {
	leg, near, err := legs(ctx, v, q, fields, query)
	if err != nil {
		return index.Result{}, err
	}
	words, best := leg.words, leg.best
	slices.SortFunc(near, func(a, b scored) int { return cmp.Compare(a.slot, b.slot) })
	slots := make([]uint32, 0, len(best)+len(near))
	for _, s := range best {
		slots = append(slots, s.slot)
	}
	for _, s := range near {
		slots = append(slots, s.slot)
	}
	slices.Sort(slots)
	found := index.Result{MaxLexical: words.max, TermWeights: words.weights}
	if slots = slices.Compact(slots); len(slots) == 0 {
		return found, nil
	}
	found.Room(len(slots))
	if err := tell(ctx, v, found.Hits, slots, query, near, words); err != nil {
		found.Release()
		return index.Result{}, err
	}
	return found, nil
}

// tell sets what the hits in slots are, with exact scores. Slots and near, those that were found by their vectors, with their
// scores, are in ascending order.
func tell(ctx context.Context, v view, hits []index.Hit, slots []uint32, query []float32, near []scored, words *lexical) error {
	if err := v.locate(ctx, slots, hits); err != nil {
		return err
	}
	words.fill(hits, slots)
	if query == nil || v.dimensions == 0 {
		return nil
	}
	unscored := make([]int, 0, len(slots)-len(near)) // hits whose vectors have not been compared
	for i, slot := range slots {
		if len(near) > 0 && near[0].slot == slot {
			hits[i].Dense = min(max(near[0].score, -1), 1)
			near = near[1:]
			continue
		}
		unscored = append(unscored, i)
	}
	return v.products(query, slots, unscored, func(i int, product float32) { hits[i].Dense = min(max(float64(product), -1), 1) })
}
