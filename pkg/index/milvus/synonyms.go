package milvus

import (
	"context"
	"math"
	"slices"

	"github.com/sluice/sluice/pkg/analysis"
)

// alternative is a synonym for a query word. It has one element per word of the synonym: the hashes of that word's
// forms.
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

// count returns how often a row contains the alternative, i.e. its rarest word.
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

// addTo adds the alternative's words to the sparse vector for finding candidates. Each word gets an equal share of the
// synonym's weight, so only a row with all words gets the full weight.
func (a alternative) addTo(highest weights, weight float64) {
	share := analysis.SynonymWeight * weight / float64(len(a))
	for _, forms := range a {
		for _, f := range forms {
			highest[f] = max(highest[f], share)
		}
	}
}

// countedWords returns the words whose document frequencies a query term needs. `alone` combines the forms of the term
// and its single-word synonyms. `longer` holds each multi-word synonym's words.
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

// rowsWith estimates how many rows contain each query term or one of its synonyms. It assumes that a multi-word synonym
// is in every row with its rarest word.
func (x *Index) rowsWith(ctx context.Context, col *collection, datastoreID string, terms []analysis.QueryTerm, c *termStatistics) ([]float64, error) {
	var words []analysis.QueryTerm // all terms' words
	type part struct {
		alone  int      // index in words; -1 if there is none
		longer [][2]int // ranges in words
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
