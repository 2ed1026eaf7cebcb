package transformer

import "unicode/utf8"

const (
	// leastFragment is the letters that a piece must have on average for its word to count as known in part: a word that falls
	// into shorter ones was only spelt, not recognised.
	leastFragment = 3
	// wholeWord is what a character of a word that is a piece by itself counts, and ofFragments one of a word known in part.
	// Words of the trade fall into fragments in English too, and stand between whole ones; in kindred languages all but the
	// shortest do. The two tell medical English from Spanish better than the share of known words.
	wholeWord   = 1.3
	ofFragments = 0.4
	// unknownRunes is what an unknown token counts as, whose length nobody knows any more.
	unknownRunes = 2
	// leastIdeographs is how many ideographs a vocabulary has that was made of Chinese or Japanese text too: that of English
	// BERTs has 244, of multilingual ones 8,000.
	leastIdeographs = 1000
)

// spelling is what a tokeniser knows of its pieces beside their spelling.
type spelling struct {
	pieces     []pieceKind // by id
	unknown    int32
	fragments  bool // a word that falls into short pieces is not known; otherwise only unknown characters are not
	ideographs bool // the vocabulary was made of text with ideographs too
}

type pieceKind struct {
	runes     uint8 // at most 255
	continues bool  // the word of the piece before
	ideograph bool
}

// Coverage returns how much of a text, from 0 to 1, is in words that the model's vocabulary knows: which it does not have to
// put together from fragments. What it does not know, the model was hardly trained on: its vectors then say little. Means
// over public question sets with the vocabulary of English BERTs: English 0.96 to 1, medical English 0.74 to 0.90, French
// 0.55, Spanish 0.53, Vietnamese 0.48, Italian and Romanian 0.44, Turkish 0.18, other scripts up to 0.06. A tokeniser of the
// Unigram kind knows every word whose characters it knows. A text without words is covered in full.
func (e *Embedder) Coverage(text string) float64 {
	tokens := e.tokenizer.tokens(text, e.maxTokens)
	tokens = tokens[len(e.tokenizer.before) : len(tokens)-len(e.tokenizer.after)]
	s := e.tokenizer.speller.spelling()
	covered, all := 0.0, 0
	for start := 0; start < len(tokens); {
		end := start + 1
		for end < len(tokens) && s.kind(tokens[end]).continues {
			end++
		}
		runes, counts := s.word(tokens[start:end])
		all += runes
		covered += float64(runes) * counts
		start = end
	}
	if all == 0 {
		return 1
	}
	return min(covered/float64(all), 1)
}

func (s *spelling) kind(id int32) pieceKind {
	if int(id) >= len(s.pieces) {
		return pieceKind{}
	}
	return s.pieces[id]
}

// word returns how many characters a word has, given its tokens, and what each counts. A single character says nothing,
// unless it is a word by itself in its script.
func (s *spelling) word(tokens []int32) (runes int, counts float64) {
	known := true
	for _, id := range tokens {
		if id == s.unknown {
			runes, known = runes+unknownRunes, false
			continue
		}
		runes += int(s.kind(id).runes)
	}
	switch ideograph := s.kind(tokens[0]).ideograph; {
	case runes <= 1 && !ideograph:
		return 0, 0
	case !known, ideograph && !s.ideographs, s.fragments && len(tokens) > 1 && runes < leastFragment*len(tokens):
		return runes, 0
	case s.fragments && len(tokens) > 1:
		return runes, ofFragments
	}
	return runes, wholeWord
}

// add notes what kind of piece an id is.
func (s *spelling) add(id int32, piece string, continues bool) {
	for len(s.pieces) <= int(id) {
		s.pieces = append(s.pieces, pieceKind{})
	}
	r, size := utf8.DecodeRuneInString(piece)
	s.pieces[id] = pieceKind{runes: uint8(min(utf8.RuneCountInString(piece), 255)), continues: continues, ideograph: size == len(piece) && isIdeograph(r)}
}

// count finds out, once all pieces are there, whether they are those of a language with ideographs.
func (s *spelling) count() {
	n := 0
	for _, p := range s.pieces {
		if p.ideograph && (!p.continues || !s.fragments) { // WordPiece can have each twice
			n++
		}
	}
	s.ideographs = n >= leastIdeographs
}
