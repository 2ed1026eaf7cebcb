package transformer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// segmenter splits text into tokens.
type segmenter interface {
	// appendTokens appends the text's tokens to tokens, up to limit in total, and returns the result.
	appendTokens(tokens []int32, text string, limit int) []int32
	// coverage describes the vocabulary's pieces.
	coverage() *vocabularyCoverage
}

// tokenizer turns texts into the network's input: the text's tokens, enclosed in special tokens.
type tokenizer struct {
	segmenter     segmenter
	before, after []int32
	digest        string          // digest of the tokeniser file
	processor     json.RawMessage // post_processor in tokenizer.json; nil if the tokeniser is vocab.txt
}

// tokens returns up to limit of the text's tokens, including the special tokens around them. limit must exceed
// special().
func (t *tokenizer) tokens(text string, limit int) []int32 {
	tokens := make([]int32, len(t.before), min(limit, t.special()+len(text)/2+8))
	copy(tokens, t.before)
	tokens = t.segmenter.appendTokens(tokens, text, limit-len(t.after))
	return append(tokens, t.after...)
}

// special returns the number of special tokens per text.
func (t *tokenizer) special() int { return len(t.before) + len(t.after) }

// tokenizerFile contains the relevant fields of tokenizer.json.
type tokenizerFile struct {
	Added []struct {
		ID      int32  `json:"id"`
		Content string `json:"content"`
		Special bool   `json:"special"`
	} `json:"added_tokens"`
	Normalizer json.RawMessage `json:"normalizer"`
	Splitter   json.RawMessage `json:"pre_tokenizer"`
	Processor  json.RawMessage `json:"post_processor"`
	Model      struct {
		Type         string          `json:"type"`
		Unknown      string          `json:"unk_token"`
		Prefix       *string         `json:"continuing_subword_prefix"`
		MaxWord      *int            `json:"max_input_chars_per_word"`
		Vocabulary   json.RawMessage `json:"vocab"`
		UnknownID    *int32          `json:"unk_id"`
		ByteFallback bool            `json:"byte_fallback"`
	} `json:"model"`
}

// readTokenizer reads tokenizer.json or, if it is missing, vocab.txt.
func (d directory) readTokenizer(s *settings) (*tokenizer, error) {
	data, err := d.read("tokenizer.json", maxTokenizer)
	if errors.Is(err, fs.ErrNotExist) {
		return d.readVocabulary(s)
	}
	if err != nil {
		return nil, err
	}
	t, err := parseTokenizer(data, s.words)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.path("tokenizer.json"), err)
	}
	t.digest = digestOf(data)
	return t, nil
}

// readVocabulary reads vocab.txt, which has one token per line. A token's id is its line number.
func (d directory) readVocabulary(s *settings) (*tokenizer, error) {
	data, err := d.read("vocab.txt", maxTokenizer)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("found neither %s nor vocab.txt; one of them is needed to split text into tokens", d.path("tokenizer.json"))
	}
	if err != nil {
		return nil, err
	}
	t, err := parseVocabulary(string(data), s)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.path("vocab.txt"), err)
	}
	t.digest = fmt.Sprint(digestOf(data), s.lowerCase, t.segmenter.(*wordPiece).accents, s.chinese)
	return t, nil
}

func parseVocabulary(lines string, s *settings) (*tokenizer, error) {
	ids := make(map[string]int32, s.words)
	for line := range strings.SplitSeq(strings.TrimSuffix(lines, "\n"), "\n") {
		id := len(ids)
		if id >= s.words {
			return nil, fmt.Errorf("it has more lines than the vocab_size of config.json, %d", s.words)
		}
		line = strings.TrimSuffix(line, "\r")
		if _, twice := ids[line]; twice {
			return nil, fmt.Errorf("the token %q is listed twice", line)
		}
		ids[line] = int32(id)
	}
	first, last, err := boundaryTokens(ids)
	if err != nil {
		return nil, err
	}
	w, err := newWordPiece(ids, "[UNK]", "##", 100)
	if err != nil {
		return nil, err
	}
	w.lower, w.accents, w.ideographs, w.controls = s.lowerCase, s.lowerCase, s.chinese, true
	if s.accents != nil {
		w.accents = *s.accents
	}
	return &tokenizer{segmenter: w, before: []int32{first}, after: []int32{last}}, nil
}

// boundaryTokens returns the special tokens that start and end a text in BERT models.
func boundaryTokens(ids map[string]int32) (first, last int32, err error) {
	first, okFirst := ids["[CLS]"]
	last, okLast := ids["[SEP]"]
	if !okFirst || !okLast {
		return 0, 0, errors.New("it lacks [CLS] or [SEP], the tokens that begin and end a text")
	}
	return first, last, nil
}

// parseTokenizer parses the tokenizer.json of a supported tokeniser. All ids must be less than words, the size of the
// model's vocabulary.
func parseTokenizer(data []byte, words int) (*tokenizer, error) {
	var file tokenizerFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	t := &tokenizer{processor: file.Processor}
	var err error
	switch file.Model.Type {
	case "WordPiece", "":
		t.segmenter, err = file.wordPiece(words)
	case "Unigram":
		t.segmenter, err = file.unigram(words)
	default:
		err = fmt.Errorf("tokenisers of type %q cannot run in-process (only WordPiece and Unigram can); run the model on a model server instead", file.Model.Type)
	}
	if err != nil {
		return nil, err
	}
	if err := file.setBoundaryTokens(t, words); err != nil {
		return nil, err
	}
	return t, nil
}

