package transformer

import (
	"fmt"
	"math"
	"testing"

	"github.com/sluice/sluice/pkg/embed"
)

// vocabularyOf returns an embedder whose vocabulary has these words. If chinese is set, the vocabulary also has as many
// ideographs as a Chinese model's.
func vocabularyOf(t *testing.T, chinese bool, words ...string) *Embedder {
	t.Helper()
	ids := map[string]int32{}
	add := func(word string) { ids[word] = int32(len(ids)) }
	for _, word := range append([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "中"}, words...) {
		add(word)
	}
	for c := 'a'; c <= 'z'; c++ {
		add(string(c))
		add("##" + string(c))
	}
	for c := rune(0x5000); chinese && c < 0x5000+minIdeographs; c++ {
		add(string(c))
	}
	w, err := newWordPiece(ids, "[UNK]", "##", 100)
	if err != nil {
		t.Fatal(err)
	}
	w.ideographs, w.lower = true, true
	return &Embedder{tokenizer: &tokenizer{segmenter: w, before: []int32{2}, after: []int32{3}}, maxTokens: 40}
}

func TestCoverageReflectsTheVocabulary(t *testing.T) {
	t.Parallel()
	words := []string{"water", "pump", "##ing", "##house", "mend", ","}
	for name, test := range map[string]struct {
		chinese bool
		text    string
		want    float64
	}{
		"words that are known":                    {false, "Mend pump", 1},
		"words of known parts":                    {false, "pumping waterhouse", 0.4},
		"whole words beside one of known parts":   {false, "mend water pumping", (1.3*9 + 0.4*7) / 16},
		"a word that is spelt":                    {false, "water pozo", 1.3 * 5 / 9},
		"a word of a part and letters":            {false, "pumpade", 0},
		"a script that nobody knows":              {false, "насос", 0},
		"a known ideograph of an English model":   {false, "中", 0},
		"a known ideograph of a Chinese model":    {true, "中", 1},
		"an unknown ideograph of a Chinese model": {true, "国", 0},
		"nothing":                 {false, "", 1},
		"signs and letters alone": {false, "a, b", 1},
		"a text that is longer than the model has": {false, fmt.Sprintf("%0200d", 0), 0},
	} {
		if got := vocabularyOf(t, test.chinese, words...).Coverage(test.text); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestCoverageOfUnigramsIsOfKnownCharacters(t *testing.T) {
	t.Parallel()
	e := mustOpen(t, Config{}, tinyModels["unigram"], nil)
	for text, want := range map[string]float64{"the cat": 1, "xyz qq": 1, "": 1, "жж": 0, "the жж": 1.3 * 3 / 5} {
		if got := e.Coverage(text); math.Abs(got-want) > 1e-9 {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestCoverageIsAvailableThroughTheCache(t *testing.T) {
	t.Parallel()
	e := mustOpen(t, Config{}, tinyModels["mean"], nil)
	if got := embed.Coverage(embed.Cached(e, 1), "жжжж"); got != 0 {
		t.Errorf("%v", got)
	}
}
