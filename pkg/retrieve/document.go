package retrieve

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A document usually covers a subject in several chunks. If only its best chunk counted, a long document would rank
// below a short one that says less but has the query's words close together. So the lexical score has two parts: the
// chunk's own score and that of its window, i.e. the chunk and its neighbours in the document. Only candidates count
// towards a window's score. A short document fits in one window; in a book, only the text near the chunk counts.
const (
	// windowReach is the number of chunks in a window on each side of its chunk. Below 4, articles and abstracts of up to
	// ten chunks rank worse than with BM25 over whole documents. Passages from long documents rank better with smaller
	// windows, and best with 3.
	windowReach = 4
	// documentShare is the window's weight in the lexical score. Below 0.4, articles and abstracts rank worse than with
	// BM25 over whole documents. Above 0.6, documents with several subjects often rank with the wrong passage.
	documentShare = 0.5
	// BM25's k1 and b for windows. Only candidates count towards a window's length, so a window that is irrelevant has few
	// of them and is short. A large b would favour it.
	documentK1 = 1.2
	documentB  = 0.2
	// A term's minimum weight.
	minTermWeight = 0.05
)

// weighDocuments computes the document scores of one space's candidates, which must be in byDocument's order. `weights`
// contains each query term's weight in the space. If the engine doesn't count terms or the query has none, the document
// score is the chunk's own lexical score.
func weighDocuments(order []*candidate, weights map[string]float64) {
	words := slices.Sorted(maps.Keys(weights))
	length := 0
	for _, c := range order {
		length += c.hit.Length
	}
	if length == 0 || len(words) == 0 {
		for _, c := range order {
			c.document = c.lexical
		}
		return
	}
	numberWords(order, words)
	idf, average := documentWeights(order, words, weights)
	var highest float64
	for _, w := range idf {
		highest += w * (documentK1 + 1)
	}
	around := window{counts: make([]float64, len(words))}
	from, to := 0, 0 // range of the candidates in the window
	for _, c := range order {
		for ; to < len(order) && isInWindow(order[to], c); to++ {
			around.add(order[to], 1)
		}
		for ; !isInWindow(order[from], c); from++ {
			around.add(order[from], -1)
		}
		c.document = around.score(idf, average) / highest
	}
}

// byDocument returns the candidates grouped by document and in document order. The order of the groups doesn't matter,
// so they are sorted by candidate.number, which is cheaper to compare than an id. Candidates often arrive in this
// order.
func byDocument(found []candidate) []*candidate {
	order := make([]*candidate, len(found))
	for i := range found {
		order[i] = &found[i]
	}
	slices.SortFunc(order, func(a, b *candidate) int {
		return cmp.Or(a.number-b.number, a.hit.Ordinal-b.hit.Ordinal)
	})
	return order
}

// isInWindow reports whether the two candidates are in each other's windows.
func isInWindow(a, b *candidate) bool {
	return a.number == b.number && max(a.hit.Ordinal-b.hit.Ordinal, b.hit.Ordinal-a.hit.Ordinal) <= windowReach
}

// numberWords fills in candidate.numbers, which maps each of the candidate's terms to its index in `words`, or to -1 if
// it is not in `words` or the engine didn't count it. Candidates that share a slice of terms share the result.
func numberWords(order []*candidate, words []string) {
	number := make(map[string]int, len(words))
	for i, w := range words {
		number[w] = i
	}
	type list struct {
		first         *string
		terms, counts int
	}
	known := make(map[list][]int)
	for _, c := range order {
		if len(c.hit.Terms) == 0 {
			continue
		}
		l := list{&c.hit.Terms[0], len(c.hit.Terms), len(c.hit.Counts)}
		numbers, ok := known[l]
		if !ok {
			numbers = make([]int, len(c.hit.Terms))
			for j, term := range c.hit.Terms {
				if numbers[j], ok = number[term]; !ok || j >= len(c.hit.Counts) {
					numbers[j] = -1
				}
			}
			known[l] = numbers
		}
		c.numbers = numbers
	}
}

// window sums up candidates from part of a document. All values are integers, so adding a candidate and subtracting it
// later leaves no rounding error.
type window struct {
	counts []float64 // occurrences of each query term
	length float64   // in terms
}

// add adds a candidate to the window, or subtracts it if `times` is -1 rather than 1.
func (s *window) add(c *candidate, times float64) {
	for j, n := range c.numbers {
		if n >= 0 {
			s.counts[n] += times * float64(c.hit.Counts[j])
		}
	}
	s.length += times * float64(c.hit.Length)
}

// score returns the window's BM25 score, given the query terms' inverse document frequencies and the average window
// length.
func (s *window) score(idf []float64, average float64) (sum float64) {
	norm := documentK1 * (1 - documentB + documentB*s.length/average)
	for i, n := range s.counts {
		if n > 0 {
			sum += idf[i] * (documentK1 + 1) * n / (n + norm)
		}
	}
	return sum
}

// documentWeights estimates the terms' inverse document frequencies over windows instead of chunks, and the average
// window length. It splits each document into consecutive windows.
//
// The engine's weights count chunks. Long documents repeat terms about their subjects in many chunks, which makes these
// terms' weights too low. So documentWeights raises the weights of terms that occur in more chunks per window than
// average, and lowers those of terms that occur in fewer.
func documentWeights(order []*candidate, words []string, weights map[string]float64) (idf []float64, average float64) {
	const size = 2*windowReach + 1
	chunks, having := make([]float64, len(words)), make([]float64, len(words)) // per term: chunks and windows with it
	last := make([]int, len(words))                                            // per term: the last window with it
	windows, length := 0, 0
	for i, c := range order {
		if i == 0 || order[i-1].number != c.number || order[i-1].hit.Ordinal/size != c.hit.Ordinal/size {
			windows++
		}
		length += c.hit.Length
		for j, n := range c.numbers {
			if n < 0 || c.hit.Counts[j] == 0 {
				continue
			}
			chunks[n]++
			if last[n] != windows {
				last[n] = windows
				having[n]++
			}
		}
	}
	overall := float64(windows) / float64(len(order))
	idf = make([]float64, len(words))
	for i, w := range words {
		share := (having[i] + overall) / (chunks[i] + 1) // smoothed with one average candidate
		idf[i] = max(weights[w]+math.Log(overall/share), minTermWeight)
	}
	return idf, float64(length) / float64(windows)
}
