package transformer

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/embed/transformer/tinymodel"
)

var write = flag.String("write", "", "a directory to write the tests' tiny models to, for testdata/reference.py; see testdata/update.sh")

var tinyModels = map[string]tinymodel.Model{
	"mean":    {Kind: "bert"},
	"first":   {Kind: "bert", Format: "BF16", First: true},
	"half":    {Kind: "bert", Format: "F16"},
	"unigram": {Kind: "xlm-roberta"},
}

var tinyRerankers = map[string]tinymodel.Model{
	"bert-pairs":        {Kind: "bert", Pairs: true},
	"xlm-roberta-pairs": {Kind: "xlm-roberta", Pairs: true},
}

// tinyDirectory writes the model to a new directory and returns its path.
func tinyDirectory(tb testing.TB, m tinymodel.Model) string {
	tb.Helper()
	directory := tb.TempDir()
	m.Write(tb, directory)
	return directory
}

func TestModelsForTheReferenceAreWritten(t *testing.T) {
	if *write == "" {
		t.Skip("no directory is given with -write")
	}
	for _, models := range []map[string]tinymodel.Model{tinyModels, tinyRerankers} {
		for name, m := range models {
			m.Write(t, filepath.Join(*write, name))
		}
	}
}

// expectation holds a text's tokens and vector according to the reference implementation.
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

// requireEqual requires that e's tokens and vectors match the reference implementation's. It returns the lowest
// similarity between two corresponding vectors.
func requireEqual(t *testing.T, e *Embedder, want []expectation) (worst float64) {
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
		if len(w.IDs) == e.tokenizer.special() { // here, a text without tokens has a zero vector
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
	for name, m := range tinyModels {
		for _, kn := range kernels() {
			t.Run(name+"/"+kn.name, func(t *testing.T) {
				t.Parallel()
				e, err := open(Config{Directory: tinyDirectory(t, m)}, kn)
				if err != nil {
					t.Fatal(err)
				}
				requireEqual(t, e, expectations(t, filepath.Join("testdata", name+".jsonl")))
			})
		}
	}
}
