package transformer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unigram is the tokeniser used by XLM-RoBERTa and related models. It splits a text into words, each with a mark for
// the space before it, and each word into the most probable sequence of pieces.
type unigram struct {
	pieces  map[string]piece
	longest int     // size of the longest piece in bytes
	rarest  float64 // log probability of a character that no piece contains
	unknown int32
	known   vocabularyCoverage

	normalise      func(string) string
	split          bool // text is split at all white space, not only at spaces
	addPrefixSpace bool // a text gets a mark even without a leading space; with split, each word does
}

type piece struct {
	id    int32
	score float64 // the piece's log probability
}

const (
	spaceMark      = "▁" // stands for a space
	unknownPenalty = 10  // difference between the log probabilities of the rarest piece and an unknown character
	maxPiece       = 256 // maximum size of a piece in bytes
)

// unigram parses a Unigram tokeniser.
func (f *tokenizerFile) unigram(words int) (segmenter, error) {
	var entries [][2]json.RawMessage
	if err := json.Unmarshal(f.Model.Vocabulary, &entries); err != nil {
		return nil, fmt.Errorf("reading the vocabulary: %w", err)
	}
	if len(entries) > words {
		return nil, fmt.Errorf("it has %d pieces, but the vocab_size of config.json is %d", len(entries), words)
	}
	if f.Model.UnknownID == nil || *f.Model.UnknownID < 0 || int(*f.Model.UnknownID) >= len(entries) {
		return nil, errors.New("its unk_id does not refer to a piece; a piece for unknown characters is needed")
	}
	if f.Model.ByteFallback {
		return nil, errors.New("a Unigram model with byte_fallback cannot run in-process; run the model on a model server instead")
	}
	u := &unigram{pieces: make(map[string]piece, len(entries)), rarest: math.Inf(1), unknown: *f.Model.UnknownID}
	u.known.unknown = u.unknown
	special := map[int32]bool{} // special tokens' names are ordinary text
	for _, added := range f.Added {
		special[added.ID] = added.Special
	}
	for i, entry := range entries {
		var text string
		p := piece{id: int32(i)}
		if err := errors.Join(json.Unmarshal(entry[0], &text), json.Unmarshal(entry[1], &p.score)); err != nil {
			return nil, fmt.Errorf("reading piece %d of the vocabulary: %w", i, err)
		}
		u.rarest = min(u.rarest, p.score)
		if special[p.id] || text == "" {
			continue
		}
		if len(text) > maxPiece {
			return nil, fmt.Errorf("piece %d of the vocabulary has %d bytes; the limit is %d", i, len(text), maxPiece)
		}
		u.pieces[text] = p
		word, begins := strings.CutPrefix(text, spaceMark)
		u.known.add(p.id, word, !begins)
		u.longest = max(u.longest, len(text))
	}
	u.rarest -= unknownPenalty
	u.known.count()
	var err error
	if u.normalise, err = parseNormalizer(f.Normalizer, 0); err != nil {
		return nil, fmt.Errorf("reading the normalizer: %w", err)
	}
	if err := u.readSplitter(f.Splitter); err != nil {
		return nil, fmt.Errorf("reading the pre_tokenizer: %w", err)
	}
	return u, nil
}

// readSplitter parses the rule for splitting text into words: Metaspace, alone or after WhitespaceSplit.
func (u *unigram) readSplitter(raw json.RawMessage) error {
	type step struct {
		Type   string `json:"type"`
		Sign   string `json:"replacement"`
		Prefix *bool  `json:"add_prefix_space"`
		Scheme string `json:"prepend_scheme"`
		Split  *bool  `json:"split"`
	}
	var all struct {
		step
		Steps []step `json:"pretokenizers"`
	}
	if err := decode(raw, &all); err != nil {
		return err
	}
	steps := all.Steps
	if all.Type != "Sequence" {
		steps = []step{all.step}
	}
	for i, s := range steps {
		switch {
		case s.Type == "WhitespaceSplit" && i == 0 && len(steps) == 2:
			u.split = true
		case s.Type == "Metaspace" && s.Sign == spaceMark && i == len(steps)-1 && (s.Split == nil || *s.Split):
			// With the scheme "first", only a text's first word gets a space mark. All other words already have a mark
			// for the space before them, unless WhitespaceSplit has removed that space.
			if u.split && s.Scheme == "first" {
				return errors.New("a Metaspace with the scheme \"first\" after WhitespaceSplit cannot run in-process; run the model on a model server instead")
			}
			u.addPrefixSpace = s.Scheme == "always" || s.Scheme == "first" || s.Scheme == "" && (s.Prefix == nil || *s.Prefix)
			return nil
		default:
			return fmt.Errorf("pre-tokenizer step %q is not supported with Unigram (supported: Metaspace, alone or after WhitespaceSplit); use a model server for this model", s.Type)
		}
	}
	return errors.New("the step Metaspace is missing")
}

