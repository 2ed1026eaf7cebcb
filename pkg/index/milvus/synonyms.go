package milvus

import (
	"context"
	"math"
	"slices"

	"github.com/sluice/sluice/pkg/analysis"
)

// alternative is a synonym for a query's word. For each word in the synonym, it holds the hashes of the word's forms.
type alternative [][]uint32

func alternativesOf(w analysis.QueryTerm) []alternative {
	var out []alternative
	for _, a := range w.Alternatives {
		var words alternative
		for _, forms := range a.Words {
			words = append(words, hashes(forms))
		}
		out = append(out, words)
	}
	return out
}

// count returns how often a row contains the alternative, i.e. as often as the rarest of its words.
func (a alternative) count(count func(uint32) float64) float64 {
	lowest := math.Inf(1)
	for _, forms := range a {
		var n float64
		for _, f := range forms {
			n += count(f)
		}
		lowest = min(lowest, n)
	}
	return lowest
}

// addTo adds the alternative's words to the sparse vector that the server uses to find candidates. Each word gets an
// equal share of a synonym's weight, so a row needs all words to get the full weight.
func (a alternative) addTo(highest weights, weight float64) {
	share := analysis.SynonymWeight * weight / float64(len(a))
	for _, forms := range a {
		for _, f := range forms {
			highest[f] = max(highest[f], share)
		}
	}
}

// countedWords returns the words whose document frequencies are needed for a query term. `alone` combines the forms of
// the term and of its single-word synonyms. `longer` holds the words of each multi-word synonym.
func countedWords(w analysis.QueryTerm) (alone analysis.QueryTerm, longer [][]analysis.QueryTerm) {
	alone = analysis.QueryTerm{Name: w.Name, Forms: slices.Clone(w.Forms)}
	for _, a := range w.Alternatives {
		if len(a.Words) == 1 {
			alone.Forms = append(alone.Forms, a.Words[0]...)
			continue
		}
		var words []analysis.QueryTerm
		for _, forms := range a.Words {
			words = append(words, analysis.QueryTerm{Name: forms[0], Forms: forms})
		}
		longer = append(longer, words)
	}
	return alone, longer
}

// rowsWith estimates, for each query term, how many rows contain the term or one of its synonyms. It counts a
// multi-word synonym as if it were in every row with its rarest word.
func (x *Index) rowsWith(ctx context.Context, col *collection, datastoreID string, terms []analysis.QueryTerm, c *termStatistics) ([]float64, error) {
	var words []analysis.QueryTerm // of all terms
	type part struct {
		alone  int      // index of the word in the list; -1 if there is none
		longer [][2]int // ranges in the list
	}
	parts := make([]part, len(terms))
	for i, t := range terms {
		alone, longer := countedWords(t)
		parts[i].alone = -1
		if len(alone.Forms) > 0 {
			parts[i].alone = len(words)
			words = append(words, alone)
		}
		for _, l := range longer {
			parts[i].longer = append(parts[i].longer, [2]int{len(words), len(words) + len(l)})
			words = append(words, l...)
		}
	}
	counts, err := x.countRowsHaving(ctx, col, datastoreID, words, c)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(terms))
	for i, p := range parts {
		if p.alone >= 0 {
			out[i] = counts[p.alone]
		}
		for _, l := range p.longer {
			out[i] += slices.Min(counts[l[0]:l[1]])
		}
	}
	return out, nil
}
