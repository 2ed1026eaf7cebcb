// Package tinymodel generates sentence-transformers models and rerankers of a few kilobytes for tests.
package tinymodel

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Model describes a model with random weights. Its sizes are not multiples of a vector register's size, so that tests
// also cover partly filled registers.
type Model struct {
	Kind   string         // "bert" or "xlm-roberta"
	Format string         // the weights' number type: "F32", "F16" or "BF16"; default "F32"
	First  bool           // it uses the first token's vector instead of the mean
	Pairs  bool           // it is a reranker (cross-encoder) instead of an embedding model
	Labels int            // number of outputs of a reranker; default 1
	Extra  map[string]any // values that replace or extend those in config.json
	Seed   uint64         // seed for the weights
}

// Sizes of the models.
const (
	Hidden    = 24 // dimensions of the vectors
	Positions = 64 // maximum number of tokens the network accepts
	Length    = 48 // maximum number of tokens according to sentence_bert_config.json or, for a reranker, tokenizer_config.json

	heads, wide, layers = 3, 40, 2
)

// Words returns a vocabulary whose pieces cover most Latin words and little else.
func Words() []string {
	words := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "cat", "mat", "##ing", "on", "##at", "中", "国", "é", "ß", "☃", "и", "##и", "й"}
	for c := 'a'; c <= 'z'; c++ {
		words = append(words, string(c), "##"+string(c))
	}
	for c := '!'; c < '['; c++ {
		if c < 'A' {
			words = append(words, string(c))
		}
	}
	return words
}

// unigrams returns a Unigram model's vocabulary with the pieces' log probabilities.
func unigrams() [][]any {
	pieces := [][]any{{"<s>", 0}, {"<pad>", 0}, {"</s>", 0}, {"<unk>", 0}, {"▁", -2.5}, {"▁the", -3.1}, {"the", -4.7}, {"▁cat", -5.2}, {"at", -3.9},
		{"▁m", -4.1}, {"ing", -4.0}, {"s", -2.9}, {"中国", -6.5}, {"中", -6.1}, {"é", -7.0}, {"☃", -8.25}, {",", -3.0}, {"▁中", -6.6}, {"11", -5}, {"▁1", -5.5}}
	for i, c := 0, 'a'; c <= 'z'; i, c = i+1, c+1 {
		if c != 's' {
			pieces = append(pieces, []any{string(c), -5 - float64(i)/7})
		}
	}
	return pieces
}

// Tokenizer returns the model's tokenizer.json and the size of its vocabulary.
func (m Model) Tokenizer() (file map[string]any, words int) {
	if m.Kind == "xlm-roberta" {
		pieces := unigrams()
		return map[string]any{
			"version":      "1.0",
			"added_tokens": []any{map[string]any{"id": 0, "content": "<s>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}},
			"normalizer": map[string]any{"type": "Sequence", "normalizers": []any{
				map[string]any{"type": "Nmt"}, map[string]any{"type": "NFKC"},
				map[string]any{"type": "Replace", "pattern": map[string]any{"Regex": " {2,}"}, "content": " "}}},
			"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
				map[string]any{"type": "WhitespaceSplit"}, map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}}},
			"post_processor": map[string]any{"type": "TemplateProcessing",
				"single": []any{map[string]any{"SpecialToken": map[string]any{"id": "<s>", "type_id": 0}}, map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}, map[string]any{"SpecialToken": map[string]any{"id": "</s>", "type_id": 0}}},
				"pair": []any{
					map[string]any{"SpecialToken": map[string]any{"id": "<s>", "type_id": 0}}, map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}},
					map[string]any{"SpecialToken": map[string]any{"id": "</s>", "type_id": 0}}, map[string]any{"SpecialToken": map[string]any{"id": "</s>", "type_id": 0}},
					map[string]any{"Sequence": map[string]any{"id": "B", "type_id": 0}}, map[string]any{"SpecialToken": map[string]any{"id": "</s>", "type_id": 0}}},
				"special_tokens": map[string]any{"<s>": map[string]any{"id": "<s>", "ids": []int{0}, "tokens": []string{"<s>"}}, "</s>": map[string]any{"id": "</s>", "ids": []int{2}, "tokens": []string{"</s>"}}}},
			"model": map[string]any{"type": "Unigram", "unk_id": 3, "vocab": pieces, "byte_fallback": false},
		}, len(pieces)
	}
	ids := map[string]int{}
	for i, word := range Words() {
		ids[word] = i
	}
	return map[string]any{
		"version":        "1.0",
		"normalizer":     map[string]any{"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": nil, "lowercase": true},
		"pre_tokenizer":  map[string]any{"type": "BertPreTokenizer"},
		"post_processor": map[string]any{"type": "BertProcessing", "cls": []any{"[CLS]", 2}, "sep": []any{"[SEP]", 3}},
		"model":          map[string]any{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 20, "vocab": ids},
	}, len(ids)
}

func (m Model) format() string { return cmp.Or(m.Format, "F32") }

