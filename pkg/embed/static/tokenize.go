package static

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	maxWordRunes = 100       // maximum length of a word in characters; as in the reference tokeniser, longer words are unknown as a whole
	maxTextBytes = 128 << 10 // maximum size of a text in bytes; longer texts are truncated before tokenising
	unknown      = -1        // id of a word that vocabulary pieces cannot form
)

// piece is one token in a text.
type piece struct {
	id        int32 // index into the vocabulary, or unknown
	runes     int32 // number of characters it covers
	continues bool  // it continues the previous piece's word
}

// vocabulary splits words into pieces.
type vocabulary struct {
	starts *trie // pieces that start a word
	rest   *trie // pieces that continue a word, without "##"
}

// newVocabulary parses a vocabulary with one entry per line. An entry's id is its line number. It skips special tokens
// ("[CLS]"), so that their names count as ordinary text.
func newVocabulary(lines string) *vocabulary {
	v := &vocabulary{starts: newTrie(17), rest: newTrie(14)}
	id := int32(0)
	for entry := range strings.SplitSeq(lines, "\n") {
		switch tail, continues := strings.CutPrefix(entry, "##"); {
		case entry == "" || isSpecial(entry):
		case continues && tail != "":
			v.rest.add(tail, id)
		default:
			v.starts.add(entry, id)
		}
		id++
	}
	return v
}

func isSpecial(entry string) bool {
	return len(entry) > 2 && entry[0] == '[' && entry[len(entry)-1] == ']'
}

// appendPieces appends up to limit of the text's tokens, split like the uncased BERT tokeniser: control characters and
// accents are removed, letters are lowercased, each punctuation mark and Chinese character is a word, and words are
// split into the longest matching pieces.
func (v *vocabulary) appendPieces(pieces []piece, text string, limit int) []piece {
	if len(text) > maxTextBytes {
		text = strings.ToValidUTF8(text[:maxTextBytes], "")
	}
	var buffer [maxWordRunes * utf8.UTFMax]byte
	word, runes := buffer[:0], 0
	for _, r := range norm.NFD.String(text) {
		class := classOf(r)
		if class == letter {
			// A word that is too long counts as unknown, so only its length matters.
			if runes < maxWordRunes {
				word = utf8.AppendRune(word, lower(r))
			}
			runes++
			continue
		}
		if class == dropped {
			continue
		}
		pieces = v.appendWord(pieces, word, runes)
		word, runes = buffer[:0], 0
		if class == single {
			pieces = v.appendWord(pieces, utf8.AppendRune(word, lower(r)), 1)
		}
		if len(pieces) >= limit {
			return pieces[:limit]
		}
	}
	pieces = v.appendWord(pieces, word, runes)
	return pieces[:min(limit, len(pieces))]
}

// appendWord splits a word into pieces, always taking the longest match. If there is no match at some point, the whole
// word becomes one unknown piece.
func (v *vocabulary) appendWord(pieces []piece, word []byte, runes int) []piece {
	if runes == 0 {
		return pieces
	}
	if runes > maxWordRunes {
		return append(pieces, piece{id: unknown, runes: int32(runes)})
	}
	before := len(pieces)
	table := v.starts
	for rest := word; len(rest) > 0; {
		id, length := table.longestPrefix(rest)
		if length == 0 {
			return append(pieces[:before], piece{id: unknown, runes: int32(runes)})
		}
		pieces = append(pieces, piece{
			id: id, runes: int32(utf8.RuneCount(rest[:length])), continues: len(pieces) > before,
		})
		rest, table = rest[length:], v.rest
	}
	return pieces
}

// class says how the tokeniser treats a character.
type class uint8

const (
	letter  class = iota // part of a word: letters, digits, non-ASCII symbols
	space                // ends a word
	single               // a word of its own
	dropped              // ignored
)

func classOf(r rune) class {
	switch {
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9', 'A' <= r && r <= 'Z':
		return letter
	case r == ' ', r == '\t', r == '\n', r == '\r':
		return space
	case r < ' ', r == 0x7f, r == utf8.RuneError:
		return dropped
	case r < 0x7f:
		return single
	case unicode.IsSpace(r):
		return space
	case unicode.In(r, unicode.Mn, unicode.Cc, unicode.Cf, unicode.Co):
		return dropped
	case unicode.IsPunct(r), isIdeograph(r):
		return single
	}
	return letter
}

// isIdeograph reports whether BERT splits r's block into single characters. That does not include kana and Hangul.
func isIdeograph(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0x20000 && r <= 0x2A6DF ||
		r >= 0x2A700 && r <= 0x2CEAF || r >= 0xF900 && r <= 0xFAFF || r >= 0x2F800 && r <= 0x2FA1F
}

func lower(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(r)
}
