package milvus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
)

// Bounds of reading the rows of hits: one answer must stay below what servers send (100 MB).
const (
	fetchRows   = 256
	fetchAtOnce = 4
)

// Search implements index.Index.
func (x *Index) Search(ctx context.Context, s index.Space, q index.Query) (index.Result, error) {
	ctx, done, err := x.begin(ctx)
	if err != nil {
		return index.Result{}, err
	}
	r, err := x.search(ctx, s, q)
	if err != nil {
		return index.Result{}, done(fmt.Errorf("searching datastore %q: %w", s.DatastoreID, err))
	}
	return r, done(nil)
}

func (x *Index) search(ctx context.Context, s index.Space, q index.Query) (index.Result, error) {
	if q.Limit < 1 || q.Limit > index.MaxLimit {
		return index.Result{}, fmt.Errorf("%w: the limit %d is not between 1 and %d", index.ErrInvalid, q.Limit, index.MaxLimit)
	}
	expr, none, err := conditions(s.DatastoreID, q.Filter)
	if err != nil {
		return index.Result{}, err
	}
	var vector []float32
	if q.Vector != nil {
		if vector, err = index.Unit(q.Vector, s.Dimensions); err != nil {
			return index.Result{}, err
		}
	}
	var out index.Result
	if validDatastore(s.DatastoreID) {
		err = x.use(ctx, s, false, func(col *collection) error {
			var err error
			out, err = x.searchIn(ctx, col, s.DatastoreID, q, expr, none, vector)
			return err
		})
		if err == nil || !missing(err) {
			return out, err
		}
	}
	nothing := ask(analysis.Query(q.Text, nil), 0, make([]float64, analysis.MaxQueryTerms))
	return index.Result{MaxLexical: nothing.max, TermWeights: nothing.weights}, nil
}

// searchIn runs both legs and gathers the union of their best. What the words' leg finds by stored weights are candidates,
// more of them than are wanted: the best are told by their exact scores.
func (x *Index) searchIn(ctx context.Context, col *collection, datastoreID string, q index.Query, expr string, none bool, vector []float32) (index.Result, error) {
	var words question
	var lexical sparseVector
	if q.Text != "" {
		var err error
		if words, err = x.question(ctx, col, datastoreID, q.Text); err != nil {
			return index.Result{}, err
		}
		lexical = words.vector()
	}
	out := index.Result{MaxLexical: words.max, TermWeights: words.weights}
	if out.TermWeights == nil {
		out.TermWeights = make(map[string]float64)
	}
	if none {
		return out, nil
	}
	var legs []leg
	if vector != nil && col.dimensions > 0 {
		padded := append(slices.Clone(vector), make([]float32, max(0, minDenseDimensions-len(vector)))...)
		legs = append(legs, leg{doing: "searching by vector", field: fieldDense, vectors: [][]byte{floats(padded)}, expr: expr, limit: q.Limit, level: strong})
	}
	if lexical != nil && col.sparse {
		legs = append(legs, leg{doing: "searching by words", field: fieldSparse, vectors: [][]byte{lexical}, expr: expr, limit: words.deeper(q.Limit), level: strong})
	}
	keys := make([][][]string, len(legs))
	running, runningCtx := errgroup.WithContext(ctx)
	for i, l := range legs {
		running.Go(func() (err error) {
			keys[i], err = x.nearest(runningCtx, col, l)
			return err
		})
	}
	if err := running.Wait(); err != nil {
		return index.Result{}, err
	}
	ids := slices.Concat(slices.Concat(keys...)...)
	slices.Sort(ids)
	rows, err := x.fetch(ctx, col, slices.Compact(ids), vector != nil, len(words.terms) > 0)
	if err != nil {
		return index.Result{}, err
	}
	out.Hits = hits(rows, vector, words, col.sparse)
	if lexical == nil || !col.sparse {
		return out, nil
	}
	var near []string // of the leg by vector, in order
	if len(legs) > 1 {
		near = keys[0][0]
	}
	out.Hits = best(out.Hits, q.Limit, func(i int) bool {
		_, found := slices.BinarySearch(near, rows[i].id)
		return found
	})
	return out, nil
}

// best keeps the hits that have the highest lexical scores, so many, and those that are near.
func best(hits []index.Hit, limit int, near func(i int) bool) []index.Hit {
	order := make([]int, len(hits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(hits[b].Lexical, hits[a].Lexical) })
	out := make([]index.Hit, 0, len(hits))
	for n, i := range order {
		if n < limit && hits[i].Lexical > 0 || near(i) {
			out = append(out, hits[i])
		}
	}
	return out
}

