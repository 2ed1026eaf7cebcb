package transformer

import "unicode/utf8"

const (
	// A split word counts only if its pieces have at least this many letters on average. Shorter pieces occur in any
	// text, so they don't indicate that the model knows the word.
	minFragmentLetters = 3
	// Weights of a word's characters: wholeWord if the word is a single piece, fragmentShare if it is split into long
	// pieces. In English texts, few words are split, mostly technical terms, whereas in related languages, all but the
	// shortest words are. These weights separate medical English from Spanish better than the fraction of known words
	// does.
	wholeWord     = 1.3
	fragmentShare = 0.4
	// Assumed number of characters in an unknown token, whose real length is lost.
	unknownRunes = 2
	// A vocabulary with this many ideographs was built from text that includes Chinese or Japanese. English BERT
	// vocabularies contain 244 ideographs, multilingual ones 8,000.
	minIdeographs = 1000
)

// vocabularyCoverage describes a tokeniser's pieces for Coverage.
type vocabularyCoverage struct {
	pieces     []pieceKind // by id
	unknown    int32
	fragments  bool // a word split into short pieces counts as unknown; otherwise only unknown characters do
	ideographs bool // the vocabulary was also built from text with ideographs
}

type pieceKind struct {
	runes     uint8 // at most 255
	continues bool  // it continues the previous piece's word
	ideograph bool
}

// Coverage returns how much of a text the model's vocabulary covers, from 0 to 1. Words that are a single piece count
// fully, and words split into long pieces count partly. Words split into short pieces don't count: they were rare in
// training, so their vectors say little about their meaning. Mean coverage of public question sets with English BERT
// models' vocabulary: English 0.96 to 1, medical English 0.74 to 0.90, French 0.55, Spanish 0.53, Vietnamese 0.48,
// Italian and Romanian 0.44, Turkish 0.18, other scripts up to 0.06. A Unigram tokeniser knows a word if it knows its
// characters. A text without words has coverage 1.
func (e *Embedder) Coverage(text string) float64 {
	tokens := e.tokenizer.tokens(text, e.maxTokens)
	tokens = tokens[len(e.tokenizer.before) : len(tokens)-len(e.tokenizer.after)]
	s := e.tokenizer.segmenter.coverage()
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

func (s *vocabularyCoverage) kind(id int32) pieceKind {
	if int(id) >= len(s.pieces) {
		return pieceKind{}
	}
	return s.pieces[id]
}

// word returns the number of characters in a word with these tokens, and the weight of each character. A
// single-character word has no weight, unless characters are words in its script.
func (s *vocabularyCoverage) word(tokens []int32) (runes int, counts float64) {
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
	case !known, ideograph && !s.ideographs, s.fragments && len(tokens) > 1 && runes < minFragmentLetters*len(tokens):
		return runes, 0
	case s.fragments && len(tokens) > 1:
		return runes, fragmentShare
	}
	return runes, wholeWord
}

// add records the kind of the piece with this id.
func (s *vocabularyCoverage) add(id int32, piece string, continues bool) {
	for len(s.pieces) <= int(id) {
		s.pieces = append(s.pieces, pieceKind{})
	}
	r, size := utf8.DecodeRuneInString(piece)
	s.pieces[id] = pieceKind{runes: uint8(min(utf8.RuneCountInString(piece), 255)), continues: continues, ideograph: size == len(piece) && isIdeograph(r)}
}

// count counts the vocabulary's ideographs to determine whether it was also built from Chinese or Japanese text. Call
// it after adding all pieces.
func (s *vocabularyCoverage) count() {
	n := 0
	for _, p := range s.pieces {
		if p.ideograph && (!p.continues || !s.fragments) { // a WordPiece vocabulary may contain an ideograph twice
			n++
		}
	}
	s.ideographs = n >= minIdeographs
}