// coverage implements segmenter.
func (u *unigram) coverage() *vocabularyCoverage { return &u.known }

// appendTokens implements segmenter.
func (u *unigram) appendTokens(tokens []int32, text string, limit int) []int32 {
	var v viterbi
	for first := true; text != "" && len(tokens) < limit; first = false {
		var part string
		part, text = cutSegment(text)
		part = u.normalise(strings.ToValidUTF8(part, "\uFFFD"))
		for word := range u.words(part, first) {
			if len(tokens) >= limit {
				break
			}
			// Truncate a very long word. Unless it contains long runs of unknown characters, its first maxLen bytes
			// yield more than limit tokens anyway.
			if maxLen := (limit + 16) * u.longest; len(word) > maxLen {
				word = strings.ToValidUTF8(word[:maxLen], "")
			}
			tokens = u.spell(&v, tokens, word)
		}
	}
	return tokens[:min(len(tokens), max(limit, 0))]
}

// words yields a text's words, each with a mark for the space before it.
func (u *unigram) words(text string, first bool) func(yield func(string) bool) {
	if u.split {
		return func(yield func(string) bool) {
			for word := range strings.FieldsFuncSeq(text, unicode.IsSpace) {
				if u.addPrefixSpace && !strings.HasPrefix(word, spaceMark) {
					word = spaceMark + word
				}
				for part := range splitAtMarks(word) {
					if !yield(part) {
						return
					}
				}
			}
		}
	}
	text = strings.ReplaceAll(text, " ", spaceMark)
	if u.addPrefixSpace && first && text != "" && !strings.HasPrefix(text, spaceMark) {
		text = spaceMark + text
	}
	return splitAtMarks(text)
}

// splitAtMarks splits text before each mark.
func splitAtMarks(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for text != "" {
			end := len(text)
			if i := strings.Index(text[1:], spaceMark); i >= 0 {
				end = 1 + i
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

// viterbi is scratch memory for finding the most probable sequence of pieces.
type viterbi struct {
	ends []ending
	path []int32
}

// ending is the most probable sequence of pieces for the start of a word.
type ending struct {
	score float64
	start int32 // start of the last piece, or -1 if no sequence of pieces matches
	id    int32
}

// spell appends a word's pieces to tokens. A run of unknown characters becomes a single unknown token.
func (u *unigram) spell(v *viterbi, tokens []int32, word string) []int32 {
	v.ends = v.ends[:0]
	for range len(word) + 1 {
		v.ends = append(v.ends, ending{start: -1})
	}
	improve := func(from, to int, score float64, id int32) {
		if end := &v.ends[to]; end.start < 0 || score > end.score {
			*end = ending{score, int32(from), id}
		}
	}
	for from := 0; from < len(word); {
		_, size := utf8.DecodeRuneInString(word[from:])
		base, single := v.ends[from].score, false
		for to := from + size; ; {
			if p, ok := u.pieces[word[from:to]]; ok {
				improve(from, to, base+p.score, p.id)
				single = single || to == from+size
			}
			if to == len(word) {
				break
			}
			_, next := utf8.DecodeRuneInString(word[to:])
			if to += next; to-from > u.longest {
				break
			}
		}
		if !single {
			improve(from, from+size, base+u.rarest, u.unknown)
		}
		from += size
	}
	v.path = v.path[:0]
	for at := int32(len(word)); at > 0; at = v.ends[at].start {
		id := v.ends[at].id
		if id == u.unknown && len(v.path) > 0 && v.path[len(v.path)-1] == u.unknown {
			continue
		}
		v.path = append(v.path, id)
	}
	for i := len(v.path) - 1; i >= 0; i-- {
		tokens = append(tokens, v.path[i])
	}
	return tokens
}
