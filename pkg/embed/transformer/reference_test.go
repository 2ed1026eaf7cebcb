package transformer

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/embed"
)

// TestARealModelAgreesWithItsReference runs a model that is too large to lie here. SLUICE_TEST_MODEL names its directory,
// SLUICE_TEST_MODEL_REFERENCE a file of lines {"text": …, "ids": […], "vector": […]} that testdata/reference.py writes.
func TestARealModelAgreesWithItsReference(t *testing.T) {
	t.Parallel()
	directory, reference := os.Getenv("SLUICE_TEST_MODEL"), os.Getenv("SLUICE_TEST_MODEL_REFERENCE")
	if directory == "" || reference == "" {
		t.Skip("SLUICE_TEST_MODEL and SLUICE_TEST_MODEL_REFERENCE name no model")
	}
	file, err := os.Open(reference)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	e, err := Open(Config{Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, %s", e.Model().ID, e.Kernel())
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	texts, worst := 0, 1.0
	for ; lines.Scan(); texts++ {
		var want struct {
			Text   string
			IDs    []int32
			Vector []float32
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if ids := e.tokenizer.tokens(want.Text, e.maxTokens); !slices.Equal(ids, want.IDs) {
			t.Errorf("tokens of %.60q:\n%v, want\n%v", want.Text, ids, want.IDs)
		}
		if len(want.Vector) == 0 || len(want.IDs) == e.tokenizer.special() { // a text without a token has no vector here
			continue
		}
		vectors, err := e.Embed(t.Context(), []string{want.Text}, embed.Passage)
		if err != nil {
			t.Fatal(err)
		}
		similarity := cosine(vectors[0], want.Vector)
		worst = min(worst, similarity)
		if similarity < 0.99999 {
			t.Errorf("similarity %v to the reference of %.60q", similarity, want.Text)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d texts, similarity at least %.8f", texts, worst)
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}