// wordPiece parses a BERT tokeniser.
func (f *tokenizerFile) wordPiece(words int) (segmenter, error) {
	var ids map[string]int32
	if err := json.Unmarshal(f.Model.Vocabulary, &ids); err != nil {
		return nil, fmt.Errorf("reading the vocabulary: %w", err)
	}
	for token, id := range ids {
		if id < 0 || int(id) >= words {
			return nil, fmt.Errorf("the token %q has the id %d, but the vocab_size of config.json is %d", token, id, words)
		}
	}
	prefix, maxWord := "##", 100
	if f.Model.Prefix != nil {
		prefix = *f.Model.Prefix
	}
	if f.Model.MaxWord != nil {
		maxWord = *f.Model.MaxWord
	}
	w, err := newWordPiece(ids, f.Model.Unknown, prefix, maxWord)
	if err != nil {
		return nil, err
	}
	var normalizer struct {
		Type     string `json:"type"`
		Clean    bool   `json:"clean_text"`
		Chinese  bool   `json:"handle_chinese_chars"`
		Accents  *bool  `json:"strip_accents"`
		LowerAll bool   `json:"lowercase"`
	}
	if err := decode(f.Normalizer, &normalizer); err != nil {
		return nil, fmt.Errorf("reading the normalizer: %w", err)
	}
	if kind := normalizer.Type; kind != "BertNormalizer" && kind != "" {
		return nil, fmt.Errorf("the normalizer %q cannot run in-process with WordPiece (only BertNormalizer can); run the model on a model server instead", kind)
	}
	var splitter struct {
		Type string `json:"type"`
	}
	if err := decode(f.Splitter, &splitter); err != nil {
		return nil, fmt.Errorf("reading the pre_tokenizer: %w", err)
	}
	if splitter.Type != "BertPreTokenizer" {
		return nil, fmt.Errorf("the pre_tokenizer %q cannot run in-process with WordPiece (only BertPreTokenizer can); run the model on a model server instead", splitter.Type)
	}
	w.controls, w.ideographs, w.lower, w.accents = normalizer.Clean, normalizer.Chinese, normalizer.LowerAll, normalizer.LowerAll
	if normalizer.Accents != nil {
		w.accents = *normalizer.Accents
	}
	return w, nil
}

// decode is like json.Unmarshal but leaves v unchanged if there is no value.
func decode(raw json.RawMessage, v any) error {
	if len(raw) == 0 {
		return nil
	}
	return json.Unmarshal(raw, v)
}

// setBoundaryTokens determines the special tokens at the start and end of each text.
func (f *tokenizerFile) setBoundaryTokens(t *tokenizer, words int) error {
	var p struct {
		Type   string `json:"type"`
		Single []struct {
			Special *struct {
				ID string `json:"id"`
			} `json:"SpecialToken"`
			Sequence *struct{} `json:"Sequence"`
		} `json:"single"`
		Tokens map[string]struct {
			IDs []int32 `json:"ids"`
		} `json:"special_tokens"`
	}
	var old struct {
		First specialToken `json:"cls"`
		Last  specialToken `json:"sep"`
	}
	if err := decode(f.Processor, &p); err != nil {
		return fmt.Errorf("reading the post_processor: %w", err)
	}
	switch p.Type {
	case "BertProcessing", "RobertaProcessing":
		if err := decode(f.Processor, &old); err != nil {
			return fmt.Errorf("reading the post_processor: %w", err)
		}
		t.before, t.after = []int32{old.First.id}, []int32{old.Last.id}
	case "TemplateProcessing":
		to := &t.before
		for _, part := range p.Single {
			switch {
			case part.Sequence != nil && to == &t.after:
				return errors.New("the post_processor's template for a single text contains the text twice")
			case part.Sequence != nil:
				to = &t.after
			case part.Special != nil:
				*to = append(*to, p.Tokens[part.Special.ID].IDs...)
			}
		}
		if to == &t.before {
			return errors.New("the post_processor's template for a single text has no placeholder for the text")
		}
	default:
		return fmt.Errorf("the post_processor %q cannot run in-process (only TemplateProcessing, BertProcessing and RobertaProcessing can); run the model on a model server instead", p.Type)
	}
	if t.special() > maxSpecial {
		return fmt.Errorf("the post_processor adds %d tokens to a text; the limit is %d", t.special(), maxSpecial)
	}
	for _, id := range slices.Concat(t.before, t.after) {
		if id < 0 || int(id) >= words {
			return fmt.Errorf("the post_processor adds the token %d, but the vocab_size of config.json is %d", id, words)
		}
	}
	return nil
}

// Maximum number of special tokens per text.
const maxSpecial = 8

// specialToken is a special token in older post-processors' format: ["[CLS]", 101].
type specialToken struct{ id int32 }

// UnmarshalJSON implements json.Unmarshaler.
func (m *specialToken) UnmarshalJSON(data []byte) error {
	var pair [2]json.RawMessage
	if err := json.Unmarshal(data, &pair); err != nil {
		return err
	}
	return json.Unmarshal(pair[1], &m.id)
}
