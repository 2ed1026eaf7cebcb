package indextest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

// Sizes used in the agreement test.
const (
	agreementSources       = 16
	agreementRowsPerSource = 80 // rows per generation
	agreementVocabulary    = 4000
	agreementQueries       = 6
)

// writer generates realistic texts: words have different lengths and follow Zipf's law.
type writer struct {
	rng  *rand.Rand
	zipf *rand.Zipf
}

func newWriter(seed uint64) *writer {
	rng := rand.New(rand.NewPCG(seed, 41))
	return &writer{rng, rand.NewZipf(rng, 1.05, 20, agreementVocabulary-1)}
}

// word returns the n-th most common word. No two words have the same stem.
func (w *writer) word(n uint64) string {
	var b strings.Builder
	for n += 20; n > 0; n /= 20 {
		b.WriteByte("bcdfghjklmnpqrstvwxz"[n%20])
		b.WriteByte("ou"[n/20%2])
	}
	return b.String() + "k"
}

func (w *writer) text(words int) string {
	out := []string{"This", "is", "the", "text", "of", "a", "page"} // identifies the language
	for range words {
		out = append(out, w.word(w.zipf.Uint64()))
	}
	return strings.Join(out, " ")
}

// question returns words that occur in some rows but not in all.
func (w *writer) question(words int) string {
	var out []string
	for range words {
		out = append(out, w.word(40+w.zipf.Uint64()%(agreementVocabulary-40)))
	}
	return strings.Join(out, " ")
}

// rows returns one generation of a datasource.
func (w *writer) rows(source int, generation uint64) []index.Row {
	rows := make([]index.Row, agreementRowsPerSource)
	for i := range rows {
		rows[i] = row(fmt.Sprintf("source-%d", source), generation, i, w.text(20+w.rng.IntN(120)))
		rows[i].Context = w.text(w.rng.IntN(6))
		rows[i].Metadata = map[string]any{"source": source, "even": i%2 == 0}
	}
	return rows
}

func (s *suite) agreementTests() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"a history of writing and deleting leaves the scores of the rows that are left, as the reference has them": func(t *testing.T) {
			if testing.Short() {
				t.Skip("it is about figures, not about goroutines")
			}
			x, lived, fresh := s.open(t), space(), space()
			final := s.applyChanges(t, x, lived)
			mustWrite(t, x, fresh, final...)
			reference := x
			if s.opts.Reference != nil {
				reference = s.opts.Reference(t)
				mustWrite(t, reference, fresh, final...)
			}
			w := newWriter(5)
			for i := range agreementQueries {
				q := index.Query{Vector: vector(uint64(9000 + i)), Limit: 40}
				if i%3 == 2 {
					q.Filter.Metadata = map[string]any{"even": true, "source": []int{i % 7, 8, 9, 10}}
				}
				want := mustSearch(t, reference, fresh, q)
				for name, got := range map[string]index.Result{"lived": mustSearch(t, x, lived, q), "fresh": mustSearch(t, x, fresh, q)} {
					s.sameDense(t, fmt.Sprintf("query %d, %s", i, name), want.Hits, got.Hits)
				}
				if s.opts.DenseOnly {
					continue
				}
				q.Vector, q.Text = nil, w.question(6)
				q.Limit = 2 * len(final) // enough for every row with one of the words
				old, now := mustSearch(t, x, lived, q), mustSearch(t, x, fresh, q)
				s.sameLexical(t, fmt.Sprintf("query %d, lived", i), now, old)
				s.sameLexical(t, fmt.Sprintf("query %d, reference", i), mustSearch(t, reference, fresh, q), now)
			}
		},
	}
}

// applyChanges writes, replaces and deletes rows, and returns the rows that are left.
func (s *suite) applyChanges(t *testing.T, x index.Index, sp index.Space) (left []index.Row) {
	t.Helper()
	w := newWriter(4)
	for source := range agreementSources {
		first := w.rows(source, 1)
		mustWrite(t, x, sp, first...)
		switch source % 4 {
		case 0: // unchanged
			left = append(left, first...)
		case 1: // replaced by a second generation
			second := w.rows(source, 2)
			mustWrite(t, x, sp, second...)
			s.remove(t, x, sp, first[0].DatasourceID, 2)
			left = append(left, second...)
		case 2: // rewritten with the same keys but different words
			again := w.rows(source, 1)
			mustWrite(t, x, sp, again[:agreementRowsPerSource/2]...)
			left = append(append(left, again[:agreementRowsPerSource/2]...), first[agreementRowsPerSource/2:]...)
		case 3:
			s.remove(t, x, sp, first[0].DatasourceID, math.MaxUint64)
		}
	}
	return left
}

func (s *suite) remove(t *testing.T, x index.Index, sp index.Space, datasource string, below uint64) {
	t.Helper()
	mustDelete(t, x, sp, index.Generations{DatasourceID: datasource, Below: below})
}

// sameDense checks that two vector searches found the same rows and scores.
func (s *suite) sameDense(t *testing.T, name string, want, got []index.Hit) {
	t.Helper()
	if !slices.Equal(keys(got), keys(want)) {
		t.Errorf("%s: rows %v are found, want %v", name, keys(got), keys(want))
		return
	}
	for _, h := range want {
		if g := find(t, got, h.Key); !s.isClose(g.Dense, h.Dense) {
			t.Errorf("%s: row %s has the dense score %v, want %v", name, h.Key, g.Dense, h.Dense)
		}
	}
}

// sameLexical checks that two lexical searches found the same rows, terms and scores. In an index this small, that
// holds even for an engine that estimates scores.
func (s *suite) sameLexical(t *testing.T, name string, want, got index.Result) {
	t.Helper()
	if !slices.Equal(keys(got.Hits), keys(want.Hits)) {
		t.Errorf("%s: %d rows contain the word, want %d", name, len(got.Hits), len(want.Hits))
		return
	}
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b) }
	if !near(got.MaxLexical, want.MaxLexical) {
		t.Errorf("%s: the highest score is %v, want %v", name, got.MaxLexical, want.MaxLexical)
	}
	for _, h := range want.Hits {
		g := find(t, got.Hits, h.Key)
		if !near(g.Lexical, h.Lexical) || !slices.Equal(slices.Sorted(slices.Values(g.Terms)), slices.Sorted(slices.Values(h.Terms))) {
			t.Errorf("%s: row %s has %v with the score %v, want %v with %v", name, h.Key, g.Terms, g.Lexical, h.Terms, h.Lexical)
			return
		}
	}
}
