package milvus

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
)

func TestScore_is_BM25_of_the_row(t *testing.T) {
	t.Parallel()
	r := index.Row{Text: "The river crosses the valley, and the river ends.", Context: "River guide"}
	var words analysis.Analyzer
	has, length := termWeights(&r, "en", &words)
	stored, err := has.stored()
	if err != nil {
		t.Fatal(err)
	}
	const rows = 100.0
	q := ask(analysis.Query("river valley glacier", nil), rows, []float64{10, 3, 0})
	want := 0.0
	for _, c := range []struct{ n, frequency float64 }{{10, 2 + contextWeight}, {3, 1}} {
		idf := math.Log(1 + (rows-c.n+0.5)/(c.n+0.5))
		want += idf * (k1 + 1) * c.frequency / (c.frequency + k1*(1-b+b*float64(length)/80))
	}
	for name, weight := range map[string]func(uint32) float64{"from the text": func(t uint32) float64 { return has[t] }, "from the stored vector": lookUp(stored)} {
		h := index.Hit{Row: r}
		q.score(&h, lengthNorm(length, "en"), weight)
		if math.Abs(h.Lexical-want) > 1e-6 {
			t.Errorf("%s: score %v, want %v", name, h.Lexical, want)
		}
		if !slices.Equal(h.Terms, []string{"river", "valley"}) {
			t.Errorf("%s: terms %v", name, h.Terms)
		}
	}
	if len(q.weights) != 3 || q.weights["glacier"] <= q.weights["valley"] {
		t.Errorf("weights %v, want three, that of the absent word the highest", q.weights)
	}
}

func TestScore_counts_the_forms_of_a_word_together(t *testing.T) {
	t.Parallel()
	norm := lengthNorm(80, "en")
	w := analysis.QueryTerm{Name: "a", Forms: []string{"a", "b", "c", "a"}}
	q := ask([]analysis.QueryTerm{w}, 10, []float64{2})
	row := weights{termHash("a"): saturated(3, norm), termHash("b"): saturated(1000, norm)}
	stored, err := row.stored()
	if err != nil {
		t.Fatal(err)
	}
	var h index.Hit
	q.score(&h, norm, lookUp(stored))
	if want := q.terms[0].idf * saturated(1003, norm); math.Abs(h.Lexical-want) > 1e-6 {
		t.Errorf("score %v, want %v", h.Lexical, want)
	}
}

func TestFrequency_undoes_saturation_at_single_precision(t *testing.T) {
	t.Parallel()
	for _, length := range []int64{1, 10, 110, 5000, 200_000} {
		norm := lengthNorm(length, "en")
		for _, n := range []float64{1, 2, 3, 10, 100, 1000} {
			if got := frequency(float64(float32(saturated(n, norm))), norm); math.Abs(got-n) > n/500 {
				t.Errorf("length %d: %v became %v", length, n, got)
			}
		}
	}
}

func TestAsk_keeps_the_rarest_of_many_words(t *testing.T) {
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
	q := ask(words, 1000, having)
	if len(q.terms) != maxScoredTerms || len(q.weights) != maxScoredTerms {
		t.Fatalf("%d terms and %d weights, want %d", len(q.terms), len(q.weights), maxScoredTerms)
	}
	for _, w := range words[len(words)-maxScoredTerms:] {
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
		find := lookUp(v)
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
