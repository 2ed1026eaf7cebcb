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

// crowd is candidates of which some are right: words and meaning tell them, each with an error of its own. A model's
// cosines lie from low on, scale apart.
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
		kind       kind
		low, scale float64 // cosines
		weight     float64 // 0: no vectors
	}
	one := model{kind{"one", true}, 0, 1, 0.3}
	for name, test := range map[string]struct {
		other model
		same  int // of the ten that are best in one model
	}{
		"the same model under another name":           {model{kind{"other", true}, 0, 1, 0.3}, 10},
		"a model all of whose cosines are high":       {model{kind{"other", true}, 0.7, 0.3, 0.3}, 9},
		"a model with the same weight for both legs":  {model{kind{"other", true}, 0, 1, 0.5}, 9},
		"a datastore that is searched by words alone": {model{kind{"", true}, 0, 0, 0}, 8},
		"a datastore whose engine compares no words":  {model{kind{"other", false}, 0, 1, 1}, 7},
		"high cosines and an engine without words":    {model{kind{"other", false}, 0.7, 0.3, 1}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			score := func(models ...model) []string {
				all, meaning := crowd()
				groups, vectors := make(map[kind][]*candidate), make(map[kind]queryVector)
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

// unknowing is a model that knows a tenth of every query.
type unknowing struct{ embedder }

func (unknowing) Coverage(string) float64 { return 0.1 }

// unknown serves it.
type unknown struct{ *world }

func (u unknown) Embedder(model string) (embed.Embedder, error) {
	return unknowing{embedder{u.world, model}}, nil
}

func TestRetrieve_searches_by_a_vector_that_tells_little_when_no_word_matches(t *testing.T) {
	t.Parallel()
	w := newWorld(hit("near", 0, 0, 0.8), hit("far", 0, 0, 0.1))
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
