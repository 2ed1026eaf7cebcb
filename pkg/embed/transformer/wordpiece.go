package transformer

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// wordPiece is BERT's tokeniser. It splits text at white space and around punctuation, and words into the longest
// matching pieces. Special tokens' names are ordinary text.
type wordPiece struct {
	starts  map[string]int32 // pieces that start a word
	rest    map[string]int32 // pieces that continue a word, without the prefix
	longest int              // size of the longest piece in bytes
	maxWord int              // maximum length of a word in characters; a longer word is unknown as a whole
	unknown int32
	known   vocabularyCoverage

	controls   bool // control characters are dropped
	ideographs bool // each ideograph is a word
	accents    bool // accents are dropped
	lower      bool // letters are lowercased
}

const (
	maxWordRunes = 1000    // maximum value of maxWord
	segment      = 4 << 10 // text is normalised in segments of this many bytes, so that text beyond the token limit is not normalised
)

// newWordPiece splits the vocabulary into pieces that start a word and pieces that continue one.
func newWordPiece(ids map[string]int32, unknown, prefix string, maxWord int) (*wordPiece, error) {
	if maxWord < 1 || maxWord > maxWordRunes {
		return nil, fmt.Errorf("max_input_chars_per_word is %d; it must be between 1 and %d", maxWord, maxWordRunes)
	}
	if prefix == "" {
		return nil, errors.New("continuing_subword_prefix is missing")
	}
	w := &wordPiece{maxWord: maxWord, starts: make(map[string]int32, len(ids)), rest: make(map[string]int32)}
	id, ok := ids[unknown]
	if !ok {
		return nil, fmt.Errorf("the vocabulary lacks the token for unknown words, %q", unknown)
	}
	w.unknown = id
	w.known = vocabularyCoverage{unknown: id, fragments: true}
	for piece, id := range ids {
		tail, continues := strings.CutPrefix(piece, prefix)
		if continues = continues && tail != ""; continues {
			w.rest[tail] = id
			w.known.add(id, tail, true)
		} else {
			w.known.add(id, piece, false)
		}
		// Pieces that continue a word are also added to starts, with their "##", because a word in a text may actually
		// start with "##".
		w.starts[piece] = id
		w.longest = max(w.longest, len(piece))
	}
	w.known.count()
	return w, nil
}

// coverage implements segmenter.
func (w *wordPiece) coverage() *vocabularyCoverage { return &w.known }

// appendTokens implements segmenter.
func (w *wordPiece) appendTokens(tokens []int32, text string, limit int) []int32 {
	var buffer [4 * 128]byte
	word, runes := buffer[:0], 0
	flush := func() {
		if runes > 0 {
			tokens = w.appendWord(tokens, word, runes)
			word, runes = word[:0], 0
		}
	}
	for text != "" && len(tokens) < limit {
		var part string
		part, text = cutSegment(text)
		if w.accents {
			part = norm.NFD.String(part)
		}
		for _, r := range part {
			class := w.classOf(r)
			if class == dropped {
				continue
			}
			if class != letter {
				flush()
				if len(tokens) >= limit {
					break
				}
			}
			if class == space {
				continue
			}
			// A word that is too long counts as unknown, so only its length matters.
			if runes < w.maxWord {
				word = w.appendRune(word, r)
			}
			runes++
			if class == single {
				flush()
			}
		}
	}
	flush()
	return tokens[:min(len(tokens), max(limit, 0))]
}

// cutSegment splits off a segment at a space, so that combining marks stay with their characters. A very long run
// without spaces is split anywhere.
func cutSegment(text string) (part, rest string) {
	if len(text) <= segment {
		return text, ""
	}
	end := len(text)
	if i := strings.IndexAny(text[segment:min(len(text), 64*segment)], " \n"); i >= 0 {
		end = segment + i
	} else if len(text) > 64*segment {
		for end = 64 * segment; !utf8.RuneStart(text[end]) && end > 64*segment-utf8.UTFMax; end-- {
		}
	}
	return text[:end], text[end:]
}

func (w *wordPiece) appendRune(word []byte, r rune) []byte {
	switch {
	case !w.lower:
	case 'A' <= r && r <= 'Z':
		r += 'a' - 'A'
	case r == 'İ': // the only character whose lower case is two characters
		return append(word, "i̇"...)
	case r >= utf8.RuneSelf:
		r = unicode.ToLower(r)
	}
	return utf8.AppendRune(word, r)
}

// appendWord splits a word into pieces, always taking the longest match. If there is no match at some point, the whole
// word becomes one unknown token.
func (w *wordPiece) appendWord(tokens []int32, word []byte, runes int) []int32 {
	if runes > w.maxWord {
		return append(tokens, w.unknown)
	}
	before := len(tokens)
	pieces := w.starts
	for len(word) > 0 {
		id, length := longestPiece(pieces, word, w.longest)
		if length == 0 {
			return append(tokens[:before], w.unknown)
		}
		tokens = append(tokens, id)
		word, pieces = word[length:], w.rest
	}
	return tokens
}

// longestPiece returns the id and length in bytes of the longest piece that is a prefix of the text. The length is 0 if
// there is none.
func longestPiece(pieces map[string]int32, text []byte, longest int) (id int32, length int) {
	for end := min(len(text), longest); end > 0; end-- {
		if end < len(text) && !utf8.RuneStart(text[end]) {
			continue
		}
		if id, ok := pieces[string(text[:end])]; ok {
			return id, end
		}
	}
	return 0, 0
}

// class says how the tokeniser treats a character.
type class uint8

const (
	letter  class = iota // part of a word: letters, digits, non-ASCII symbols
	space                // ends a word
	single               // a word of its own
	dropped              // ignored
)

func (w *wordPiece) classOf(r rune) class {
	switch {
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9', 'A' <= r && r <= 'Z':
		return letter
	case r == ' ', r == '\t', r == '\n', r == '\r':
		return space
	case '!' <= r && r <= '~':
		return single
	case w.controls && (r == 0 || r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)):
		return dropped
	case unicode.IsSpace(r):
		return space
	case w.accents && unicode.Is(unicode.Mn, r):
		return dropped
	case unicode.IsPunct(r), w.ideographs && isIdeograph(r):
		return single
	}
	return letter
}

// isIdeograph reports whether BERT tokenisers split r's block into single characters. Like BERT's list, it omits
// U+2B820 to U+2B91F, kana and Hangul.
func isIdeograph(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF ||
		r >= 0x2A700 && r <= 0x2B81F || r >= 0x2B920 && r <= 0x2CEAF || r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F
}
