package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
)

// crowd returns 400 candidates. Every 40th is relevant and has higher lexical and dense scores than the others, but all
// scores contain random errors.
func crowd() (all []*candidate, meaning []float64) {
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 400 {
		right := 0.0
		if i%40 == 0 {
			right = 1
		}
		words := min(max(0.15+0.35*right+0.1*r.NormFloat64(), 0), 1)
		all = append(all, &candidate{lexical: words, document: words, hit: &index.Hit{Row: index.Row{Key: fmt.Sprintf("%03d", i)}}})
		meaning = append(meaning, min(max(0.2+0.4*right+0.12*r.NormFloat64(), -1), 1))
	}
	return all, meaning
}

func order(all []*candidate) []string {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b *candidate) int { return cmp.Compare(b.score, a.score) })
	var out []string
	for _, c := range sorted {
		out = append(out, c.hit.Key)
	}
	return out
}

func TestFuse_ranks_content_that_is_split_between_models_nearly_as_one(t *testing.T) {
	t.Parallel()
	type model struct {
		kind       comparableKind
		low, scale float64 // a candidate's cosine: low + scale*meaning
		weight     float64 // 0 without vectors
	}
	one := model{comparableKind{"one", true}, 0, 1, 0.3}
	for name, test := range map[string]struct {
		other model
		same  int // how many of the ten best must stay in the top ten
	}{
		"the same model under another name":           {model{comparableKind{"other", true}, 0, 1, 0.3}, 10},
		"a model all of whose cosines are high":       {model{comparableKind{"other", true}, 0.7, 0.3, 0.3}, 9},
		"a model with the same weight for both legs":  {model{comparableKind{"other", true}, 0, 1, 0.5}, 9},
		"a datastore that is searched by words alone": {model{comparableKind{"", true}, 0, 0, 0}, 8},
		"a datastore whose engine compares no words":  {model{comparableKind{"other", false}, 0, 1, 1}, 7},
		"high cosines and an engine without words":    {model{comparableKind{"other", false}, 0.7, 0.3, 1}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			score := func(models ...model) []string {
				all, meaning := crowd()
				groups, vectors := make(map[comparableKind][]*candidate), make(map[comparableKind]queryVector)
				for i, c := range all {
					m := models[i/3%len(models)]
					c.hit.Dense = m.low + m.scale*meaning[i]
					if !m.kind.words {
						c.lexical, c.document = 0, 0
					}
					groups[m.kind] = append(groups[m.kind], c)
					if vectors[m.kind] = (queryVector{weight: m.weight}); m.weight > 0 {
						vectors[m.kind] = queryVector{weight: m.weight, vector: []float32{1}}
					}
				}
				fuse(groups, vectors)
				for _, c := range all {
					if math.IsNaN(c.score) || c.score > 1 {
						t.Fatalf("candidate %s scores %v", c.hit.Key, c.score)
					}
				}
				return order(all)
			}
			want, got := score(one)[:10], score(one, test.other)[:10]
			same := 0
			for _, key := range got {
				if slices.Contains(want, key) {
					same++
				}
			}
			if same < test.same {
				t.Errorf("%d of the best are among the best, want %d: %v and %v", same, test.same, got, want)
			}
		})
	}
}

// unknowing is a model that knows a tenth of every query's words.
type unknowing struct{ embedder }

func (unknowing) Coverage(string) float64 { return 0.1 }

// unknown is a fixture whose models all are `unknowing`.
type unknown struct{ *fixture }

func (u unknown) Embedder(model string) (embed.Embedder, error) {
	return unknowing{embedder{u.fixture, model}}, nil
}

func TestRetrieve_searches_by_a_vector_that_tells_little_when_no_word_matches(t *testing.T) {
	t.Parallel()
	w := newFixture(hit("near", 0, 0, 0.8), hit("far", 0, 0, 0.1))
	all := w.search
	w.search = func(ctx context.Context, s index.Space, q index.Query) (index.Result, error) {
		res, err := all(ctx, s, q)
		if q.Vector == nil {
			res.Hits = nil
		}
		return res, err
	}
	r := New(Deps{Indexes: w, Embedders: unknown{w}, Catalog: w}, Options{})
	res, err := r.Retrieve(t.Context(), ask())
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(res.Fragments); !slices.Equal(got, []string{"near", "far"}) {
		t.Errorf("found %v", got)
	}
}

// If there are only a few candidates, the typical cosine of unrelated texts is hard to estimate. That noise must not
// outweigh words.
func TestFuse_scores_what_holds_the_words_as_relevant_in_a_small_datastore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		cosines  []float64 // the right candidate's comes first
		words    float64   // the right candidate's word score; the others have none
		relevant bool
	}{
		"both words in one of four chunks":  {[]float64{0.166, 0.136, 0.1, 0.11}, 0.46, true},
		"both words in the only chunk":      {[]float64{0.166}, 0.46, true},
		"no word, and the noise of cosines": {[]float64{0.2, 0.17, 0.16, 0.18}, 0, false},
		"the only chunk, which has no word": {[]float64{0.2}, 0, false},
		"all cosines high, and no word":     {[]float64{0.88, 0.86, 0.87, 0.86, 0.87, 0.88, 0.86, 0.87}, 0, false},
	} {
		k := comparableKind{"one", true}
		var group []*candidate
		for i, cosine := range test.cosines {
			c := &candidate{hit: &index.Hit{Dense: cosine, Row: index.Row{Key: fmt.Sprint(i)}}}
			if i == 0 {
				c.lexical, c.document = test.words, test.words
			}
			group = append(group, c)
		}
		fuse(map[comparableKind][]*candidate{k: group}, map[comparableKind]queryVector{k: {weight: 0.3, vector: []float32{1}}})
		if got := group[0].score; (got >= relevantScore) != test.relevant {
			t.Errorf("%s: score %.3f, relevant %v", name, got, test.relevant)
		}
	}
}

// Minimum score for a fragment to be read by an agent.
const relevantScore = 0.25
