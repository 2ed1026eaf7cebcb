package transformer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/embed/transformer/tinymodel"
)

// pairExpectation holds a pair's tokens and logit according to the reference implementation.
type pairExpectation struct {
	Pair  [2]string
	IDs   []int32
	Types []int
	Logit float64
}

func pairExpectations(t *testing.T, name string) []pairExpectation {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []pairExpectation
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e pairExpectation
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		t.Fatalf("%s has no lines", file.Name())
	}
	return all
}

func mustOpenCrossEncoder(tb testing.TB, kn *kernel, m tinymodel.Model) *CrossEncoder {
	tb.Helper()
	c, err := openCrossEncoder(CrossEncoderConfig{Directory: tinyDirectory(tb, m)}, kn)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestRerankersAgreeWithTheReferenceOnEveryKernel(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Collect(maps.Keys(tinyRerankers)) {
		for _, kn := range kernels() {
			t.Run(name+"/"+kn.name, func(t *testing.T) {
				t.Parallel()
				c := mustOpenCrossEncoder(t, kn, tinyRerankers[name])
				for _, want := range pairExpectations(t, name) {
					query, passage := want.Pair[0], want.Pair[1]
					p := c.template.join(c.tokenizer.parts(query, c.maxTokens), c.tokenizer.parts(passage, c.maxTokens), c.maxTokens)
					if !slices.Equal(p.tokens, want.IDs) {
						t.Errorf("tokens of %.40q and %.40q:\n%v, want\n%v", query, passage, p.tokens, want.IDs)
					}
					if second := slices.Index(want.Types, 1); c.head.positions != nil && p.passage != second {
						t.Errorf("the passage %.40q begins at token %d, want %d", passage, p.passage, second)
					}
					got, err := c.Score(t.Context(), query, []string{passage}, time.Time{})
					if err != nil {
						t.Fatal(err)
					}
					if len(got) != 1 || math.Abs(float64(got[0])-want.Logit) > 1e-3 {
						t.Errorf("logit of %.40q and %.40q: %v, want %v", query, passage, got, want.Logit)
					}
				}
			})
		}
	}
}

// TestARealRerankerAgreesWithItsModelCard tests ms-marco-MiniLM-L6-v2, which is too large for the repository, in the
// SLUICE_TEST_RERANKER directory. The logits are from its model card.
func TestARealRerankerAgreesWithItsModelCard(t *testing.T) {
	t.Parallel()
	directory := os.Getenv("SLUICE_TEST_RERANKER")
	if directory == "" {
		t.Skip("SLUICE_TEST_RERANKER names no directory of ms-marco-MiniLM-L6-v2")
	}
	c, err := OpenCrossEncoder(CrossEncoderConfig{Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Score(t.Context(), "How many people live in Berlin?", []string{
		"Berlin had a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers.",
		"Berlin is well known for its museums.",
	}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{8.607138, -4.320078} {
		if math.Abs(float64(got[i])-want) > 5e-3 {
			t.Errorf("logit %d is %v, want %v", i, got[i], want)
		}
	}
}

func TestScoresDoNotDependOnTheOtherPassages(t *testing.T) {
	t.Parallel()
	c := mustOpenCrossEncoder(t, kernels()[0], tinyRerankers["bert-pairs"])
	var passages []string
	for i := range 60 {
		passages = append(passages, strings.Repeat("the cat ", i%20)+"mat"+strings.Repeat("s", i%3))
	}
	all, err := c.Score(t.Context(), "where is the cat", passages, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(passages) {
		t.Fatalf("%d scores for %d passages", len(all), len(passages))
	}
	for i, passage := range passages {
		alone, err := c.Score(t.Context(), "where is the cat", []string{passage}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(float64(alone[0]-all[i])) > 1e-5 {
			t.Errorf("passage %d has the logit %v with others and %v alone", i, all[i], alone[0])
		}
	}
}

func TestPassagesAreMissingOnceTheTimeIsUp(t *testing.T) {
	t.Parallel()
	m := tinyRerankers["bert-pairs"]
	c, err := OpenCrossEncoder(CrossEncoderConfig{Directory: tinyDirectory(t, m), Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	passages := slices.Repeat([]string{strings.Repeat("the cat ", 30)}, 40)
	if got, err := c.Score(t.Context(), "cat", passages, time.Now().Add(-time.Second)); err != nil || len(got) != 0 {
		t.Errorf("after the time: %d scores, error %v", len(got), err)
	}
	budget, cancel := context.WithCancel(t.Context())
	c.scored = cancel // time is up after the first batch
	got, err := c.score(t.Context(), budget, "cat", passages)
	if want := batchTokens / c.maxTokens; err != nil || len(got) != want || slices.Max(slices.Collect(maps.Keys(got))) != want-1 {
		t.Errorf("after one batch: %v, want the first %d; error %v", got, want, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.scored = cancel
	if got, err := c.Score(ctx, "cat", passages, time.Time{}); !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("a cancelled call returned %d scores, error %v", len(got), err)
	}
	until := time.Now().Add(time.Hour)
	c.scored = func() {}
	if got, err := c.Score(t.Context(), "cat", passages, until); err != nil || len(got) != len(passages) {
		t.Errorf("in time: %d scores, error %v", len(got), err)
	}
}

func TestPairsAreScoredBeforePassagesAreEmbedded(t *testing.T) {
	t.Parallel()
	priority := NewPriority()
	c, err := OpenCrossEncoder(CrossEncoderConfig{Directory: tinyDirectory(t, tinyRerankers["bert-pairs"]), Priority: priority})
	if err != nil {
		t.Fatal(err)
	}
	running := 0
	c.scored = func() { running = priority.queries }
	if _, err := c.Score(t.Context(), "cat", []string{"mat"}, time.Time{}); err != nil || running != 1 || priority.queries != 0 {
		t.Errorf("%d queries during the call, %d after it; error %v", running, priority.queries, err)
	}
}

func TestModelsThatAreNoRerankersAreRejected(t *testing.T) {
	t.Parallel()
	pairs := tinyRerankers["bert-pairs"]
	for name, test := range map[string]struct {
		model  tinymodel.Model
		change func(t *testing.T, directory string)
		want   []string
	}{
		"an embedding model":        {tinyModels["mean"], nil, []string{`"classifier.weight"`, "not a reranker"}},
		"a multilingual embedder":   {tinyModels["unigram"], nil, []string{`"classifier.out_proj.weight"`}},
		"a classifier of 3 classes": {tinymodel.Model{Kind: "bert", Pairs: true, Labels: 3}, nil, []string{"3 labels", "a reranker has one"}},
		"a missing tokeniser": {pairs, func(t *testing.T, directory string) {
			t.Helper()
			if err := os.Remove(filepath.Join(directory, "tokenizer.json")); err != nil {
				t.Fatal(err)
			}
		}, []string{"tokenizer.json nor vocab.txt"}},
		"too few tokens": {pairs, func(t *testing.T, directory string) {
			t.Helper()
			tinymodel.WriteFile(t, directory, "tokenizer_config.json", map[string]any{"model_max_length": 4})
		}, []string{"4 tokens", "at least 5"}},
		"a template without a second text": {pairs, func(t *testing.T, directory string) {
			t.Helper()
			file, _ := pairs.Tokenizer()
			file["post_processor"] = template([]any{text("A", 0), special(0)})
			tinymodel.WriteFile(t, directory, "tokenizer.json", file)
		}, []string{"tokenizer.json", "the first text once"}},
		"a template with other types": {pairs, func(t *testing.T, directory string) {
			t.Helper()
			file, _ := pairs.Tokenizer()
			file["post_processor"] = template([]any{text("A", 1), special(0), text("B", 0)})
			tinymodel.WriteFile(t, directory, "tokenizer.json", file)
		}, []string{"tokenizer.json", "token type"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := tinyDirectory(t, test.model)
			if test.change != nil {
				test.change(t, directory)
			}
			_, err := OpenCrossEncoder(CrossEncoderConfig{Directory: directory})
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v lacks %q", err, want)
				}
			}
		})
	}
	if _, err := OpenCrossEncoder(CrossEncoderConfig{Directory: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a missing directory is opened")
	}
}

// template returns a post-processor with this template for pairs.
func template(pair []any) map[string]any {
	return map[string]any{
		"type": "TemplateProcessing", "single": []any{special(0), text("A", 0), special(0)}, "pair": pair,
		"special_tokens": map[string]any{"[SEP]": map[string]any{"id": "[SEP]", "ids": []int{3}, "tokens": []string{"[SEP]"}}},
	}
}

func text(id string, kind int) map[string]any {
	return map[string]any{"Sequence": map[string]any{"id": id, "type_id": kind}}
}

func special(kind int) map[string]any {
	return map[string]any{"SpecialToken": map[string]any{"id": "[SEP]", "type_id": kind}}
}

// TestTemplatesMatchOlderPostProcessors checks that all kinds of tokeniser files give the same scores.
func TestTemplatesMatchOlderPostProcessors(t *testing.T) {
	t.Parallel()
	pairs := tinyRerankers["bert-pairs"]
	score := func(change func(directory string)) map[int]float32 {
		t.Helper()
		directory := tinyDirectory(t, pairs)
		change(directory)
		c, err := OpenCrossEncoder(CrossEncoderConfig{Directory: directory})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Score(t.Context(), "the cat", []string{"a mat", "on the mat"}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	old := score(func(string) {})
	if newer := score(func(directory string) {
		file, _ := pairs.Tokenizer()
		with := func(id string, kind int) map[string]any {
			return map[string]any{"SpecialToken": map[string]any{"id": id, "type_id": kind}}
		}
		post := template([]any{with("[CLS]", 0), text("A", 0), with("[SEP]", 0), text("B", 1), with("[SEP]", 1)})
		post["special_tokens"].(map[string]any)["[CLS]"] = map[string]any{"id": "[CLS]", "ids": []int{2}, "tokens": []string{"[CLS]"}}
		file["post_processor"] = post
		tinymodel.WriteFile(t, directory, "tokenizer.json", file)
	}); !maps.Equal(old, newer) {
		t.Errorf("TemplateProcessing gives %v, BertProcessing %v", newer, old)
	}
	if words := score(func(directory string) {
		if err := os.Remove(filepath.Join(directory, "tokenizer.json")); err != nil {
			t.Fatal(err)
		}
		tinymodel.WriteFile(t, directory, "vocab.txt", []byte(strings.Join(tinymodel.Words(), "\n")))
	}); !maps.Equal(old, words) {
		t.Errorf("vocab.txt gives %v, tokenizer.json %v", words, old)
	}
}

func TestRerankersAndEmbeddingModelsAreToldApart(t *testing.T) {
	t.Parallel()
	pairs, mean := tinyDirectory(t, tinyRerankers["bert-pairs"]), tinyDirectory(t, tinyModels["mean"])
	if !IsCrossEncoder(pairs) || IsCrossEncoder(mean) || IsCrossEncoder(filepath.Join(mean, "none")) {
		t.Errorf("a reranker: %v, an embedding model: %v", IsCrossEncoder(pairs), IsCrossEncoder(mean))
	}
	if _, err := Open(Config{Directory: pairs}); err == nil || !strings.Contains(err.Error(), "RERANK_MODEL") {
		t.Errorf("opened as an embedding model: %v", err)
	}
	tinymodel.WriteFile(t, pairs, "1_Pooling/config.json", map[string]any{"pooling_mode_mean_tokens": true})
	if _, err := Open(Config{Directory: pairs}); err != nil || IsCrossEncoder(pairs) {
		t.Errorf("an embedding model made from a classifier: %v", err)
	}
}

func TestScoresThatAreNotFiniteAreAnError(t *testing.T) {
	t.Parallel()
	c := mustOpenCrossEncoder(t, kernels()[0], tinyRerankers["bert-pairs"])
	c.head.bias = float32(math.NaN())
	if got, err := c.Score(t.Context(), "cat", []string{"mat"}, time.Time{}); !errors.Is(err, errNotFinite) || got != nil {
		t.Errorf("%v, error %v", got, err)
	}
}
