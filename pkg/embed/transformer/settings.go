package transformer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unsafe"
)

const (
	maxSettings  = 1 << 20  // maximum size of a small JSON file in bytes
	maxTokenizer = 64 << 20 // maximum size of tokenizer.json in bytes; a file with 250,000 pieces has 17 MB

	maxLayers   = 48
	maxHidden   = 4096
	maxWords    = 1_000_000
	maxSequence = 8192 // maximum number of tokens per text
)

// settings holds the settings from a model's configuration files.
type settings struct {
	kind         string // "bert" or "xlm-roberta"
	name         string
	hidden       int
	layers       int
	heads        int
	intermediate int
	activation   string
	epsilon      float64
	words        int
	positions    int
	padding      int
	maxTokens    int // maximum number of tokens per text, including special tokens
	pool         pooling
	prompts      map[string]string
	lowerCase    bool // a model without tokenizer.json ignores case
	accents      *bool
	chinese      bool
}

// directory gives access to the files in a model's directory, and to no others.
type directory struct {
	name  string
	root  *os.Root
	files map[string]string // content by name, if root is nil
}

// read returns a file's content, or fs.ErrNotExist. If the file is too large, the error names the limit.
func (d directory) read(name string, limit int64) ([]byte, error) {
	if d.root == nil {
		content, ok := d.files[name]
		if !ok {
			return nil, fmt.Errorf("reading %s: %w", d.path(name), fs.ErrNotExist)
		}
		return unsafe.Slice(unsafe.StringData(content), len(content)), nil // no caller modifies the bytes
	}
	info, err := d.root.Stat(name) // before opening the file, because opening a pipe would block
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.path(name), withoutPath(err))
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading %s: it is not a regular file", d.path(name))
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("reading %s: it has %d bytes; the limit is %d", d.path(name), info.Size(), limit)
	}
	file, err := d.root.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.path(name), withoutPath(err))
	}
	defer file.Close()
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.path(name), withoutPath(err))
	}
	return data, nil
}

func (d directory) path(name string) string { return path.Join(d.name, name) }

// withoutPath returns the error without its operation and path, which the surrounding message already contains.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// readJSON decodes a JSON file of limited size into v. If the file does not exist, it returns false without an error.
func (d directory) readJSON(name string, v any) (bool, error) {
	data, err := d.read(name, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("reading %s: %w", d.path(name), err)
	}
	return true, nil
}

