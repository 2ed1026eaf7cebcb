package milvus

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/bm25"
)

// assumedLength stands for the average length of rows in a language while they are stored: stored weights cannot change
// with the rows around them. Chunks are packed to a common size, so their lengths differ between languages more than within
// one. It decides which rows become candidates, not how they score: see question.deeper.
func assumedLength(lang analysis.Language) float64 {
	switch lang {
	case "zh", "ja", "ko", "th", "lo", "km", "my": // indexed by characters and pairs of them
		return 150
	}
	return 80
}

// weights holds the weight of each term, by its hash: of a row's terms their saturated frequency.
type weights map[uint32]float64

// counts tells how often a row has each of its terms, by the term's hash.
type counts map[uint32]float64

// termHash numbers a term. The highest number is reserved by the server.
func termHash(term string) uint32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(term)) // a hash never fails
	v := h.Sum64()
	return min(uint32(v^v>>32), math.MaxUint32-1)
}

// storedNorm is the part of BM25's denominator that depends on a row's length, as its stored weights have it.
func storedNorm(length int64, lang analysis.Language) float64 {
	return bm25.Norm(float64(length), assumedLength(lang))
}

// frequency undoes bm25.Saturated.
func frequency(weight, norm float64) float64 {
	return math.Round(weight * norm / max(bm25.Ceiling-weight, 1e-9))
}

// countTerms analyses a row. length is how many terms it has, those of the context weighed.
func countTerms(r *index.Row, lang analysis.Language, words *analysis.Analyzer) (has counts, length int64) {
	has = make(counts)
	for _, t := range words.Terms(r.Text, lang) {
		has[termHash(t)]++
		length++
	}
	for _, t := range words.Terms(r.Context, lang) {
		has[termHash(t)] += bm25.ContextWeight
		length += bm25.ContextWeight
	}
	return has, length
}

// saturated weighs counts.
func (c counts) saturated(norm float64) weights {
	w := make(weights, len(c))
	for t, n := range c {
		w[t] = bm25.Saturated(n, norm)
	}
	return w
}

// noTerm is the only entry of a row without words: servers may refuse an empty vector. No term is empty.
var noTerm = termHash("")

// stored is the sparse vector of weights.
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
	terms    []queryTerm // those that are scored
	weights  map[string]float64
	max      float64
	average  float64 // length of the space's rows
	mismatch float64 // see census
}

// ask weighs the words of a query by how many of a space's rows have them.
func ask(words []analysis.QueryTerm, rows float64, having []float64) question {
	q := question{weights: make(map[string]float64, len(words)), average: 1}
	for i, w := range words {
		t := queryTerm{name: w.Name, forms: hashes(w), idf: bm25.Weight(rows, min(having[i], rows))}
		q.terms = append(q.terms, t)
	}
	if len(q.terms) > bm25.MaxTerms {
		slices.SortStableFunc(q.terms, func(a, b queryTerm) int { return cmp.Compare(b.idf, a.idf) })
		q.terms = q.terms[:bm25.MaxTerms]
	}
	for _, t := range q.terms {
		q.weights[t.name] = t.idf
		q.max += t.idf * bm25.Ceiling
	}
	return q
}

// How many candidates more than asked for are taken by their stored weights. Measured on collections in 14 languages whose
// rows are 42 to 725 terms long on average: on most, all of the best are among these; at worst, 0.994 of the best 10 whole
// documents, and 0.9996 of the best 50 chunks.
const (
	deeperAlways = 0.1
	deeperRows   = 20
	deepestTop   = 16_384 // what servers give at most
)

// deeper tells how many candidates to take where so many rows are wanted. Stored weights compare rows with an assumed
// average length, so the further that is from the real one, the further down the best rows may lie.
func (q question) deeper(limit int) int {
	more := float64(limit+deeperRows) * (q.mismatch + deeperAlways)
	return int(min(float64(limit)+math.Ceil(more), deepestTop))
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

// score sets a hit's lexical score and the terms that it has, with their counts, of which count tells that of a term in the
// row. Several forms of a word count as one term, as often as all of them together.
func (q question) score(h *index.Hit, count func(uint32) float64) {
	norm := bm25.Norm(float64(h.Length), q.average)
	for _, t := range q.terms {
		var n float64
		for _, f := range t.forms {
			n += count(f)
		}
		if n > 0 {
			h.Lexical += t.idf * bm25.Saturated(n, norm)
			h.Terms = append(h.Terms, t.name)
			h.Counts = append(h.Counts, int(n))
		}
	}
}

// countIn tells counts of a row from its stored vector.
func countIn(v entity.SparseEmbedding, norm float64) func(uint32) float64 {
	weight := lookUp(v)
	return func(term uint32) float64 { return frequency(weight(term), norm) }
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
