package milvus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"
	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
)

// Number of rows per request, and number of concurrent requests. A response with fetchRows rows stays below the
// servers' 100 MB limit.
const (
	fetchRows       = 256
	parallelFetches = 4
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
	if err := index.CheckLimits(q); err != nil {
		return index.Result{}, err
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
		if err == nil || !isNotFound(err) {
			return out, err
		}
	}
	nothing := newLexicalQuery(analysis.QueryWith(q.Text, nil, q.Rules), 0, make([]float64, analysis.MaxQueryTerms))
	return index.Result{MaxLexical: nothing.max, TermWeights: nothing.weights}, nil
}

// searchIn runs both legs and returns the best rows from both, without duplicates. The server's lexical ranking is only
// approximate, so the lexical leg fetches more candidates than requested, and searchIn picks the best by exact score.
func (x *Index) searchIn(ctx context.Context, col *collection, datastoreID string, q index.Query, expr string, none bool, vector []float32) (index.Result, error) {
	var words lexicalQuery
	var lexical entity.SparseEmbedding
	if q.Text != "" {
		var err error
		if words, err = x.question(ctx, col, datastoreID, q.Text, q.Rules); err != nil {
			return index.Result{}, err
		}
		if lexical, err = words.vector(); err != nil {
			return index.Result{}, fmt.Errorf("encoding the query's words: %w", err)
		}
	}
	out := index.Result{MaxLexical: words.max, TermWeights: words.weights}
	if out.TermWeights == nil {
		out.TermWeights = make(map[string]float64)
	}
	expr, unmatched, err := x.restrict(ctx, col, datastoreID, expr, q.Filter.Where)
	if err != nil || none || unmatched {
		return out, err
	}
	var legs []vectorSearch
	if vector != nil && col.dimensions > 0 {
		padded := append(slices.Clone(vector), make([]float32, max(0, minDenseDimensions-len(vector)))...)
		legs = append(legs, vectorSearch{doing: "searching by vector", field: fieldDense, vectors: []entity.Vector{entity.FloatVector(padded)}, expr: expr, limit: cmp.Or(q.VectorLimit, q.Limit), level: strongConsistency})
		out.VectorLimit = cmp.Or(q.VectorLimit, q.Limit)
	}
	if lexical != nil && col.sparse {
		legs = append(legs, vectorSearch{doing: "searching by words", field: fieldSparse, vectors: []entity.Vector{lexical}, expr: expr, limit: words.candidateLimit(q.Limit), level: strongConsistency})
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
	var near []string // keys from the dense leg, sorted
	if len(legs) > 1 {
		near = keys[0][0]
	}
	out.Hits = topLexical(out.Hits, q.Limit, func(i int) bool {
		_, found := slices.BinarySearch(near, rows[i].id)
		return found
	})
	return out, nil
}

// topLexical returns the dense leg's hits, for which near(i) is true, and up to `limit` hits with the highest lexical
// scores.
func topLexical(hits []index.Hit, limit int, near func(i int) bool) []index.Hit {
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

// hits converts rows to hits with exact scores.
func hits(rows []storedRow, vector []float32, words lexicalQuery, sparse bool) []index.Hit {
	out := make([]index.Hit, 0, len(rows))
	var stems analysis.Analyzer
	for _, r := range rows {
		h := index.Hit{Row: r.Row, Complete: true, Length: int(r.length)}
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

// Fill implements index.Index. Hits already contain their rows, so there is nothing to fill.
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

// vectorSearch is a search for several vectors in one field.
type vectorSearch struct {
	doing   string
	field   string
	vectors []entity.Vector
	expr    string
	limit   int // hits per vector
	level   client.SearchQueryOptionFunc
}

// nearest returns the primary keys of each vector's best rows, without duplicates.
func (x *Index) nearest(ctx context.Context, col *collection, l vectorSearch) (ids [][]string, err error) {
	params, err := searchParams(col, l)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.doing, err)
	}
	err = x.call(ctx, l.doing, func(ctx context.Context, srv *server) error {
		results, err := srv.Search(ctx, col.name, nil, l.expr, nil, l.vectors, l.field, entity.IP, l.limit, params, l.level)
		if err != nil {
			return err
		}
		ids = make([][]string, len(l.vectors))
		if len(results) == 0 {
			return nil
		}
		if len(results) != len(l.vectors) {
			return fmt.Errorf("the server answered only %d of %d vectors", len(results), len(l.vectors))
		}
		for i, r := range results {
			if ids[i], err = keysOf(r); err != nil {
				return err
			}
		}
		return nil
	})
	return ids, err
}

// keysOf returns the hits' primary keys, sorted and without duplicates.
func keysOf(r client.SearchResult) ([]string, error) {
	if r.ResultCount == 0 {
		return nil, nil // the error may just mean "no results"
	}
	if r.Err != nil {
		return nil, r.Err
	}
	c, ok := r.IDs.(*entity.ColumnVarChar)
	if !ok {
		return nil, fmt.Errorf("the server's answer has primary keys of type %v", r.IDs.Type())
	}
	return slices.Compact(slices.Sorted(slices.Values(c.Data()))), nil
}

// Parameters that control the search effort, by index type.
const (
	minHNSWCandidates = 128
	maxHNSWCandidates = 32_768
	ivfProbes         = 64
)

// searchParams returns the search parameters for the field's index.
func searchParams(col *collection, l vectorSearch) (entity.SearchParam, error) {
	switch {
	case l.field == fieldSparse:
		return entity.NewIndexSparseInvertedSearchParam(0)
	case col.dense == entity.HNSW:
		return entity.NewIndexHNSWSearchParam(min(max(4*l.limit, minHNSWCandidates), maxHNSWCandidates))
	case col.dense == entity.Flat:
		return entity.NewIndexFlatSearchParam()
	case col.dense == entity.IvfFlat || col.dense == entity.IvfSQ8:
		return entity.NewIndexIvfFlatSearchParam(ivfProbes)
	case col.dense == entity.DISKANN:
		return entity.NewIndexDISKANNSearchParam(max(l.limit, minHNSWCandidates))
	}
	return entity.NewIndexAUTOINDEXSearchParam(1)
}

// fetch reads rows by primary key, optionally with their vectors and what scoring needs. Rows deleted since the search
// are missing from the result.
func (x *Index) fetch(ctx context.Context, col *collection, ids []string, vectors, scored bool) ([]storedRow, error) {
	parts := make([][]storedRow, (len(ids)+fetchRows-1)/fetchRows)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelFetches)
	for i := range parts {
		group.Go(func() (err error) {
			page := ids[i*fetchRows : min((i+1)*fetchRows, len(ids))]
			// Don't wait for the latest writes at first. If the node turns out to lag behind, read the missing rows again with
			// strong consistency.
			if parts[i], err = x.fetchPage(ctx, col, page, vectors, scored, eventualConsistency); err != nil || len(parts[i]) == len(page) {
				return err
			}
			lacking := slices.DeleteFunc(slices.Clone(page), func(id string) bool {
				return slices.ContainsFunc(parts[i], func(f storedRow) bool { return f.id == id })
			})
			rest, err := x.fetchPage(ctx, col, lacking, vectors, scored, strongConsistency)
			parts[i] = append(parts[i], rest...)
			return err
		})
	}
	err := group.Wait()
	return slices.Concat(parts...), err
}

func (x *Index) fetchPage(ctx context.Context, col *collection, ids []string, vectors, scored bool, level client.SearchQueryOptionFunc) (rows []storedRow, err error) {
	want := extraFields{vectors: vectors, scored: scored, sparse: scored && col.sparse}
	err = x.call(ctx, fmt.Sprintf("reading %d rows", len(ids)), func(ctx context.Context, srv *server) error {
		set, err := srv.Query(ctx, col.name, nil, inExpr(fieldID, ids), want.fields(), level, maxLimit)
		if err != nil {
			return err
		}
		rows, err = readRows(set, col.dimensions, want)
		rows = deduplicate(rows)
		return err
	})
	return rows, err
}

// deduplicate removes copies of rows and sorts by primary key.
func deduplicate(rows []storedRow) []storedRow {
	slices.SortStableFunc(rows, func(a, b storedRow) int { return strings.Compare(a.id, b.id) })
	return slices.CompactFunc(rows, func(a, b storedRow) bool { return a.id == b.id })
}
