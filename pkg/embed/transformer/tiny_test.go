package transformer

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/embed"
)

var write = flag.String("write", "", "a directory to write the tests' tiny models to, for testdata/reference.py; see testdata/update.sh")

// tiny is a model of a few kilobytes with weights that mean nothing, of sizes that fill no vector register.
type tiny struct {
	kind  string // model_type
	dtype dtype
	first bool // pools by the first token
	extra map[string]any
}

var tinies = map[string]tiny{
	"mean":    {kind: "bert"},
	"first":   {kind: "bert", dtype: bfloat16s, first: true},
	"half":    {kind: "bert", dtype: float16s},
	"unigram": {kind: "xlm-roberta"},
}

const (
	tinyHidden, tinyHeads, tinyWide, tinyLayers = 24, 3, 40, 2
	tinyPositions, tinyLength                   = 64, 48
)

// tinyWords is a vocabulary that can spell most Latin words and little else.
func tinyWords() []string {
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

// tinyPieces is the vocabulary of a Unigram model, with the logarithms of how likely its pieces are.
func tinyPieces() [][]any {
	pieces := [][]any{{"<s>", 0}, {"<pad>", 0}, {"</s>", 0}, {"<unk>", 0}, {"▁", -2.5}, {"▁the", -3.1}, {"the", -4.7}, {"▁cat", -5.2}, {"at", -3.9},
		{"▁m", -4.1}, {"ing", -4.0}, {"s", -2.9}, {"中国", -6.5}, {"中", -6.1}, {"é", -7.0}, {"☃", -8.25}, {",", -3.0}, {"▁中", -6.6}, {"11", -5}, {"▁1", -5.5}}
	for i, c := 0, 'a'; c <= 'z'; i, c = i+1, c+1 {
		if c != 's' {
			pieces = append(pieces, []any{string(c), -5 - float64(i)/7})
		}
	}
	return pieces
}

func (m tiny) tokenizer() (file map[string]any, words int) {
	if m.kind == "xlm-roberta" {
		pieces := tinyPieces()
		return map[string]any{
			"version":      "1.0",
			"added_tokens": []any{map[string]any{"id": 0, "content": "<s>", "special": true, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}},
			"normalizer": map[string]any{"type": "Sequence", "normalizers": []any{
				map[string]any{"type": "Nmt"}, map[string]any{"type": "NFKC"},
				map[string]any{"type": "Replace", "pattern": map[string]any{"Regex": " {2,}"}, "content": " "}}},
			"pre_tokenizer": map[string]any{"type": "Sequence", "pretokenizers": []any{
				map[string]any{"type": "WhitespaceSplit"}, map[string]any{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true}}},
			"post_processor": map[string]any{"type": "TemplateProcessing",
				"single":         []any{map[string]any{"SpecialToken": map[string]any{"id": "<s>", "type_id": 0}}, map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}, map[string]any{"SpecialToken": map[string]any{"id": "</s>", "type_id": 0}}},
				"pair":           []any{map[string]any{"Sequence": map[string]any{"id": "A", "type_id": 0}}, map[string]any{"Sequence": map[string]any{"id": "B", "type_id": 0}}},
				"special_tokens": map[string]any{"<s>": map[string]any{"id": "<s>", "ids": []int{0}, "tokens": []string{"<s>"}}, "</s>": map[string]any{"id": "</s>", "ids": []int{2}, "tokens": []string{"</s>"}}}},
			"model": map[string]any{"type": "Unigram", "unk_id": 3, "vocab": pieces, "byte_fallback": false},
		}, len(pieces)
	}
	ids := map[string]int{}
	for i, word := range tinyWords() {
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

// config is the model's config.json.
func (m tiny) config(words int) map[string]any {
	config := map[string]any{
		"_name_or_path": "somebody/tiny-" + m.kind, "model_type": m.kind, "hidden_size": tinyHidden, "num_hidden_layers": tinyLayers,
		"num_attention_heads": tinyHeads, "intermediate_size": tinyWide, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "vocab_size": words,
		"max_position_embeddings": tinyPositions, "pad_token_id": map[bool]int{true: 1}[m.kind == "xlm-roberta"], "torch_dtype": "float32",
	}
	maps.Copy(config, m.extra)
	return config
}

// shapes are the tensors of the model.
func (m tiny) shapes(words int) map[string][]int {
	shapes := map[string][]int{
		"embeddings.word_embeddings.weight":       {words, tinyHidden},
		"embeddings.position_embeddings.weight":   {tinyPositions, tinyHidden},
		"embeddings.token_type_embeddings.weight": {map[bool]int{true: 1, false: 2}[m.kind == "xlm-roberta"], tinyHidden},
	}
	norms, linears := []string{"embeddings.LayerNorm"}, map[string][]int{}
	for i := range tinyLayers {
		name := fmt.Sprintf("encoder.layer.%d.", i)
		norms = append(norms, name+"attention.output.LayerNorm", name+"output.LayerNorm")
		for _, part := range []string{"self.query", "self.key", "self.value", "output.dense"} {
			linears[name+"attention."+part] = []int{tinyHidden, tinyHidden}
		}
		linears[name+"intermediate.dense"] = []int{tinyWide, tinyHidden}
		linears[name+"output.dense"] = []int{tinyHidden, tinyWide}
	}
	for _, name := range norms {
		shapes[name+".weight"], shapes[name+".bias"] = []int{tinyHidden}, []int{tinyHidden}
	}
	for name, shape := range linears {
		shapes[name+".weight"], shapes[name+".bias"] = shape, shape[:1]
	}
	return shapes
}

// safetensors writes the model's weights as the format is.
func (m tiny) safetensors(tb testing.TB, words int) []byte {
	tb.Helper()
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var data []byte
	r := rand.New(rand.NewPCG(7, uint64(m.dtype)))
	shapes := m.shapes(words)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		begin := len(data)
		n, _ := elements(shapes[name])
		for range n {
			v := float32(r.NormFloat64() / 3)
			switch m.dtype {
			case float32s:
				data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
			case bfloat16s:
				data = binary.LittleEndian.AppendUint16(data, uint16(math.Float32bits(v)>>16))
			case float16s: // any bits that are a number near 0 will do
				data = binary.LittleEndian.AppendUint16(data, uint16(r.IntN(0x3800)|r.IntN(2)<<15))
			}
		}
		header[name] = map[string]any{"dtype": []string{"F32", "F16", "BF16"}[m.dtype], "shape": shapes[name], "data_offsets": []int{begin, len(data)}}
	}
	header["embeddings.position_ids"] = map[string]any{"dtype": "I64", "shape": []int{0}, "data_offsets": []int{len(data), len(data)}}
	text, err := json.Marshal(header)
	if err != nil {
		tb.Fatal(err)
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text, data)
}

// write makes a directory of the model.
func (m tiny) write(tb testing.TB, directory string) {
	tb.Helper()
	tokenizer, words := m.tokenizer()
	writeFile(tb, directory, "tokenizer.json", tokenizer)
	writeFile(tb, directory, "config.json", m.config(words))
	writeFile(tb, directory, "model.safetensors", m.safetensors(tb, words))
	writeFile(tb, directory, "sentence_bert_config.json", map[string]any{"max_seq_length": tinyLength})
	writeFile(tb, directory, "1_Pooling/config.json", map[string]any{"pooling_mode_cls_token": m.first, "pooling_mode_mean_tokens": !m.first})
}

// writeFile writes bytes as they are and everything else as JSON.
func writeFile(tb testing.TB, directory, name string, content any) {
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

// tinyDirectory returns the directory of a model.
func tinyDirectory(tb testing.TB, m tiny) string {
	tb.Helper()
	directory := tb.TempDir()
	m.write(tb, directory)
	return directory
}

func TestModelsForTheReferenceAreWritten(t *testing.T) {
	if *write == "" {
		t.Skip("no directory is given with -write")
	}
	for name, m := range tinies {
		m.write(t, filepath.Join(*write, name))
	}
}

// expectation is what the reference made of a text.
type expectation struct {
	Text   string
	IDs    []int32
	Vector []float32
}

func expectations(tb testing.TB, path string) []expectation {
	tb.Helper()
	file, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	var all []expectation
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e expectation
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			tb.Fatal(err)
		}
		all = append(all, e)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		tb.Fatalf("%d lines of %s, error %v", len(all), path, err)
	}
	return all
}

