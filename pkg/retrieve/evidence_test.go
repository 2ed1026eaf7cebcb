package retrieve

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// legsOf returns a fixture with n hits, each in a separate document. The lexical scores rank the hits in order, and the
// vectors rank hit i at near(i). All hits have the given text, and hit 0 has the given terms.
func legsOf(n int, near func(i int) int, text string, terms ...string) *fixture {
	hits := make([]index.Hit, n)
	for i := range hits {
		hits[i] = hit(fmt.Sprintf("d%03d", i), 0, 8-float64(i)*0.05, 0.6-float64(near(i))*0.005)
		hits[i].Text = text
	}
	hits[0].Terms = terms
	return newFixture(hits...)
}

func same(i int) int { return i }

func TestEvidenceLowersTheWeightOfTheVectors(t *testing.T) {
	t.Parallel()
	const prose, table = "The gate of the weir opens at noon", "12.5 | 13.7 | 1,204 | (88)"
	reversed := func(i int) int { return 59 - i }
	for name, test := range map[string]struct {
		w    *fixture
		want domain.ExplainedEvidence
	}{
		"prose that lacks the word, far from what is near": {legsOf(60, reversed, prose), domain.ExplainedEvidence{}},
		"a table":                           {legsOf(60, reversed, table), domain.ExplainedEvidence{Symbols: 1}},
		"the rarest word in the best":       {legsOf(60, reversed, prose, "gate"), domain.ExplainedEvidence{RarestWord: true}},
		"another word in the best":          {legsOf(60, reversed, prose, "weir"), domain.ExplainedEvidence{}},
		"legs that agree":                   {legsOf(60, same, prose), domain.ExplainedEvidence{Agreement: 1}},
		"legs with the same best ten":       {legsOf(60, func(i int) int { return i + 5 - 10*(i/5%2) }, prose), domain.ExplainedEvidence{Agreement: 1}},
		"legs that agree on some documents": {legsOf(60, func(i int) int { return (i + 56) % 60 }, prose), domain.ExplainedEvidence{Agreement: 0.6}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := retrieved(t, test.w).Explanation.Datastores[0]
			if d.Evidence == nil {
				t.Fatal("there is no evidence")
			}
			got := *d.Evidence
			if got.AverageWeight != DefaultDenseWeight || got.RarestWord != test.want.RarestWord || got.Symbols != test.want.Symbols || math.Abs(got.Agreement-test.want.Agreement) > 1e-9 {
				t.Errorf("the evidence is %+v, want %+v", got, test.want)
			}
			highest := evidence{average: DefaultDenseWeight}.adjusted()
			if lowered := test.want != (domain.ExplainedEvidence{}); lowered != (d.DenseWeight < highest) || d.DenseWeight > highest {
				t.Errorf("the weight is %v; without evidence against the vectors it is %v", d.DenseWeight, highest)
			}
		})
	}
}

func TestFewCandidatesAreNoEvidence(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{minEvidence - 1: false, minEvidence: true} {
		d := retrieved(t, legsOf(n, same, "12.5 | 13.7")).Explanation.Datastores[0]
		if (d.Evidence != nil) != want || (d.DenseWeight != DefaultDenseWeight) != want {
			t.Errorf("%d candidates: the weight is %v by %+v", n, d.DenseWeight, d.Evidence)
		}
	}
}

func TestAWeightOfAllOrNothingIsNotAdjusted(t *testing.T) {
	t.Parallel()
	for _, weight := range []float64{0, 1} {
		w := legsOf(60, same, "12.5 | 13.7")
		res, err := w.retriever(Options{Weights: map[string]float64{"openai:x": weight}}).Retrieve(t.Context(), ask(func(r *Request) { r.Explain = true }))
		if err != nil {
			t.Fatal(err)
		}
		if d := res.Explanation.Datastores[0]; d.Evidence != nil || d.DenseWeight != weight {
			t.Errorf("the weight %v became %v", weight, d.DenseWeight)
		}
	}
}

// A table's vector says little about its content. So a table that contains the query's words must rank above tables
// that only have a near vector.
func TestTablesAreRankedByWords(t *testing.T) {
	t.Parallel()
	first := func(text string) string {
		hits := make([]index.Hit, 60)
		for i := range hits {
			hits[i] = hit(fmt.Sprintf("d%03d", i), 0, 3-float64(i)*0.05, 0.18+float64(i)*0.002)
			hits[i].Text = text
		}
		hits[0].Lexical, hits[59].Dense = 3.6, 0.65
		return retrieved(t, newFixture(hits...)).Fragments[0].DatasourceID
	}
	if got := first("The gate of the weir opens at noon"); got != "d059" {
		t.Errorf("prose: %s is first, want what is near", got)
	}
	if got := first("12.5 | 13.7 | 1,204 | (88)"); got != "d000" {
		t.Errorf("tables: %s is first, want what has the words", got)
	}
}

func TestDatastoresWithTheSameModelHaveTheSameWeight(t *testing.T) {
	t.Parallel()
	other := store // without content
	other.ID = "other"
	w := legsOf(60, same, "12.5 | 13.7", "gate")
	res, err := w.retriever(Options{}).Retrieve(t.Context(), ask(func(r *Request) {
		r.Explain, r.Datastores = true, []domain.Datastore{store, other}
	}))
	if err != nil {
		t.Fatal(err)
	}
	ds := res.Explanation.Datastores
	if len(ds) != 2 || ds[0].Evidence == nil || ds[0].DenseWeight >= DefaultDenseWeight || ds[1].DenseWeight != ds[0].DenseWeight {
		t.Fatalf("%+v", ds)
	}
}

func TestSymbolShare(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"gate weir": 0, "a1": 0.5, "1 2 3": 1, "किताब में": 0, "水門 開く": 0, "f(x)": 0.5,
		strings.Repeat("a", examinedBytes) + "1": 0,
	} {
		if got, ok := symbolShare(&index.Hit{Row: index.Row{Text: text}}); !ok || got != want {
			t.Errorf("%.20q has a share of %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", " \n"} {
		if got, ok := symbolShare(&index.Hit{Row: index.Row{Text: text}}); ok || got != 0 {
			t.Errorf("%q has a share of %v", text, got)
		}
	}
}

func TestBestBy(t *testing.T) {
	t.Parallel()
	var group []*candidate
	for i, score := range []float64{0.1, 0.9, 0.5, 0.9, 0.2, 0.5} {
		group = append(group, &candidate{score: score, hit: &index.Hit{Row: index.Row{Key: fmt.Sprint(i)}}})
	}
	for range 2 {
		var got []string
		for _, c := range bestBy(group, 3, func(c *candidate) float64 { return c.score }) {
			got = append(got, c.hit.Key)
		}
		if want := []string{"1", "3", "2"}; !slices.Equal(got, want) {
			t.Errorf("the best are %v, want %v", got, want)
		}
		slices.Reverse(group)
	}
	if got := bestBy(group, 9, (*candidate).words); len(got) != len(group) {
		t.Errorf("%d of %d candidates are the best nine", len(got), len(group))
	}
}

func TestRarestTerm(t *testing.T) {
	t.Parallel()
	if got := rarestTerm(map[string]float64{"gate": 2, "weir": 3, "dam": 3, "a": 0.1}); got != "dam" {
		t.Errorf("the rarest is %q", got)
	}
	if got := rarestTerm(nil); got != "" {
		t.Errorf("the rarest of none is %q", got)
	}
	if got := rarestTerm(map[string]float64{"gate": 0}); got != "gate" {
		t.Errorf("the rarest of one is %q", got)
	}
}