// readSettings reads all configuration files of the model. Errors name the file and say what to do.
func (d directory) readSettings() (*settings, error) {
	s := &settings{}
	for _, read := range []func(*settings) error{d.readConfig, d.readModules, d.readLengths, d.readPrompts} {
		if err := read(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// readConfig reads the network's architecture from config.json.
func (d directory) readConfig(s *settings) error {
	var c struct {
		Name          string  `json:"_name_or_path"`
		Type          string  `json:"model_type"`
		Hidden        int     `json:"hidden_size"`
		Layers        int     `json:"num_hidden_layers"`
		Heads         int     `json:"num_attention_heads"`
		Intermediate  int     `json:"intermediate_size"`
		Activation    string  `json:"hidden_act"`
		Epsilon       float64 `json:"layer_norm_eps"`
		Words         int     `json:"vocab_size"`
		Positions     int     `json:"max_position_embeddings"`
		PositionsKind string  `json:"position_embedding_type"`
		Padding       int     `json:"pad_token_id"`
	}
	const file = "config.json"
	found, err := d.readJSON(file, &c)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%s is missing; set the directory of a sentence-transformers model, which contains config.json, tokenizer.json and model.safetensors", d.path(file))
	}
	if c.Type != "bert" && c.Type != "xlm-roberta" {
		return fmt.Errorf("%s: models of type %q cannot run in-process (only bert and xlm-roberta can); run it on a model server instead", d.path(file), c.Type)
	}
	if c.PositionsKind != "" && c.PositionsKind != "absolute" {
		return fmt.Errorf("%s: position_embedding_type %q cannot run in-process (only absolute can); run the model on a model server instead", d.path(file), c.PositionsKind)
	}
	for _, bound := range []struct {
		field      string
		value, max int
	}{
		{"hidden_size", c.Hidden, maxHidden}, {"num_hidden_layers", c.Layers, maxLayers}, {"num_attention_heads", c.Heads, maxHidden},
		{"intermediate_size", c.Intermediate, 8 * maxHidden}, {"vocab_size", c.Words, maxWords}, {"max_position_embeddings", c.Positions, 1 << 17},
	} {
		if bound.value < 1 || bound.value > bound.max {
			return fmt.Errorf("%s: %s is %d; it must be between 1 and %d", d.path(file), bound.field, bound.value, bound.max)
		}
	}
	if c.Hidden%c.Heads != 0 {
		return fmt.Errorf("%s: hidden_size %d is not a multiple of num_attention_heads %d", d.path(file), c.Hidden, c.Heads)
	}
	if c.Epsilon < 0 || c.Epsilon > 1 {
		return fmt.Errorf("%s: layer_norm_eps is %g; it must be between 0 and 1", d.path(file), c.Epsilon)
	}
	if c.Padding < 0 || c.Padding >= c.Words {
		return fmt.Errorf("%s: pad_token_id is %d; it must be less than vocab_size, %d", d.path(file), c.Padding, c.Words)
	}
	s.kind, s.hidden, s.layers, s.heads, s.intermediate = c.Type, c.Hidden, c.Layers, c.Heads, c.Intermediate
	s.activation, s.words, s.positions, s.padding = cmp.Or(c.Activation, "gelu"), c.Words, c.Positions, c.Padding
	s.epsilon = cmp.Or(c.Epsilon, 1e-12)
	s.name = modelName(c.Name)
	if s.name == "" {
		s.name = fmt.Sprintf("%s-%dx%d", c.Type, c.Layers, c.Hidden)
	}
	return nil
}

// modelName derives a model's common name from its origin. It returns "" if none of the origin's characters are allowed
// in a name.
func modelName(origin string) string {
	name := path.Base(strings.TrimRight(strings.ReplaceAll(origin, `\`, "/"), "/"))
	name = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return -1
	}, name)
	return strings.Trim(name[:min(len(name), 80)], ".-_")
}

// readModules reads modules.json, which lists the modules after the network, and the pooling configuration.
func (d directory) readModules(s *settings) error {
	var modules []struct{ Path, Type string }
	if _, err := d.readJSON("modules.json", &modules); err != nil {
		return err
	}
	where := "1_Pooling"
	for _, m := range modules {
		switch kind := m.Type[strings.LastIndexByte(m.Type, '.')+1:]; kind {
		case "Transformer", "Normalize":
		case "Pooling":
			where = m.Path
		default:
			return fmt.Errorf("%s: modules of type %q cannot run in-process; run the model on a model server instead", d.path("modules.json"), kind)
		}
	}
	var p struct {
		Mode     string `json:"pooling_mode"` // newer format
		First    bool   `json:"pooling_mode_cls_token"`
		Mean     bool   `json:"pooling_mode_mean_tokens"`
		Max      bool   `json:"pooling_mode_max_tokens"`
		Root     bool   `json:"pooling_mode_mean_sqrt_len_tokens"`
		Weighted bool   `json:"pooling_mode_weightedmean_tokens"`
		Last     bool   `json:"pooling_mode_lasttoken"`
		Prompt   *bool  `json:"include_prompt"`
	}
	file := path.Join(where, "config.json")
	found, err := d.readJSON(file, &p)
	if err != nil {
		return err
	}
	others := p.Max || p.Weighted || p.Last || p.Prompt != nil && !*p.Prompt
	// Some models divide the sum of the vectors by the square root of the number of tokens instead of by the number
	// itself. That makes no difference, because the result is scaled to unit length.
	switch mean := p.Mean || p.Root; {
	case !found, !others && mean && !p.First && p.Mode == "", p.Mode == "mean" && !others:
		s.pool = poolMean
	case !others && p.First && !mean && p.Mode == "", p.Mode == "cls" && !others:
		s.pool = poolFirst
	default:
		return fmt.Errorf("%s: only mean pooling and first-token ([CLS]) pooling can run in-process; run the model on a model server instead", d.path(file))
	}
	return nil
}

// readLengths reads the maximum number of tokens per text. If the tokeniser is just a vocabulary file, it also reads
// the tokeniser's options.
func (d directory) readLengths(s *settings) error {
	var sentence struct {
		MaxTokens int `json:"max_seq_length"`
	}
	if _, err := d.readJSON("sentence_bert_config.json", &sentence); err != nil {
		return err
	}
	tokens := struct {
		MaxTokens float64 `json:"model_max_length"` // 1e30 if there is no limit
		LowerCase *bool   `json:"do_lower_case"`
		Accents   *bool   `json:"strip_accents"`
		Chinese   *bool   `json:"tokenize_chinese_chars"`
	}{}
	if _, err := d.readJSON("tokenizer_config.json", &tokens); err != nil {
		return err
	}
	s.lowerCase = tokens.LowerCase == nil || *tokens.LowerCase
	s.chinese = tokens.Chinese == nil || *tokens.Chinese
	s.accents = tokens.Accents
	s.maxTokens = min(s.positions-s.firstPosition(), maxSequence)
	if sentence.MaxTokens > 0 {
		s.maxTokens = min(s.maxTokens, sentence.MaxTokens)
	} else if tokens.MaxTokens >= 1 && tokens.MaxTokens < maxSequence {
		s.maxTokens = min(s.maxTokens, int(tokens.MaxTokens))
	}
	if s.maxTokens < 3 {
		return fmt.Errorf("%s: a maximum of %d tokens leaves no room for words; see max_seq_length, model_max_length and max_position_embeddings", d.name, s.maxTokens)
	}
	return nil
}

// firstPosition returns the row in the position table for a text's first token: the padding token's id plus 1 in
// RoBERTa models, and 0 in others.
func (s *settings) firstPosition() int {
	if s.kind == "xlm-roberta" {
		return s.padding + 1
	}
	return 0
}

// readPrompts reads the query and passage prefixes.
func (d directory) readPrompts(s *settings) error {
	var c struct {
		Prompts map[string]string `json:"prompts"`
		Default string            `json:"default_prompt_name"`
	}
	const file = "config_sentence_transformers.json"
	if _, err := d.readJSON(file, &c); err != nil {
		return err
	}
	for name, prompt := range c.Prompts {
		if len(prompt) > maxPrompt {
			return fmt.Errorf("%s: the prompt %q has %d bytes; the limit is %d", d.path(file), name, len(prompt), maxPrompt)
		}
	}
	s.prompts = c.Prompts
	if c.Default != "" && s.prompts[c.Default] != "" {
		s.prompts[""] = s.prompts[c.Default]
	}
	return nil
}

// Maximum length of a prompt in bytes.
const maxPrompt = 4096

// prompt returns the first of these prompts that exists, or the default prompt if none does.
func (s *settings) prompt(names ...string) string {
	for _, name := range append(slices.Clone(names), "") {
		if prompt, ok := s.prompts[name]; ok {
			return prompt
		}
	}
	return ""
}
