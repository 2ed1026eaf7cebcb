package coverage

import (
	"math"
	"testing"

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
		want, all float64
	}{
		"every word":                 {"How long is the warranty of the Aurora pump?", []domain.Fragment{{Text: pump}}, nil, 1, 1},
		"half":                       {"Is there a warranty for the bicycle?", []domain.Fragment{{Text: pump}}, nil, 0.5, 0.5},
		"a rare word counts more":    {"Is there a warranty for the bicycle?", []domain.Fragment{{Text: pump}}, map[string]float64{"warranti": 1, "bicycl": 3}, 0.25, 0.25},
		"the beginning of a word":    {"What is the weight?", []domain.Fragment{{Text: pump}}, nil, stemShare, stemShare},
		"words in two fragments":     {"How long is the warranty of the bicycle?", []domain.Fragment{{Text: pump}, {Text: "A bicycle costs four euros."}}, nil, 0.5, 1},
		"words of the heading":       {"How long is the warranty of the bicycle?", []domain.Fragment{{Text: "The warranty is seven years.", Heading: "Bicycle"}}, nil, 1, 1},
		"words of the name":          {"How long is the warranty of the bicycle?", []domain.Fragment{{Text: "The warranty is seven years.", DatasourceName: "bicycle-manual.pdf"}}, nil, 1, 1},
		"a word in another language": {"Wie lange gilt die Garantie?", []domain.Fragment{{Text: pump}}, nil, 0, 0},
		"pairs of characters":        {"水闸何时打开？", []domain.Fragment{{Text: "水闸早上六点打开。"}}, nil, 0.55, 0.55},
		"no content words":           {"And what does it do?", []domain.Fragment{{Text: pump}}, nil, 0, 0},
		"no fragments":               {"How long is the warranty?", nil, nil, 0, 0},
	} {
		p := Read(retrieve.Result{Fragments: test.fragments, TermWeights: test.weights})
		words := p.Words(test.query, func(w string) bool { return w == "it" })
		if got := p.Best(words, Words{}, 0); math.Abs(got-test.want) > 0.01 {
			t.Errorf("%s: the best fragment covers %.2f, want %.2f", name, got, test.want)
		}
		if got := p.All(words); math.Abs(got-test.all) > 0.01 {
			t.Errorf("%s: all fragments cover %.2f, want %.2f", name, got, test.all)
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
