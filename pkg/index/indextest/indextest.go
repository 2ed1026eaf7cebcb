// Package indextest is the conformance test suite for index.Index. All engines run it. It has one subtest per sentence
// of the contract.
package indextest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// Options describes an engine.
type Options struct {
	// Reopen closes the index and reopens the same data. If nil, the durability tests are skipped.
	Reopen func(t *testing.T, x index.Index) index.Index
	// DenseOnly skips the tests of lexical search, for engines without it.
	DenseOnly bool
	// Piecemeal is for engines whose server lacks atomic writes: rows from one call may become visible one by one.
	Piecemeal bool
	// Approximate is for engines with a graph index, whose vector searches may miss some of the nearest rows unless at
	// most a hundredth of all rows pass the filter.
	Approximate bool
	// Rows is the number of rows in the selective-filter test; 0 means 5,000.
	Rows int
	// Selective is the number of rows in the test for highly selective filters. It must be above 4,321; 0 means 20,000.
	Selective int
	// Tolerance is the maximum error in a score; 0 means 1e-5.
	Tolerance float64
	// Reference creates an empty index with another engine, which must return the same results. If nil, the engine is
	// compared with itself.
	Reference func(t *testing.T) index.Index
}

func (opts Options) withDefaults() Options {
	opts.Rows = cmp.Or(opts.Rows, 5000)
	opts.Selective = cmp.Or(opts.Selective, 20_000)
	opts.Tolerance = cmp.Or(opts.Tolerance, 1e-5)
	return opts
}

// Dimensions is the number of dimensions of the suite's vectors.
const Dimensions = 32

// suite is one run of the conformance tests.
type suite struct {
	open func(t *testing.T) index.Index
	opts Options
}

// Run runs the suite. Each subtest gets an empty index from `open`, which must register its Close with t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) index.Index, opts Options) {
	s := &suite{open, opts.withDefaults()}
	groups := []map[string]func(*testing.T){s.writeTests(), s.searching(), s.filling(), s.filtering(), s.values(), s.selectiveTests(), s.agreementTests(), s.deleteTests(), s.bulkDeleteTests(), s.countTests(), s.repeating(), s.living(), s.where(), s.synonyms()}
	for _, group := range groups {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	}
}

// space returns a new space in a datastore that no other test uses.
func space() index.Space {
	return index.Space{DatastoreID: domain.NewID(), Model: "test:model/1", Dimensions: Dimensions}
}

// vector returns a random unit vector that depends only on the seed.
func vector(seed uint64) []float32 { return vectorOf(seed, Dimensions) }

func vectorOf(seed uint64, dimensions int) []float32 {
	rng := rand.New(rand.NewPCG(seed, 7))
	v := make([]float32, dimensions)
	var sum float64
	for i := range v {
		v[i] = float32(rng.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	return v
}

func cosine(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// row returns a row whose vector depends on its datasource, generation and ordinal.
func row(datasource string, generation uint64, ordinal int, text string) index.Row {
	return index.Row{
		Key: domain.ChunkKey(datasource, generation, ordinal), DatasourceID: datasource, Generation: generation, Ordinal: ordinal,
		Text: text, Vector: vector(seedOf(datasource, generation, ordinal)),
	}
}

func seedOf(datasource string, generation uint64, ordinal int) uint64 {
	var h uint64 = 14695981039346656037
	for _, b := range []byte(datasource + ":" + strconv.FormatUint(generation, 10) + ":" + strconv.Itoa(ordinal)) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}

func mustWrite(t testing.TB, x index.Index, s index.Space, rows ...index.Row) {
	t.Helper()
	for batch := range slices.Chunk(rows, 200) {
		if err := x.Write(t.Context(), s, batch); err != nil {
			t.Fatalf("writing %d rows: %v", len(batch), err)
		}
	}
}

func mustSearch(t testing.TB, x index.Index, s index.Space, q index.Query) index.Result {
	t.Helper()
	q.Limit = cmp.Or(q.Limit, 10)
	r, err := x.Search(t.Context(), s, q)
	if err != nil {
		t.Fatalf("searching: %v", err)
	}
	mustFill(t, x, s, r.Hits)
	seen := make(map[string]bool)
	for _, h := range r.Hits {
		if seen[h.Key] {
			t.Fatalf("row %s is found twice", h.Key)
		}
		seen[h.Key] = true
	}
	return r
}

// mustFill fills hits whose rows still exist.
func mustFill(t testing.TB, x index.Index, s index.Space, hits []index.Hit) {
	t.Helper()
	all := make([]*index.Hit, len(hits))
	for i := range hits {
		all[i] = &hits[i]
	}
	if err := x.Fill(t.Context(), s, all); err != nil {
		t.Fatalf("reading %d hits: %v", len(hits), err)
	}
	for _, h := range all {
		if !h.Complete {
			t.Fatalf("the row of the hit %s is not read", h.Key)
		}
	}
}

func mustDelete(t testing.TB, x index.Index, s index.Space, which ...index.Generations) {
	t.Helper()
	if err := x.DeleteGenerations(t.Context(), s, which...); err != nil {
		t.Fatalf("deleting: %v", err)
	}
}

func mustDrop(t testing.TB, x index.Index, datastoreID string) {
	t.Helper()
	if err := x.DropDatastore(t.Context(), datastoreID); err != nil {
		t.Fatalf("dropping: %v", err)
	}
}

func mustRows(t *testing.T, x index.Index, s index.Space, datasource string, generation uint64) []index.Row {
	t.Helper()
	rows, err := x.Rows(t.Context(), s, datasource, generation, 0, 10_000)
	if err != nil {
		t.Fatalf("reading rows: %v", err)
	}
	return rows
}

func mustStored(t *testing.T, x index.Index, s index.Space) map[index.Stored]bool {
	t.Helper()
	out := make(map[index.Stored]bool)
	if err := x.Stored(t.Context(), s, func(st index.Stored) error {
		out[st] = true
		return nil
	}); err != nil {
		t.Fatalf("counting stored rows: %v", err)
	}
	return out
}

// keys returns the hits' keys, sorted.
func keys(hits []index.Hit) []string {
	var out []string
	for _, h := range hits {
		out = append(out, h.Key)
	}
	slices.Sort(out)
	return out
}

func find(t *testing.T, hits []index.Hit, key string) index.Hit {
	t.Helper()
	for _, h := range hits {
		if h.Key == key {
			return h
		}
	}
	t.Fatalf("row %s is not among the %d hits", key, len(hits))
	return index.Hit{}
}

func (s *suite) isClose(a, b float64) bool { return math.Abs(a-b) <= s.opts.Tolerance }

// isNear is like isClose but allows a few rounding errors even if the tolerance is zero.
func (s *suite) isNear(a, b float64) bool { return math.Abs(a-b) <= s.opts.Tolerance+1e-9 }

// requireLexical skips a test if the engine has no lexical search.
func (s *suite) requireLexical(t *testing.T) {
	t.Helper()
	if s.opts.DenseOnly {
		t.Skip("the engine has no lexical leg")
	}
}