// hits gives rows their exact scores.
func hits(rows []found, vector []float32, words question, sparse bool) []index.Hit {
	out := make([]index.Hit, 0, len(rows))
	var stems analysis.Analyzer
	for _, r := range rows {
		h := index.Hit{Row: r.Row, Whole: true, Length: int(r.length)}
		if vector != nil {
			h.Dense = min(max(dot(vector, h.Vector), -1), 1)
		}
		h.Vector = nil
		switch {
		case len(words.terms) == 0:
		case sparse:
			words.score(&h, countIn(r.terms, storedNorm(r.length, r.language)))
		default:
			has, _ := countTerms(&h.Row, r.language, &stems)
			words.score(&h, func(t uint32) float64 { return has[t] })
		}
		out = append(out, h)
	}
	return out
}

// Fill implements index.Index. Rows come with the hits: reading them apart would take the server another question.
func (x *Index) Fill(ctx context.Context, _ index.Space, _ []*index.Hit) error {
	_, done, err := x.begin(ctx)
	if err != nil {
		return err
	}
	return done(nil)
}

func dot(a, b []float32) float64 {
	var sum float64
	for i := range min(len(a), len(b)) {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// leg is a search of one vector field by some vectors.
type leg struct {
	doing   string
	field   string
	vectors [][]byte
	expr    string
	limit   int // hits of each vector
	level   consistency
}

// nearest returns the primary keys of the best rows for each vector of a leg, each key once.
func (x *Index) nearest(ctx context.Context, col *collection, l leg) (ids [][]string, err error) {
	err = x.call(ctx, l.doing, func(ctx context.Context, srv *server) (err error) {
		ids, err = srv.search(ctx, col.name, l, searchParams(col, l))
		return err
	})
	for i := range ids {
		slices.Sort(ids[i])
		ids[i] = slices.Compact(ids[i])
	}
	return ids, err
}

// How much of an index is searched, for an index of each type.
const (
	minHNSWCandidates = 128
	maxHNSWCandidates = 32_768
	ivfProbes         = 64
)

// searchParams tunes a search to the index that the field has.
func searchParams(col *collection, l leg) map[string]any {
	switch {
	case l.field == fieldSparse:
		return map[string]any{"drop_ratio_search": 0}
	case col.dense == indexHNSW:
		return map[string]any{"ef": min(max(4*l.limit, minHNSWCandidates), maxHNSWCandidates)}
	case col.dense == indexFlat:
		return map[string]any{}
	case col.dense == indexIVFFlat || col.dense == indexIVFSQ8:
		return map[string]any{"nprobe": ivfProbes}
	case col.dense == indexDiskANN:
		return map[string]any{"search_list": max(l.limit, minHNSWCandidates)}
	}
	return map[string]any{"level": 1}
}

// fetch reads the rows of primary keys. Rows that were deleted in the meantime are missing.
func (x *Index) fetch(ctx context.Context, col *collection, ids []string, vectors, scored bool) ([]found, error) {
	parts := make([][]found, (len(ids)+fetchRows-1)/fetchRows)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(fetchAtOnce)
	for i := range parts {
		group.Go(func() (err error) {
			page := ids[i*fetchRows : min((i+1)*fetchRows, len(ids))]
			// The node that has just found the rows has them. Another one that answers may be behind: what it lacks is asked
			// for once more, of all that was written.
			if parts[i], err = x.fetchPage(ctx, col, page, vectors, scored, eventual); err != nil || len(parts[i]) == len(page) {
				return err
			}
			lacking := slices.DeleteFunc(slices.Clone(page), func(id string) bool {
				return slices.ContainsFunc(parts[i], func(f found) bool { return f.id == id })
			})
			rest, err := x.fetchPage(ctx, col, lacking, vectors, scored, strong)
			parts[i] = append(parts[i], rest...)
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(parts...), err
}

func (x *Index) fetchPage(ctx context.Context, col *collection, ids []string, vectors, scored bool, level consistency) (rows []found, err error) {
	want := more{vectors: vectors, scored: scored, sparse: scored && col.sparse}
	err = x.call(ctx, fmt.Sprintf("reading %d rows", len(ids)), func(ctx context.Context, srv *server) error {
		set, err := srv.query(ctx, col.name, oneOf(fieldID, ids), want.fields(), level, everything)
		if err != nil {
			return err
		}
		rows, err = readRows(set, col.dimensions, want)
		rows = once(rows)
		return err
	})
	return rows, err
}

// once drops the copies of rows that were inserted twice, and sorts what is left by primary key.
func once(rows []found) []found {
	slices.SortStableFunc(rows, func(a, b found) int { return strings.Compare(a.id, b.id) })
	return slices.CompactFunc(rows, func(a, b found) bool { return a.id == b.id })
}
