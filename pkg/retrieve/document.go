package retrieve

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A document usually covers a subject in several chunks. If only its best chunk counted, a long document would rank
// below a short one that says less but has the query's words close together. The lexical score therefore has two parts:
// the chunk's own score and that of its window, which consists of the chunk and its neighbours in the document. Only
// chunks that are candidates count towards a window's score. A short document fits in one window; in a book, only the
// text near the chunk counts.
const (
	// windowReach is the number of chunks on each side of a chunk that belong to its window. Below 4, articles and
	// abstracts of up to ten chunks rank worse than with BM25 over whole documents. Passages from long documents rank
	// better with smaller windows; 3 is best for them.
	windowReach = 4
	// documentShare is the window's weight in the lexical score. Below 0.4, articles and abstracts rank worse than with
	// BM25 over whole documents. Above 0.6, documents with several subjects often rank with the wrong passage.
	documentShare = 0.5
	// BM25 parameters k1 and b for windows. Only candidates count towards a window's length. An irrelevant window has
	// few candidates and is therefore short, so a large b would favour it.
	documentK1 = 1.2
	documentB  = 0.2
	// Minimum weight of a term.
	minTermWeight = 0.05
)

// weighDocuments computes the document scores of one space's candidates, which must be in byDocument's order. `weights`
// contains each query term's weight in the space. If the engine returns no term counts or the query has no terms, the
// document score is the chunk's own lexical score.
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
	from, to := 0, 0 // bounds of the candidates in the window
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

// byDocument returns the candidates grouped by document, in document order within each group. Since the order of the
// groups does not matter, documents are sorted by candidate.number, which is cheaper to compare than an id. Candidates
// often arrive in this order already.
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

// numberWords fills in candidate.numbers, which maps each of the candidate's terms to its index in `words`. The index
// is -1 if the term is not in `words` or the engine returned no count for it. Candidates that share a slice of terms
// share the result.
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

// window sums up the candidates in part of a document. All values are integers, so adding and later subtracting a
// candidate leaves no rounding error.
type window struct {
	counts []float64 // number of occurrences of each query term
	length float64   // number of terms in the candidates
}

// add adds a candidate to the window if `times` is 1, and subtracts it if `times` is -1.
func (s *window) add(c *candidate, times float64) {
	for j, n := range c.numbers {
		if n >= 0 {
			s.counts[n] += times * float64(c.hit.Counts[j])
		}
	}
	s.length += times * float64(c.hit.Length)
}

// score returns the window's BM25 score, given each query term's inverse document frequency and the average window
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

// documentWeights estimates each term's inverse document frequency over windows instead of chunks, and the average
// window length. It divides each document into consecutive windows.
//
// The engine's weights count chunks. A long document repeats terms about its subject in many chunks, so these terms'
// weights are too low. documentWeights therefore raises the weights of terms that occur in more chunks per window than
// the average, and lowers those of terms that occur in fewer.
func documentWeights(order []*candidate, words []string, weights map[string]float64) (idf []float64, average float64) {
	const size = 2*windowReach + 1
	chunks, having := make([]float64, len(words)), make([]float64, len(words)) // number of chunks and windows with each term
	last := make([]int, len(words))                                            // last window with each term
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
