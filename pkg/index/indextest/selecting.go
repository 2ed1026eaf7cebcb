package indextest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/index"
)

// share is a metadata filter and the rows that pass it.
type share struct {
	name   string
	filter map[string]any
	passes func(i int) bool
}

// shares are filters of all selectivities, from nearly all rows to none. One row in a thousand has the team "rare".
var shares = []share{
	{"all but one in a hundred", map[string]any{"hundredth": false}, func(i int) bool { return i%100 != 0 }},
	{"half", map[string]any{"parity": 1}, func(i int) bool { return i%2 == 1 }},
	{"one in a hundred", map[string]any{"hundredth": true}, func(i int) bool { return i%100 == 0 }},
	{"one in a thousand", map[string]any{"team": "rare"}, func(i int) bool { return i%1000 == 500 }},
	{"one in a thousand of half", map[string]any{"team": "rare", "parity": 0}, func(i int) bool { return i%1000 == 500 }},
	{"one row", map[string]any{"number": 4321}, func(i int) bool { return i == 4321 }},
	{"no row", map[string]any{"team": "rare", "parity": 1}, func(int) bool { return false }},
}

// Selective returns n rows for filters of all selectivities, with words of all frequencies and random vectors.
func Selective(n, dimensions int) []index.Row {
	rng := rand.New(rand.NewPCG(31, 32))
	rows := make([]index.Row, n)
	for i := range rows {
		text := fmt.Sprintf("number%d", i)
		for _, word := range []struct {
			text  string
			among int
		}{{"seldom", 500}, {"sometimes", 150}, {"often", 3}} {
			for range 3 {
				if rng.IntN(word.among) == 0 {
					text += " " + word.text
				}
			}
		}
		team := "common"
		if i%1000 == 500 {
			team, text = "rare", text+" often seldom"
		}
		rows[i] = row(fmt.Sprintf("ds-%d", i/500), 1, i, text)
		rows[i].Vector = vectorOf(uint64(i), dimensions)
		rows[i].Metadata = map[string]any{"team": team, "parity": i % 2, "hundredth": i%100 == 0, "number": i}
	}
	return rows
}

// selectiveTests returns the tests of selective filters. They are separate because they write many rows.
func (s *suite) selectiveTests() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"a filtered search of many rows returns what a full scan does": func(t *testing.T) {
			x, sp, rows := s.open(t), space(), Selective(s.opts.Selective, Dimensions)
			for batch := range slices.Chunk(rows, 1000) {
				mustWrite(t, x, sp, batch...)
			}
			CheckSelective(t, x, sp, rows, s.opts)
		},
	}
}

// CheckSelective runs filtered searches on the rows that Selective generates. It checks that the vector search and the
// lexical search return the same hits and scores as a scan of all rows. Rows missed by an approximate engine are only
// logged.
func CheckSelective(t testing.TB, x index.Index, sp index.Space, rows []index.Row, opts Options) {
	t.Helper()
	s := &suite{opts: opts.withDefaults()}
	const limit = 20
	query := vectorOf(1<<40, sp.Dimensions)
	// First search without a filter to learn the score of every row that contains the words. A filter must not change
	// the scores.
	words := ""
	scores := make(map[string]float64)
	if !opts.DenseOnly {
		words = "seldom sometimes"
		r := mustSearch(t, x, sp, index.Query{Text: words, Limit: index.MaxLimit})
		if len(r.Hits) == index.MaxLimit {
			t.Fatalf("%d rows and perhaps more have the words", len(r.Hits))
		}
		for _, h := range r.Hits {
			scores[h.Key] = h.Lexical
		}
	}
	for _, c := range shares {
		dense, lexical := make(map[string]float64), make(map[string]float64)
		for i, r := range rows {
			if !c.passes(i) {
				continue
			}
			dense[r.Key] = cosine(query, r.Vector)
			if score, ok := scores[r.Key]; ok {
				lexical[r.Key] = score
			}
		}
		filter := index.Filter{Metadata: c.filter}
		by := mustSearch(t, x, sp, index.Query{Vector: query, Limit: limit, Filter: filter})
		check := s.checkBest
		if s.opts.Approximate && len(dense) > (len(rows)+99)/100 {
			check = s.checkHits
		}
		check(t, c.name+" by vector", by.Hits, func(h index.Hit) float64 { return h.Dense }, dense, limit)
		if opts.DenseOnly {
			continue
		}
		by = mustSearch(t, x, sp, index.Query{Text: words, Limit: limit, Filter: filter})
		s.checkBest(t, c.name+" by words", by.Hits, func(h index.Hit) float64 { return h.Lexical }, lexical, limit)
	}
}

// checkHits checks the number of hits, their scores, and whether they pass the filter. It only logs how many of the
// best rows were found.
func (s *suite) checkHits(t testing.TB, name string, hits []index.Hit, score func(index.Hit) float64, all map[string]float64, limit int) {
	t.Helper()
	order := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Compare(all[b], all[a]) })
	order = order[:min(limit, len(order))]
	if len(hits) != len(order) {
		t.Errorf("%s: %d hits, want %d", name, len(hits), len(order))
	}
	n := 0
	for _, h := range hits {
		if own, passes := all[h.Key]; !passes || !s.isClose(score(h), own) {
			t.Errorf("%s: row %s has the score %v, want %v; that it passes is %v", name, h.Key, score(h), own, passes)
		}
		if slices.Contains(order, h.Key) {
			n++
		}
	}
	t.Logf("%s: %d of the best %d are found", name, n, len(order))
}

// checkBest checks that `hits` are the rows with the highest scores, and that the scores are right. Rows with equal
// scores are interchangeable.
func (s *suite) checkBest(t testing.TB, name string, hits []index.Hit, score func(index.Hit) float64, all map[string]float64, limit int) {
	t.Helper()
	order := slices.SortedFunc(maps.Keys(all), func(a, b string) int { return cmp.Compare(all[b], all[a]) })
	order = order[:min(limit, len(order))]
	if len(hits) != len(order) {
		t.Errorf("%s: %d hits, want %d", name, len(hits), len(order))
		return
	}
	slices.SortFunc(hits, func(a, b index.Hit) int { return cmp.Compare(score(b), score(a)) })
	for i, h := range hits {
		own, passes := all[h.Key]
		if !passes {
			t.Errorf("%s: row %s does not pass", name, h.Key)
			continue
		}
		if !s.isClose(score(h), own) || !s.isClose(score(h), all[order[i]]) {
			t.Errorf("%s: hit %d is %s with the score %v, which a full scan gives %v; its own is %s with %v", name, i, h.Key, score(h), own, order[i], all[order[i]])
			return
		}
	}
}