// agree compares what e makes of the texts with what the reference did, and returns the worst similarity.
func agree(t *testing.T, e *Embedder, want []expectation) (worst float64) {
	t.Helper()
	texts := make([]string, len(want))
	for i, w := range want {
		texts[i] = w.Text
		if ids := e.tokenizer.tokens(w.Text, e.maxTokens); !slices.Equal(ids, w.IDs) {
			t.Errorf("tokens of %.60q:\n%v, want\n%v", w.Text, ids, w.IDs)
		}
	}
	vectors, err := e.Embed(t.Context(), texts, embed.Passage)
	if err != nil {
		t.Fatal(err)
	}
	worst = 1
	for i, w := range want {
		if len(w.IDs) == e.tokenizer.special() { // a text without a token has no vector here
			if slices.ContainsFunc(vectors[i], func(v float32) bool { return v != 0 }) {
				t.Errorf("the vector of %q is not zero", w.Text)
			}
			continue
		}
		similarity := cosine(vectors[i], w.Vector)
		worst = min(worst, similarity)
		if similarity < 0.99999 {
			t.Errorf("similarity %v to the reference of %.60q", similarity, w.Text)
		}
	}
	return worst
}

func TestTinyModelsAgreeWithTheReferenceOnEveryKernel(t *testing.T) {
	t.Parallel()
	for name, m := range tinies {
		for _, kn := range kernels() {
			t.Run(name+"/"+kn.name, func(t *testing.T) {
				t.Parallel()
				e, err := open(Config{Directory: tinyDirectory(t, m)}, kn)
				if err != nil {
					t.Fatal(err)
				}
				agree(t, e, expectations(t, filepath.Join("testdata", name+".jsonl")))
			})
		}
	}
}
