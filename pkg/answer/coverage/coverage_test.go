package coverage

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

func TestAFragmentCoversAShareOfTheContentWords(t *testing.T) {
	t.Parallel()
	const pump = "The Aurora pump weighs 14 kilograms and has a warranty of seven years."
	for name, test := range map[string]struct {
		query     string
		fragments []domain.Fragment
		weights   map[string]float64
		want      float64
	}{
		"every word":                 {"How long is the warranty of the Aurora pump?", []domain.Fragment{{Text: pump}}, nil, 1},
		"half":                       {"Is there a warranty for the bicycle?", []domain.Fragment{{Text: pump}}, nil, 0.5},
		"a rare word counts more":    {"Is there a warranty for the bicycle?", []domain.Fragment{{Text: pump}}, map[string]float64{"warranti": 1, "bicycl": 3}, 0.25},
		"the beginning of a word":    {"What is the weight?", []domain.Fragment{{Text: pump}}, nil, stemShare},
		"words in two fragments":     {"How long is the warranty of the bicycle?", []domain.Fragment{{Text: pump}, {Text: "A bicycle costs four euros."}}, nil, 0.5},
		"words of the heading":       {"How long is the warranty of the bicycle?", []domain.Fragment{{Text: "The warranty is seven years.", Heading: "Bicycle"}}, nil, 1},
		"words of the name":          {"How long is the warranty of the bicycle?", []domain.Fragment{{Text: "The warranty is seven years.", DatasourceName: "bicycle-manual.pdf"}}, nil, 1},
		"a word in another language": {"Wie lange gilt die Garantie?", []domain.Fragment{{Text: pump}}, nil, 0},
		"pairs of characters":        {"水闸何时打开？", []domain.Fragment{{Text: "水闸早上六点打开。"}}, nil, 0.55},
		"no content words":           {"And what does it do?", []domain.Fragment{{Text: pump}}, nil, 0},
		"no fragments":               {"How long is the warranty?", nil, nil, 0},
	} {
		p := Read(retrieve.Result{Fragments: test.fragments, TermWeights: test.weights})
		words := p.Words(test.query, func(w string) bool { return w == "it" })
		best := p.Best(words, Words{}, 0)
		if math.Abs(best-test.want) > 0.01 {
			t.Errorf("%s: the best fragment covers %.2f, want %.2f", name, best, test.want)
		}
		if p.Covers(words, best) != (len(test.fragments) > 0) || p.Covers(words, best+0.001) {
			t.Errorf("%s: the fragments cover more or less than %.2f", name, best)
		}
	}
}

func TestSynonymsCountAlmostAsMuchAsTheQuerysWords(t *testing.T) {
	t.Parallel()
	rules := analysis.NewRules([]analysis.Synonym{{From: "guarantee", To: []string{"warranty"}}, {From: "Aurora", To: []string{"model X2"}}}, []string{"please"}, nil)
	for query, want := range map[string]float64{
		"How long is the guarantee of the pump?": (1 + analysis.SynonymWeight) / 2,
		"please, the pump":                       1,
		"How heavy is the Aurora?":               analysis.SynonymWeight / 2,
		"How heavy is the guarantor?":            0,
	} {
		p := Read(retrieve.Result{Fragments: []domain.Fragment{{Text: "The pump of the model X2 has a warranty."}}, Rules: rules})
		if got := p.Best(p.Words(query, nil), Words{}, 0); math.Abs(got-want) > 0.01 {
			t.Errorf("%s: the fragment covers %.2f, want %.2f", query, got, want)
		}
	}
}

func TestAFragmentMustBeAboutTheContext(t *testing.T) {
	t.Parallel()
	p := Read(retrieve.Result{Fragments: []domain.Fragment{
		{Text: "The Aurora pump has a warranty of seven years."}, {Text: "The ferry costs four euros."},
	}})
	words, ferry := p.Words("How long is the warranty?", nil), p.Words("the ferry", nil)
	if got := p.Best(words, ferry, 0.5); got != 0 {
		t.Errorf("a fragment about the ferry covers %.2f of the warranty, want 0", got)
	}
	if got := p.Best(words, p.Words("the Aurora pump", nil), 0.5); got != 1 {
		t.Errorf("a fragment about the pump covers %.2f of the warranty, want 1", got)
	}
	if n := p.Words("the warranty of the ferry", nil).Without(ferry).Len(); n != 1 {
		t.Errorf("%d words remain without the ferry, want 1", n)
	}
}

func TestFragmentsAfterTheOneThatCoversTheQueryAreNotAnalysed(t *testing.T) {
	t.Parallel()
	p := Read(retrieve.Result{Fragments: []domain.Fragment{
		{Text: "The ferry costs four euros."}, {Text: "The Aurora pump has a warranty of seven years."}, {Text: "The warranty of the pump."},
	}})
	if !p.Covers(p.Words("How long is the warranty of the pump?", nil), 0.9) || len(p.terms) != 2 {
		t.Errorf("%d fragments were analysed, want 2", len(p.terms))
	}
}

// BenchmarkCovers uses ten fragments of typical length; the first one covers the query.
func BenchmarkCovers(b *testing.B) {
	var found retrieve.Result
	for i := range 10 {
		text := strings.Repeat(fmt.Sprintf("The pump of model %d pumps water from the basement into the garden, even in winter. ", i), 18)
		found.Fragments = append(found.Fragments, domain.Fragment{Text: text, Heading: "Pumps", DatasourceName: "manual.pdf"})
	}
	for b.Loop() {
		p := Read(found)
		if !p.Covers(p.Words("Where does the pump of model 0 pump the water?", nil), 0.5) {
			b.Fatal("the first fragment does not cover the query")
		}
	}
}
