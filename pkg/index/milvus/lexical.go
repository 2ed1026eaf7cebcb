package milvus

import (
	"cmp"
	"hash/fnv"
	"maps"
	"math"
	"slices"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"

	"github.com/sluice/sluice/pkg/analysis"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/bm25"
	"github.com/sluice/sluice/pkg/lists"
)

// assumedLength is the average row length, in terms, on which stored weights for a language are based. Stored weights
// don't follow the real average. All chunks have about the same size in tokens, so their length in terms depends mainly
// on the language. A wrong assumption can change which rows become candidates, but not their scores; see
// lexicalQuery.candidateLimit.
func assumedLength(lang analysis.Language) float64 {
	switch lang {
	case "zh", "ja", "ko", "th", "lo", "km", "my": // indexed by single characters and pairs
		return 150
	}
	return 80
}

// weights maps term hashes to weights. In a row, the weight is the term's saturated frequency.
type weights map[uint32]float64

// counts maps term hashes to the number of occurrences in a row.
type counts map[uint32]float64

// termHash returns a term's dimension in sparse vectors. Servers reserve the highest number, so it is never used.
func termHash(term string) uint32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(term)) // writing to a hash never fails
	v := h.Sum64()
	return min(uint32(v^v>>32), math.MaxUint32-1)
}

// storedNorm returns BM25's length normalisation for a row, using the assumed average length.
func storedNorm(length int64, lang analysis.Language) float64 {
	return bm25.Norm(float64(length), assumedLength(lang))
}

// frequency is the inverse of bm25.Saturated.
func frequency(weight, norm float64) float64 {
	return math.Round(weight * norm / max(bm25.Ceiling-weight, 1e-9))
}

// countTerms returns how often each term occurs in a row, and the total number of terms. A term in the context counts
// bm25.ContextWeight times.
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
	if page := analysis.PageTerm(r.Page); page != "" {
		has[termHash(page)] += bm25.PageWeight
	}
	return has, length
}

// saturated returns each term's saturated frequency.
func (c counts) saturated(norm float64) weights {
	w := make(weights, len(c))
	for t, n := range c {
		w[t] = bm25.Saturated(n, norm)
	}
	return w
}

// noTerm is the only entry in the sparse vector of a row without words. Servers may reject an empty vector.
var noTerm = termHash("")

// stored converts weights to a sparse vector.
func (w weights) stored() (entity.SparseEmbedding, error) {
	if len(w) == 0 {
		return entity.NewSliceSparseEmbedding([]uint32{noTerm}, []float32{1})
	}
	terms := slices.Sorted(maps.Keys(w))
	values := lists.Map(terms, func(t uint32) float32 { return float32(w[t]) })
	return entity.NewSliceSparseEmbedding(terms, values)
}

// queryTerm is a query word. Its weight is its inverse document frequency in a space, times the factor for repetitions
// in the query.
type queryTerm struct {
	name         string
	forms        []uint32
	alternatives []alternative
	weight       float64
}

// lexicalQuery is the lexical part of a query.
type lexicalQuery struct {
	terms    []queryTerm // at most bm25.MaxTerms
	weights  map[string]float64
	max      float64
	average  float64 // average row length in the space
	mismatch float64 // see averages
}

// newLexicalQuery weights a query's words by the number of rows that contain them.
func newLexicalQuery(words []analysis.QueryTerm, rows float64, having []float64) lexicalQuery {
	q := lexicalQuery{weights: make(map[string]float64, len(words)), average: 1}
	for i, w := range words {
		t := queryTerm{name: w.Name, forms: hashes(w.Forms), alternatives: alternativesOf(w), weight: bm25.Weight(rows, min(having[i], rows)) * bm25.Repeated(w.Count)}
		q.terms = append(q.terms, t)
	}
	if len(q.terms) > bm25.MaxTerms {
		slices.SortStableFunc(q.terms, func(a, b queryTerm) int { return cmp.Compare(b.weight, a.weight) })
		q.terms = q.terms[:bm25.MaxTerms]
	}
	for _, t := range q.terms {
		q.weights[t.name] = t.weight
		q.max += t.weight * bm25.Ceiling
	}
	return q
}

// Limits on the number of candidates; see candidateLimit. In tests with texts in 14 languages, averaging 42 to 725
// terms per row, the candidates included all of the best rows in most languages. In the worst case, they included 99.4%
// of the top 10 documents and 99.96% of the top 50 chunks.
const (
	minExtraShare = 0.1
	minExtraRows  = 20
	maxCandidates = 16_384 // the servers' limit
)

// candidateLimit returns how many candidates to fetch for `limit` requested rows. Stored weights assume an average row
// length. The further the real average is from it, the lower the best rows may rank, so the more candidates are
// fetched.
func (q lexicalQuery) candidateLimit(limit int) int {
	more := float64(limit+minExtraRows) * (q.mismatch + minExtraShare)
	return int(min(float64(limit)+math.Ceil(more), maxCandidates))
}

// hashes returns the distinct hashes of a word's forms.
func hashes(forms []string) []uint32 {
	var out []uint32
	for _, f := range forms {
		if h := termHash(f); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

// vector returns the query's sparse vector, or nil if the query has no words.
func (q lexicalQuery) vector() (entity.SparseEmbedding, error) {
	highest := make(weights)
	for _, t := range q.terms {
		for _, f := range t.forms {
			highest[f] = max(highest[f], t.weight)
		}
		for _, a := range t.alternatives {
			a.addTo(highest, t.weight)
		}
	}
	if len(highest) == 0 {
		return nil, nil
	}
	return highest.stored()
}

// score sets a hit's lexical score, Terms (the query terms in the row) and Counts (how often each occurs). count()
// returns the number of occurrences of a form, given its hash. All forms of a word count as one term.
func (q lexicalQuery) score(h *index.Hit, count func(uint32) float64) {
	norm := bm25.Norm(float64(h.Length), q.average)
	for _, t := range q.terms {
		var n float64
		for _, f := range t.forms {
			n += count(f)
		}
		for _, a := range t.alternatives {
			n += analysis.SynonymWeight * a.count(count)
		}
		if n > 0 {
			h.Lexical += t.weight * bm25.Saturated(n, norm)
			h.Terms = append(h.Terms, t.name)
			h.Counts = append(h.Counts, int(math.Ceil(n-1e-9)))
		}
	}
}

// countIn returns a function that counts a term's occurrences in a row. It recovers the counts from v, the row's stored
// vector.
func countIn(v entity.SparseEmbedding, norm float64) func(uint32) float64 {
	weight := sparseLookup(v)
	return func(term uint32) float64 { return frequency(weight(term), norm) }
}

// sparseLookup returns a function that looks up a dimension in a sparse vector. Missing dimensions are 0. The vector
// must be sorted by dimension.
func sparseLookup(v entity.SparseEmbedding) func(uint32) float64 {
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
