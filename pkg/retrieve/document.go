package retrieve

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// A document is cut into chunks, and no chunk of it holds all that it says of a subject: ranked by their best chunk alone,
// long documents lose against short ones that name the query's words side by side. So the words' leg is made of two parts:
// what the chunk has of the query, and what the stretch of the document around it has, taken together of the chunks there
// that are candidates. A short document is one stretch; of a book with many subjects only what stands near the chunk
// counts for it.
const (
	// reach is how many chunks before a chunk, and as many after it, are its stretch. Articles and abstracts, of up to some
	// ten chunks, want nearly all of theirs: below 4 they rank under BM25 over whole documents. Passages of long documents
	// are found better the less there is around them, down to 3.
	reach = 4
	// documentShare is the weight of the stretch within the words' leg. Below 0.4 collections of articles and abstracts
	// rank under BM25 over whole documents; above 0.6 the right passage of a document that has several subjects is lost.
	documentShare = 0.5
	// The parameters of BM25 over stretches. Only the chunks that are candidates are known of one, which are fewer of one
	// that has little to say on the query: so its length counts for less than a chunk's does.
	documentK1 = 1.2
	documentB  = 0.2
	// leastWeight is the least weight of a word.
	leastWeight = 0.05
)

// weighDocuments sets the document scores of the candidates of one space, which come by place. weights are those of the
// query's words among the chunks of the space. An engine that does not count words has its chunks weighed by themselves,
// and so has a query without words, one that is compared by its meaning alone.
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
	around := stretch{counts: make([]float64, len(words))}
	from, to := 0, 0 // the candidates that are added up
	for _, c := range order {
		for ; to < len(order) && near(order[to], c); to++ {
			around.add(order[to], 1)
		}
		for ; !near(order[from], c); from++ {
			around.add(order[from], -1)
		}
		c.document = around.score(idf, average) / highest
	}
}

// byPlace returns the candidates one document after another, and each document's in the order in which they stand there.
// Which document comes first is of no account, so that no names need be compared: candidates that an engine found in the
// order in which they were written are in that order already.
func byPlace(found []candidate) []*candidate {
	order := make([]*candidate, len(found))
	for i := range found {
		order[i] = &found[i]
	}
	slices.SortFunc(order, func(a, b *candidate) int {
		if a.number != b.number {
			return a.number - b.number
		}
		return cmp.Compare(a.hit.Ordinal, b.hit.Ordinal)
	})
	return order
}

// near reports whether one of the candidates is in the stretch around the other.
func near(a, b *candidate) bool {
	return a.number == b.number && max(a.hit.Ordinal-b.hit.Ordinal, b.hit.Ordinal-a.hit.Ordinal) <= reach
}

// numberWords notes, for the terms of each candidate, which of the words they are; -1 for none, or for one that is not counted.
// Candidates that share their terms share these.
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

// stretch is what is known of a part of a document from its candidates. All its numbers are whole, so that what is added
// and taken away again leaves nothing behind.
type stretch struct {
	counts []float64 // by query word
	length float64   // words of the candidates
}

// add adds a candidate so many times.
func (s *stretch) add(c *candidate, times float64) {
	for j, n := range c.numbers {
		if n >= 0 {
			s.counts[n] += times * float64(c.hit.Counts[j])
		}
	}
	s.length += times * float64(c.hit.Length)
}

// score is BM25 of the stretch, where stretches have so many words on average.
func (s *stretch) score(idf []float64, average float64) (sum float64) {
	norm := documentK1 * (1 - documentB + documentB*s.length/average)
	for i, n := range s.counts {
		if n > 0 {
			sum += idf[i] * (documentK1 + 1) * n / (n + norm)
		}
	}
	return sum
}

// documentWeights estimates how rare each word is among stretches of documents, and how long those are on average; the
// stretches are here the parts that documents fall into, of as many chunks. How rare a word is among chunks is known; but
// the subject of one long document is in many of its chunks, and would count as a common word. So a word's weight grows by
// how much more chunks than stretches have it among the candidates, against the candidates as a whole.
func documentWeights(order []*candidate, words []string, weights map[string]float64) (idf []float64, average float64) {
	const size = 2*reach + 1
	chunks, having := make([]float64, len(words)), make([]float64, len(words)) // how many of either have a word
	last := make([]int, len(words))                                            // stretch that had it
	stretches, length := 0, 0
	for i, c := range order {
		if i == 0 || order[i-1].number != c.number || order[i-1].hit.Ordinal/size != c.hit.Ordinal/size {
			stretches++
		}
		length += c.hit.Length
		for j, n := range c.numbers {
			if n < 0 || c.hit.Counts[j] == 0 {
				continue
			}
			chunks[n]++
			if last[n] != stretches {
				last[n] = stretches
				having[n]++
			}
		}
	}
	overall := float64(stretches) / float64(len(order))
	idf = make([]float64, len(words))
	for i, w := range words {
		share := (having[i] + overall) / (chunks[i] + 1) // one more candidate, as they are on average
		idf[i] = max(weights[w]+math.Log(overall/share), leastWeight)
	}
	return idf, float64(length) / float64(stretches)
}
