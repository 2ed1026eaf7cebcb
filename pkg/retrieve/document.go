package retrieve

import (
	"maps"
	"math"
	"slices"
)

// A long document is cut into many chunks, and no chunk of it holds all that it says of a subject: ranked by their best
// chunk alone, long documents lose against short ones that name the query's words side by side. So the words' leg is made
// of two parts: what the chunk has of the query, and what its document has, taken together of all its chunks that are
// candidates. A document of one chunk is weighed by the same words in both.
const (
	// documentShare is the weight of the document within the words' leg. Below 0.4 collections of articles and abstracts
	// rank under BM25 over whole documents; above 0.6 the right passage of a document that has several subjects is lost.
	documentShare = 0.5
	// The parameters of BM25 over documents. Only the chunks that are candidates are known of a document, which are fewer
	// of a long one that has little to say on the query: so its length counts for less than a chunk's does.
	documentK1 = 1.2
	documentB  = 0.2
	// leastWeight is the least weight of a word.
	leastWeight = 0.05
)

// document is what is known of a datasource from its candidates.
type document struct {
	counts []float64 // by query word
	length float64   // words of the candidates
	score  float64   // 0 to 1, as candidate.lexical
}

// weighDocuments sets the candidates' document scores, of one space. weights are those of the query's words among the
// chunks of the space. An engine that does not count words has its chunks weighed by themselves.
func weighDocuments(found []candidate, weights map[string]float64) {
	docs := gather(found, weights)
	if docs == nil {
		for i := range found {
			found[i].document = found[i].lexical
		}
		return
	}
	for i := range found {
		found[i].document = docs[found[i].hit.DatasourceID].score
	}
}

// gather adds up the candidates of each datasource, and scores them. It returns nil when no word was counted,
// or the query has none, as one that is compared by its meaning alone.
func gather(found []candidate, weights map[string]float64) map[string]*document {
	words := slices.Sorted(maps.Keys(weights))
	place := make(map[string]int, len(words))
	for i, w := range words {
		place[w] = i
	}
	docs := make(map[string]*document)
	chunks := make([]float64, len(words)) // how many candidates have a word
	var length float64
	for i := range found {
		h := &found[i].hit
		d := docs[h.DatasourceID]
		if d == nil {
			d = &document{counts: make([]float64, len(words))}
			docs[h.DatasourceID] = d
		}
		for j, n := range h.Counts {
			if w, ok := place[h.Terms[j]]; ok {
				d.counts[w] += float64(n)
				chunks[w]++
			}
		}
		d.length += float64(h.Length)
		length += float64(h.Length)
	}
	if length == 0 || len(words) == 0 {
		return nil
	}
	idf := documentWeights(words, weights, docs, chunks, len(found))
	var highest float64
	for _, w := range idf {
		highest += w * (documentK1 + 1)
	}
	for _, d := range docs {
		norm := documentK1 * (1 - documentB + documentB*d.length*float64(len(docs))/length)
		for i, n := range d.counts {
			if n > 0 {
				d.score += idf[i] * (documentK1 + 1) * n / (n + norm)
			}
		}
		d.score /= highest
	}
	return docs
}

// documentWeights estimates how rare each word is among documents. How rare it is among chunks is known; but the subject
// of one long document is in many of its chunks, and would count as a common word. So a word's weight grows by how much
// more chunks than documents have it among the candidates, against the candidates as a whole.
func documentWeights(words []string, weights map[string]float64, docs map[string]*document, chunks []float64, found int) []float64 {
	having := make([]float64, len(words))
	for _, d := range docs {
		for i, n := range d.counts {
			if n > 0 {
				having[i]++
			}
		}
	}
	overall := float64(len(docs)) / float64(found)
	out := make([]float64, len(words))
	for i, w := range words {
		share := (having[i] + overall) / (chunks[i] + 1) // one more candidate, as they are on average
		out[i] = max(weights[w]+math.Log(overall/share), leastWeight)
	}
	return out
}