// Config returns the model's config.json.
func (m Model) Config(words int) map[string]any {
	config := map[string]any{
		"_name_or_path": "somebody/tiny-" + m.Kind, "model_type": m.Kind, "hidden_size": Hidden, "num_hidden_layers": layers,
		"num_attention_heads": heads, "intermediate_size": wide, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "vocab_size": words,
		"max_position_embeddings": Positions, "pad_token_id": map[bool]int{true: 1}[m.Kind == "xlm-roberta"], "torch_dtype": "float32",
	}
	if m.Pairs {
		config["architectures"] = []string{map[bool]string{true: "XLMRoberta", false: "Bert"}[m.Kind == "xlm-roberta"] + "ForSequenceClassification"}
	}
	maps.Copy(config, m.Extra)
	return config
}

// shapes returns the shapes of the model's tensors.
func (m Model) shapes(words int) map[string][]int {
	shapes := map[string][]int{
		"embeddings.word_embeddings.weight":       {words, Hidden},
		"embeddings.position_embeddings.weight":   {Positions, Hidden},
		"embeddings.token_type_embeddings.weight": {map[bool]int{true: 1, false: 2}[m.Kind == "xlm-roberta"], Hidden},
	}
	norms, linears := []string{"embeddings.LayerNorm"}, map[string][]int{}
	for i := range layers {
		name := fmt.Sprintf("encoder.layer.%d.", i)
		norms = append(norms, name+"attention.output.LayerNorm", name+"output.LayerNorm")
		for _, part := range []string{"self.query", "self.key", "self.value", "output.dense"} {
			linears[name+"attention."+part] = []int{Hidden, Hidden}
		}
		linears[name+"intermediate.dense"] = []int{wide, Hidden}
		linears[name+"output.dense"] = []int{Hidden, wide}
	}
	top := map[string][]int{}
	if m.Pairs {
		classifier := "classifier"
		if m.Kind == "xlm-roberta" {
			top["classifier.dense"], classifier = []int{Hidden, Hidden}, "classifier.out_proj"
		} else {
			linears["pooler.dense"] = []int{Hidden, Hidden}
		}
		top[classifier] = []int{max(m.Labels, 1), Hidden}
	}
	for _, name := range norms {
		shapes[name+".weight"], shapes[name+".bias"] = []int{Hidden}, []int{Hidden}
	}
	for name, shape := range linears {
		shapes[name+".weight"], shapes[name+".bias"] = shape, shape[:1]
	}
	if m.Pairs { // the network's names have a prefix, but the head's do not
		prefixed := map[string][]int{}
		for name, shape := range shapes {
			prefixed[map[bool]string{true: "roberta.", false: "bert."}[m.Kind == "xlm-roberta"]+name] = shape
		}
		shapes = prefixed
	}
	for name, shape := range top {
		shapes[name+".weight"], shapes[name+".bias"] = shape, shape[:1]
	}
	return shapes
}

// Safetensors returns the content of model.safetensors.
func (m Model) Safetensors(tb testing.TB, words int) []byte {
	tb.Helper()
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var data []byte
	r := rand.New(rand.NewPCG(7+m.Seed, map[string]uint64{"F16": 1, "BF16": 2}[m.format()]))
	shapes := m.shapes(words)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		begin := len(data)
		n := 1
		for _, size := range shapes[name] {
			n *= size
		}
		for range n {
			v := float32(r.NormFloat64() / 3)
			switch m.format() {
			case "F32":
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
			case "BF16":
				data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(v)>>16))
			case "F16": // random bits of a number near 0
				data = binary.LittleEndian.AppendUint16(data, uint16(r.IntN(0x3800)|r.IntN(2)<<15))
			}
		}
		header[name] = map[string]any{"dtype": m.format(), "shape": shapes[name], "data_offsets": []int{begin, len(data)}}
	}
	header["embeddings.position_ids"] = map[string]any{"dtype": "I64", "shape": []int{0}, "data_offsets": []int{len(data), len(data)}}
	text, err := json.Marshal(header)
	if err != nil {
		tb.Fatal(err)
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, data)
}

// Write writes the model to a directory.
func (m Model) Write(tb testing.TB, directory string) {
	tb.Helper()
	tokenizer, words := m.Tokenizer()
	WriteFile(tb, directory, "tokenizer.json", tokenizer)
	WriteFile(tb, directory, "config.json", m.Config(words))
	WriteFile(tb, directory, "model.safetensors", m.Safetensors(tb, words))
	if m.Pairs {
		WriteFile(tb, directory, "tokenizer_config.json", map[string]any{"model_max_length": Length})
		return
	}
	WriteFile(tb, directory, "sentence_bert_config.json", map[string]any{"max_seq_length": Length})
	WriteFile(tb, directory, "1_Pooling/config.json", map[string]any{"pooling_mode_cls_token": m.First, "pooling_mode_mean_tokens": !m.First})
}

// WriteFile writes a []byte as is and other content as JSON.
func WriteFile(tb testing.TB, directory, name string, content any) {
	tb.Helper()
	data, ok := content.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(content); err != nil {
			tb.Fatal(err)
		}
	}
	path := filepath.Join(directory, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		tb.Fatal(err)
	}
}
