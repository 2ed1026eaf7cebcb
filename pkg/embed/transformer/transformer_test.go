package transformer

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/embed/transformer/tinymodel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mustOpen opens a tiny model. If change is not nil, it first modifies the model's directory.
func mustOpen(tb testing.TB, config Config, m tinymodel.Model, change func(directory string)) *Embedder {
	tb.Helper()
	config.Directory = tinyDirectory(tb, m)
	if change != nil {
		change(config.Directory)
	}
	e, err := Open(config)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func mustEmbed(tb testing.TB, e *Embedder, purpose embed.Purpose, texts ...string) [][]float32 {
	tb.Helper()
	vectors, err := e.Embed(tb.Context(), texts, purpose)
	if err != nil {
		tb.Fatal(err)
	}
	if len(vectors) != len(texts) {
		tb.Fatalf("%d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors
}

func TestVectorsHaveUnitLengthAndTheModelsDimensions(t *testing.T) {
	t.Parallel()
	e := mustOpen(t, Config{}, tinyModels["mean"], nil)
	if e.Model().Dimensions != tinymodel.Hidden {
		t.Errorf("%d dimensions, want %d", e.Model().Dimensions, tinymodel.Hidden)
	}
	for i, vector := range mustEmbed(t, e, embed.Query, "the cat", "a", strings.Repeat("mat ", 500)) {
		if length := math.Sqrt(cosineLength(vector)); len(vector) != tinymodel.Hidden || math.Abs(length-1) > 1e-6 {
			t.Errorf("vector %d has %d dimensions and length %v", i, len(vector), length)
		}
	}
}

func cosineLength(v []float32) (sum float64) {
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

func TestTextsWithoutATokenHaveZeroVectorsWhateverThePrefix(t *testing.T) {
	t.Parallel()
	prefix := "the: "
	e := mustOpen(t, Config{PassagePrefix: &prefix}, tinyModels["mean"], nil)
	vectors := mustEmbed(t, e, embed.Passage, "", "cat", " \n\u200b ")
	for i, want := range []float64{0, 1, 0} {
		if got := cosineLength(vectors[i]); math.Abs(got-want) > 1e-5 {
			t.Errorf("vector %d has length %v, want %v", i, got, want)
		}
	}
}

func TestAVectorDoesNotDependOnItsBatch(t *testing.T) {
	t.Parallel()
	for _, kn := range kernels() {
		t.Run(kn.name, func(t *testing.T) {
			t.Parallel()
			e, err := open(Config{Directory: tinyDirectory(t, tinyModels["mean"]), Threads: 3}, kn)
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for i := range 100 {
				texts = append(texts, strings.Repeat("the cat on a mat ", i%17)+"x"+strings.Repeat("y", i))
			}
			together := mustEmbed(t, e, embed.Passage, texts...)
			for i, text := range texts {
				if alone := mustEmbed(t, e, embed.Passage, text)[0]; !slices.Equal(alone, together[i]) {
					t.Fatalf("text %d has another vector alone", i)
				}
			}
		})
	}
}

func TestTokensAreCountedBeyondTheModelsLength(t *testing.T) {
	t.Parallel()
	prefix := "cat mat "
	for name, m := range tinyModels {
		e := mustOpen(t, Config{MaxTokens: 10}, m, nil)
		minimum, limit := e.Tokens("cat"), e.Tokens(strings.Repeat("cat ", 100))
		if e.Tokens("") != e.tokenizer.special() || minimum <= e.tokenizer.special() || limit < 100*(minimum-e.tokenizer.special()) {
			t.Errorf("%s: %d tokens of one word, %d of a hundred, %d of none", name, minimum, limit, e.Tokens(""))
		}
		prefixed := mustOpen(t, Config{PassagePrefix: &prefix}, m, nil)
		if got, want := prefixed.Tokens("cat"), e.Tokens(prefix+"cat"); got != want {
			t.Errorf("%s: %d tokens with the prefix, want %d", name, got, want)
		}
	}
}

func TestLongTextsAreCutAtTheModelsLengthOrEarlier(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ asked, want int }{{0, tinymodel.Length}, {10, 10}, {1000, tinymodel.Length}} {
		e := mustOpen(t, Config{MaxTokens: c.asked}, tinyModels["mean"], nil)
		if e.MaxTokens() != c.want {
			t.Errorf("asked for %d tokens: %d, want %d", c.asked, e.MaxTokens(), c.want)
		}
		vectors := mustEmbed(t, e, embed.Query, strings.Repeat("cat ", c.want-2), strings.Repeat("cat ", c.want-2)+"the mat", strings.Repeat("cat ", c.want-3)+"mat")
		if !slices.Equal(vectors[0], vectors[1]) || slices.Equal(vectors[0], vectors[2]) {
			t.Errorf("asked for %d tokens: not exactly the first %d count", c.asked, c.want)
		}
	}
}

func TestPromptsComeFromTheModelUnlessPrefixesAreGiven(t *testing.T) {
	t.Parallel()
	prompts := func(directory string) {
		tinymodel.WriteFile(t, directory, "config_sentence_transformers.json", map[string]any{
			"prompts": map[string]string{"query": "cat: ", "document": "mat: "}, "default_prompt_name": nil})
	}
	none, own := "", "the "
	plain := mustOpen(t, Config{}, tinyModels["mean"], nil)
	for name, c := range map[string]struct {
		config         Config
		query, passage string
	}{
		"the model's":           {Config{}, "cat: on", "mat: on"},
		"none":                  {Config{QueryPrefix: &none, PassagePrefix: &none}, "on", "on"},
		"one's own for queries": {Config{QueryPrefix: &own}, "the on", "mat: on"},
	} {
		e := mustOpen(t, c.config, tinyModels["mean"], prompts)
		if got, want := mustEmbed(t, e, embed.Query, "on")[0], mustEmbed(t, plain, embed.Query, c.query)[0]; !slices.Equal(got, want) {
			t.Errorf("%s: a query is not embedded as %q", name, c.query)
		}
		if got, want := mustEmbed(t, e, embed.Passage, "on")[0], mustEmbed(t, plain, embed.Passage, c.passage)[0]; !slices.Equal(got, want) {
			t.Errorf("%s: a passage is not embedded as %q", name, c.passage)
		}
	}
}

func TestTheIDDependsOnTheModelNotItsDirectory(t *testing.T) {
	t.Parallel()
	prefix := "passage: "
	id := func(config Config, m tinymodel.Model) string { return mustOpen(t, config, m, nil).Model().ID }
	usual := id(Config{}, tinyModels["mean"])
	if !strings.HasPrefix(usual, "local:tiny-bert@") {
		t.Errorf("ID %q does not name the model", usual)
	}
	for name, same := range map[string]string{
		"another directory":   id(Config{}, tinyModels["mean"]),
		"a prefix of queries": id(Config{QueryPrefix: &prefix}, tinyModels["mean"]),
		"more threads":        id(Config{Threads: 7}, tinyModels["mean"]),
		"the length it has":   id(Config{MaxTokens: 9999}, tinyModels["mean"]),
	} {
		if same != usual {
			t.Errorf("%s: ID %q, want %q", name, same, usual)
		}
	}
	for name, other := range map[string]string{
		"a prefix of passages": id(Config{PassagePrefix: &prefix}, tinyModels["mean"]),
		"a shorter length":     id(Config{MaxTokens: 20}, tinyModels["mean"]),
		"other weights":        id(Config{}, tinyModels["half"]),
		"other pooling":        id(Config{}, tinymodel.Model{Kind: "bert", First: true}),
	} {
		if other == usual {
			t.Errorf("%s: the ID is the same", name)
		}
	}
}

func TestEmbeddingStopsWithItsContext(t *testing.T) {
	t.Parallel()
	e := mustOpen(t, Config{}, tinyModels["mean"], nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(ctx, []string{"cat"}, embed.Query); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestAVocabularyAloneIsEnoughOfATokeniser(t *testing.T) {
	t.Parallel()
	e := mustOpen(t, Config{}, tinyModels["mean"], func(directory string) {
		tinymodel.WriteFile(t, directory, "vocab.txt", []byte(strings.Join(tinymodel.Words(), "\r\n")+"\r\n"))
		if err := os.Remove(filepath.Join(directory, "tokenizer.json")); err != nil {
			t.Fatal(err)
		}
	})
	for _, want := range expectations(t, "testdata/mean.jsonl") {
		if strings.Contains(want.Text, "abcdefghijklmnopqrstu") {
			continue // tokenizer.json limits words to 20 characters, but the default for a bare vocabulary is 100
		}
		if ids := e.tokenizer.tokens(want.Text, e.maxTokens); !slices.Equal(ids, want.IDs) {
			t.Errorf("tokens of %q: %v, want %v", want.Text, ids, want.IDs)
		}
	}
}

func TestUnsupportedModelsAreNamedWithTheRemedy(t *testing.T) {
	t.Parallel()
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, directory string) {
			if err := os.Remove(filepath.Join(directory, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	set := func(name string, content any) func(*testing.T, string) {
		return func(t *testing.T, directory string) { tinymodel.WriteFile(t, directory, name, content) }
	}
	config := func(change map[string]any) func(*testing.T, string) {
		m := tinymodel.Model{Kind: "bert", Extra: change}
		_, words := m.Tokenizer()
		return set("config.json", m.Config(words))
	}
	tokenizer := func(change map[string]any) func(*testing.T, string) {
		file, _ := tinyModels["mean"].Tokenizer()
		maps.Copy(file, change)
		return set("tokenizer.json", file)
	}
	for name, c := range map[string]struct {
		change func(*testing.T, string)
		want   string
	}{
		"no configuration":             {remove("config.json"), "config.json is missing; set the directory of a sentence-transformers model"},
		"a configuration cut short":    {set("config.json", []byte(`{"model_type"`)), "config.json: unexpected end"},
		"a huge configuration":         {set("config.json", make([]byte, maxSettings+1)), "config.json: it has 1048577 bytes; the limit is 1048576"},
		"a directory as configuration": {func(t *testing.T, d string) { remove("config.json")(t, d); set("config.json/x", "")(t, d) }, "config.json: it is not a regular file"},
		"a pipe as configuration": {func(t *testing.T, d string) {
			remove("config.json")(t, d)
			if err := syscall.Mkfifo(filepath.Join(d, "config.json"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "config.json: it is not a regular file"},
		"another kind of model":        {config(map[string]any{"model_type": "t5"}), `config.json: models of type "t5" cannot run in-process`},
		"relative positions":           {config(map[string]any{"position_embedding_type": "relative_key"}), "only absolute"},
		"no heads":                     {config(map[string]any{"num_attention_heads": 0}), "num_attention_heads is 0; it must be between 1 and"},
		"heads that do not divide":     {config(map[string]any{"num_attention_heads": 5}), "hidden_size 24 is not a multiple of num_attention_heads 5"},
		"a million layers":             {config(map[string]any{"num_hidden_layers": 1_000_000}), "num_hidden_layers is 1000000; it must be between 1 and 48"},
		"more layers than weights":     {config(map[string]any{"num_hidden_layers": 3}), `model.safetensors: it has no floating-point tensor "encoder.layer.2.attention.self.query.weight"`},
		"other sizes than the weights": {config(map[string]any{"intermediate_size": 41}), "has shape [40 24], but config.json requires [41 24]"},
		"an unknown activation":        {config(map[string]any{"hidden_act": "swish"}), `the activation function "swish" in config.json`},
		"padding out of range":         {config(map[string]any{"pad_token_id": 1000}), "pad_token_id is 1000"},
		"a dense layer at the end":     {set("modules.json", []any{map[string]string{"type": "sentence_transformers.models.Dense"}}), `modules.json: modules of type "Dense" cannot`},
		"pooling by maximum":           {set("1_Pooling/config.json", map[string]any{"pooling_mode_max_tokens": true}), "1_Pooling/config.json: only mean pooling and first-token ([CLS]) pooling"},
		"no room for a word":           {set("sentence_bert_config.json", map[string]any{"max_seq_length": 2}), "a maximum of 2 tokens leaves no room for words"},
		"a prompt without end":         {set("config_sentence_transformers.json", map[string]any{"prompts": map[string]string{"query": strings.Repeat("x", 5000)}}), `the prompt "query" has 5000 bytes; the limit is 4096`},
		"no tokeniser":                 {remove("tokenizer.json"), "tokenizer.json nor vocab.txt"},
		"another kind of tokeniser":    {tokenizer(map[string]any{"model": map[string]any{"type": "BPE"}}), `tokenisers of type "BPE" cannot run in-process (only WordPiece and Unigram can)`},
		"another normalizer":           {tokenizer(map[string]any{"normalizer": map[string]any{"type": "NFKC"}}), `normalizer "NFKC" cannot run in-process with WordPiece`},
		"no splitter":                  {tokenizer(map[string]any{"pre_tokenizer": nil}), "only BertPreTokenizer"},
		"special tokens out of range":  {tokenizer(map[string]any{"post_processor": map[string]any{"type": "BertProcessing", "cls": []any{"[CLS]", 2}, "sep": []any{"[SEP]", 4000}}}), "adds the token 4000, but the vocab_size"},
		"no weights":                   {remove("model.safetensors"), "model.safetensors nor model.onnx"},
		"a pointer instead of weights": {set("model.safetensors", []byte("version https://git-lfs.github.com/spec/v1\n")), "Git LFS pointer"},
		"weights cut short":            {func(t *testing.T, d string) { cutShort(t, filepath.Join(d, "model.safetensors")) }, "it may be incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := tinyDirectory(t, tinyModels["mean"])
			c.change(t, directory)
			_, err := Open(Config{Directory: directory})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func cutShort(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)-100], 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAMissingDirectoryIsNamed(t *testing.T) {
	t.Parallel()
	_, err := Open(Config{Directory: filepath.Join(t.TempDir(), "nowhere")})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("error %v does not name the directory", err)
	}
}

func TestSeveralCallersCanEmbedAtOnce(t *testing.T) {
	t.Parallel()
	e := mustOpen(t, Config{Threads: 2}, tinyModels["mean"], nil)
	texts := []string{"the cat", strings.Repeat("on the mat ", 40), "", "a"}
	want := mustEmbed(t, e, embed.Query, texts...)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 20 {
				got, err := e.Embed(t.Context(), texts, embed.Purpose(i%2))
				if err != nil || !slices.EqualFunc(got, want, slices.Equal[[]float32]) {
					t.Errorf("other vectors than alone, error %v", err)
					return
				}
			}
		})
	}
	group.Wait()
}
