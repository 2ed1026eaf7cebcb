package milvus

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
)

// BM25's parameters: how soon a term's frequency saturates, and how much a row's length counts.
const (
	k1 = 1.2
	b  = 0.75
	// contextWeight is how often a word of a row's context counts: a title says more than a sentence.
	contextWeight = 2
)

// averageLength stands for the average length of rows in a language: a row's weights are stored, and cannot change with
// the rows around it. Chunks are packed to a common size, so their lengths differ between languages more than within one.
// Being off by half costs less than 0.01 nDCG.
func averageLength(lang analysis.Language) float64 {
	switch lang {
	case "zh", "ja", "ko", "th", "lo", "km", "my": // indexed by characters and pairs of them
		return 150
	}
	return 80
}

// maxScoredTerms is how many query terms are scored: of more, the rarest.
const maxScoredTerms = 64

// weights holds the saturated frequency of each term of a row, by the term's hash.
type weights map[uint32]float64

// termHash numbers a term. The highest number is reserved by the server.
func termHash(term string) uint32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(term)) // a hash never fails
	v := h.Sum64()
	return min(uint32(v^v>>32), math.MaxUint32-1)
}

// lengthNorm is the part of BM25's denominator that depends on a row's length.
func lengthNorm(length int64, lang analysis.Language) float64 {
	return k1 * (1 - b + b*float64(length)/averageLength(lang))
}

func saturated(frequency, norm float64) float64 { return frequency * (k1 + 1) / (frequency + norm) }

// frequency undoes saturated.
func frequency(weight, norm float64) float64 {
	return math.Round(weight * norm / max(k1+1-weight, 1e-9))
}

// termWeights analyses a row. length is how many terms it has, those of the context weighed.
func termWeights(r *index.Row, lang analysis.Language, words *analysis.Analyzer) (weights, int64) {
	w := make(weights)
	var length int64
	for _, t := range words.Terms(r.Text, lang) {
		w[termHash(t)]++
		length++
	}
	for _, t := range words.Terms(r.Context, lang) {
		w[termHash(t)] += contextWeight
		length += contextWeight
	}
	norm := lengthNorm(length, lang)
	for t, n := range w {
		w[t] = saturated(n, norm)
	}
	return w, length
}

// noTerm is the only entry of a row without words: servers may refuse an empty vector. No term is empty.
var noTerm = termHash("")

// stored is the sparse vector of a row.
func (w weights) stored() (entity.SparseEmbedding, error) {
	if len(w) == 0 {
		return entity.NewSliceSparseEmbedding([]uint32{noTerm}, []float32{1})
	}
	terms := make([]uint32, 0, len(w))
	for t := range w {
		terms = append(terms, t)
	}
	slices.Sort(terms)
	values := make([]float32, len(terms))
	for i, t := range terms {
		values[i] = float32(w[t])
	}
	return entity.NewSliceSparseEmbedding(terms, values)
}

// queryTerm is a word of a query with its weight in a space.
type queryTerm struct {
	name  string
	forms []uint32
	idf   float64
}

// question is the lexical side of a query.
type question struct {
	terms   []queryTerm // those that are scored
	weights map[string]float64
	max     float64
}

// ask weighs the words of a query by how many of a space's rows have them.
func ask(words []analysis.QueryTerm, rows float64, having []float64) question {
	q := question{weights: make(map[string]float64, len(words))}
	for i, w := range words {
		n := min(having[i], rows)
		t := queryTerm{name: w.Name, forms: hashes(w), idf: math.Log(1 + (rows-n+0.5)/(n+0.5))}
		q.terms = append(q.terms, t)
	}
	if len(q.terms) > maxScoredTerms {
		slices.SortStableFunc(q.terms, func(a, b queryTerm) int { return cmp.Compare(b.idf, a.idf) })
		q.terms = q.terms[:maxScoredTerms]
	}
	for _, t := range q.terms {
		q.weights[t.name] = t.idf
		q.max += t.idf * (k1 + 1)
	}
	return q
}

// hashes numbers the forms of a word, each once.
func hashes(w analysis.QueryTerm) []uint32 {
	var out []uint32
	for _, f := range w.Forms {
		if h := termHash(f); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// vector is what the sparse field is searched with, nil when the query has no words.
func (q question) vector() (entity.SparseEmbedding, error) {
	idf := make(weights)
	for _, t := range q.terms {
		for _, f := range t.forms {
			idf[f] = max(idf[f], t.idf)
		}
	}
	if len(idf) == 0 {
		return nil, nil
	}
	return idf.stored()
}

// score sets a hit's lexical score and the terms that it has, with their counts. norm is the row's lengthNorm; weight tells
// the saturated frequency of a term in the row, 0 when it has none. Several forms of a word count as one term, as often as
// all of them together.
func (q question) score(h *index.Hit, norm float64, weight func(uint32) float64) {
	for _, t := range q.terms {
		var together float64
		for _, f := range t.forms {
			switch w := weight(f); {
			case w == 0:
			case together == 0:
				together = w
			default:
				together = saturated(frequency(together, norm)+frequency(w, norm), norm)
			}
		}
		if together > 0 {
			h.Lexical += t.idf * together
			h.Terms = append(h.Terms, t.name)
			h.Counts = append(h.Counts, int(frequency(together, norm)))
		}
	}
}

// lookUp returns the value of a sparse vector at a position, 0 where it has none. Positions are in order.
func lookUp(v entity.SparseEmbedding) func(uint32) float64 {
	return func(want uint32) float64 {
		lo, hi := 0, v.Len()
		for lo < hi {
			mid := int(uint(lo+hi) >> 1)
			position, value, ok := v.Get(mid)
			switch {
			case !ok:
				return 0
			case position == want:
				return float64(value)
			case position < want:
				lo = mid + 1
			default:
				hi = mid
			}
		}
		return 0
	}
}
