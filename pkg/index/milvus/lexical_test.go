package milvus

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/bm25"
)

func TestScore_is_BM25_for_any_assumed_average(t *testing.T) {
	t.Parallel()
	r := index.Row{Text: "The river crosses the valley, and the river ends.", Context: "River guide"}
	var words analysis.Analyzer
	has, length := countTerms(&r, "en", &words)
	norm := storedNorm(length, "en")
	stored, err := has.saturated(norm).stored()
	if err != nil {
		t.Fatal(err)
	}
	const rows = 100.0
	for _, average := range []float64{3, 80, 700} {
		q := newLexicalQuery(analysis.Query("river valley glacier", nil), rows, []float64{10, 3, 0})
		q.average = average
		want := 0.0
		for _, c := range []struct{ n, frequency float64 }{{10, 2 + bm25.ContextWeight}, {3, 1}} {
			idf := math.Log(1 + (rows-c.n+0.5)/(c.n+0.5))
			want += idf * 2.2 * c.frequency / (c.frequency + 1.2*(0.25+0.75*float64(length)/average))
		}
		for name, count := range map[string]func(uint32) float64{"from the text": func(t uint32) float64 { return has[t] }, "from the stored vector": countIn(stored, norm)} {
			h := index.Hit{Row: r, Length: int(length)}
			q.score(&h, count)
			if math.Abs(h.Lexical-want) > 1e-9 {
				t.Errorf("%s, of rows of %v terms: score %v, want %v", name, average, h.Lexical, want)
			}
			if !slices.Equal(h.Terms, []string{"river", "valley"}) || !slices.Equal(h.Counts, []int{2 + bm25.ContextWeight, 1}) {
				t.Errorf("%s: terms %v, %v", name, h.Terms, h.Counts)
			}
		}
		if len(q.weights) != 3 || q.weights["glacier"] <= q.weights["valley"] {
			t.Errorf("weights %v, want three, that of the absent word the highest", q.weights)
		}
	}
}

func TestScore_counts_the_forms_of_a_word_together(t *testing.T) {
	t.Parallel()
	w := analysis.QueryTerm{Name: "a", Forms: []string{"a", "b", "c", "a"}}
	q := newLexicalQuery([]analysis.QueryTerm{w}, 10, []float64{2})
	q.average = 80
	norm := storedNorm(80, "en")
	stored, err := counts{termHash("a"): 3, termHash("b"): 1000}.saturated(norm).stored()
	if err != nil {
		t.Fatal(err)
	}
	h := index.Hit{Length: 80}
	q.score(&h, countIn(stored, norm))
	if want := q.terms[0].weight * bm25.Saturated(1003, norm); math.Abs(h.Lexical-want) > 1e-6 {
		t.Errorf("score %v, want %v", h.Lexical, want)
	}
}

func TestFrequency_undoes_saturation_at_single_precision(t *testing.T) {
	t.Parallel()
	for _, length := range []int64{1, 10, 110, 5000, 200_000} {
		norm := storedNorm(length, "en")
		for n := 1.0; n <= 1000; n++ {
			got := frequency(float64(float32(bm25.Saturated(n, norm))), norm)
			if tolerance := max(0, n-100) / 300; math.Abs(got-n) > tolerance {
				t.Errorf("length %d: %v became %v", length, n, got)
			}
		}
	}
}

func TestAverages_and_their_deviation_from_the_assumed_length(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		languages         []string
		lengths           []int64
		average, mismatch float64
	}{
		"as assumed":             {[]string{"en", "de"}, []int64{60, 100}, 80, 0},
		"twice as long":          {[]string{"en", "en"}, []int64{160, 160}, 160, 1},
		"half as long":           {[]string{"en", "", "fr"}, []int64{40, 30, 50}, 40, 1},
		"languages far apart":    {[]string{"en", "zh"}, []int64{80, 160}, 120, (math.Log2(1.5) + math.Log2(1.25)) / 2},
		"rows without any words": {[]string{"en"}, []int64{0}, 1, math.Log2(80) * math.Log2(80)},
		"a quarter as long":      {[]string{"en"}, []int64{20}, 20, 4},
	} {
		average, mismatch := averages(c.languages, c.lengths)
		if math.Abs(average-c.average) > 1e-9 || math.Abs(mismatch-c.mismatch) > 1e-9 {
			t.Errorf("%s: %v and %v, want %v and %v", name, average, mismatch, c.average, c.mismatch)
		}
	}
}

