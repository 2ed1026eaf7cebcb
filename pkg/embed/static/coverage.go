package static

// A word with several tokens is known only if the tokens have at least this many letters on average. Shorter tokens
// occur in any text, so they don't indicate that the model knows the word.
const minFragmentLetters = 3

// Coverage returns the fraction, from 0 to 1, of a text's characters that are in known words. A word is known if all
// its tokens occurred in training. If it has several tokens, they must also have at least minFragmentLetters letters on
// average. Mean coverage of public question sets: English 0.88 to 0.95, medical English 0.74 to 0.82, French, Spanish,
// Romanian and Italian 0.44 to 0.59, Vietnamese 0.32, Turkish 0.14, other scripts below 0.05. A threshold of 0.65
// therefore separates English from other languages. Single-character words do not count. A text that has only such
// words has coverage 1.
func (e *Embedder) Coverage(text string) float64 {
	s := scratchPool.Get().(*scratch)
	defer scratchPool.Put(s)
	s.pieces = e.table.words.appendPieces(s.pieces[:0], text, maxTokens)
	var covered, all int32
	for start := 0; start < len(s.pieces); {
		end := start + 1
		for end < len(s.pieces) && s.pieces[end].continues {
			end++
		}
		runes, known := e.table.wordOf(s.pieces[start:end])
		if runes > 1 || !known {
			all += runes
			if known {
				covered += runes
			}
		}
		start = end
	}
	if all == 0 {
		return 1
	}
	return float64(covered) / float64(all)
}

// wordOf returns the number of characters in a word split into these pieces, and whether the table knows the word.
func (t *table) wordOf(pieces []piece) (runes int32, known bool) {
	known = true
	for _, p := range pieces {
		runes += p.runes
		known = known && p.id != unknown && t.known[p.id]
	}
	return runes, known && (len(pieces) == 1 || int(runes) >= minFragmentLetters*len(pieces))
}

// IsCached returns true, because computing vectors involves no waiting.
func (e *Embedder) IsCached(string) bool { return true }