func TestCandidateLimit_grows_with_the_deviation_from_the_assumed_average(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 10, 200, index.MaxLimit} {
		last := limit
		for _, mismatch := range []float64{0, 0.3, 1, 2, 8} {
			got := lexicalQuery{mismatch: mismatch}.candidateLimit(limit)
			if got <= last && got < maxCandidates || got > maxCandidates {
				t.Errorf("for %d rows at a mismatch of %v: %d candidates, %d where it is less", limit, mismatch, got, last)
			}
			last = got
		}
	}
}

func TestTopLexical_keeps_the_highest_scores_and_dense_hits(t *testing.T) {
	t.Parallel()
	var hits []index.Hit
	for i, score := range []float64{1, 5, 0, 4, 4, 0, 3} {
		hits = append(hits, index.Hit{Row: index.Row{Ordinal: i}, Lexical: score})
	}
	for _, c := range []struct {
		limit int
		near  []int
		want  []int
	}{
		{1, nil, []int{1}}, {2, nil, []int{1, 3}}, {2, []int{1}, []int{1, 3}}, {2, []int{0, 2}, []int{0, 1, 2, 3}},
		{10, nil, []int{0, 1, 3, 4, 6}}, {10, []int{5}, []int{0, 1, 3, 4, 5, 6}},
	} {
		var got []int
		for _, h := range topLexical(hits, c.limit, func(i int) bool { return slices.Contains(c.near, i) }) {
			got = append(got, h.Ordinal)
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("of %d rows beside those near, %v: %v are kept, want %v", c.limit, c.near, got, c.want)
		}
	}
}

func TestNewLexicalQuery_keeps_the_rarest_of_many_words(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 200 {
		text.WriteString(" w" + strings.Repeat("x", i%13) + string(rune('a'+i%26)) + string(rune('a'+i/26)))
	}
	words := analysis.Query(text.String(), nil)
	having := make([]float64, len(words))
	for i := range having {
		having[i] = float64(len(having) - i)
	}
	q := newLexicalQuery(words, 1000, having)
	if len(q.terms) != bm25.MaxTerms || len(q.weights) != bm25.MaxTerms {
		t.Fatalf("%d terms and %d weights, want %d", len(q.terms), len(q.weights), bm25.MaxTerms)
	}
	for _, w := range words[len(words)-bm25.MaxTerms:] {
		if _, ok := q.weights[w.Name]; !ok {
			t.Errorf("the rare word %q is not scored", w.Name)
		}
	}
}

func TestLookUp_finds_what_a_map_finds(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for size := range 40 {
		w := make(weights)
		for range size {
			w[rng.Uint32N(100)] = float64(1 + rng.IntN(5))
		}
		v, err := w.stored()
		if err != nil {
			t.Fatal(err)
		}
		find := sparseLookup(v)
		for term := range uint32(100) {
			if got := find(term); got != w[term] {
				t.Fatalf("of %d entries %d has %v, want %v", size, term, got, w[term])
			}
		}
	}
}

func TestStored_vector_of_a_row_without_words_is_not_empty(t *testing.T) {
	t.Parallel()
	v, err := weights{}.stored()
	if err != nil || v.Len() != 1 {
		t.Fatalf("%v, %v; want one entry", v, err)
	}
	if position, _, _ := v.Get(0); position != noTerm {
		t.Errorf("position %d, want that of no term", position)
	}
}
