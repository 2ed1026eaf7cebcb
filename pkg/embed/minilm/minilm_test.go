package minilm

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/embed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheEmbeddedFilesAreTheConvertedOnes(t *testing.T) {
	t.Parallel()
	sums, err := os.ReadFile("model/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for line := range strings.Lines(string(sums)) {
		want, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		sum := sha256.Sum256([]byte(files()[name]))
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s has the SHA-256 %s, want %s", name, got, want)
		}
		listed++
	}
	if listed != len(files()) {
		t.Errorf("SHA256SUMS lists %d files, want %d", listed, len(files()))
	}
}

// reference is a text with its vector from the published model with 32-bit floats, quantised to 8-bit integers; see
// testdata/reference.py.
type reference struct {
	Text   string
	Vector string // base64
}

func TestVectorsAreCloseToThoseOfThePublishedModel(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/reference.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	n, sum := 0, 0.0
	for lines.Scan() {
		var r reference
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		want, err := base64.StdEncoding.DecodeString(r.Vector)
		if err != nil || len(want) != Dimensions {
			t.Fatalf("the vector of %q has %d bytes: %v", r.Text, len(want), err)
		}
		got := mustEmbed(t, r.Text)
		var both, ours, theirs float64
		for i, v := range got {
			w := float64(int8(want[i]))
			both, ours, theirs = both+float64(v)*w, ours+float64(v)*float64(v), theirs+w*w
		}
		similarity := both / math.Sqrt(ours*theirs)
		if similarity < 0.998 {
			t.Errorf("similarity %.5f to the published model's vector of %.60q", similarity, r.Text)
		}
		n, sum = n+1, sum+similarity
	}
	if err := lines.Err(); err != nil || n < 20 {
		t.Fatalf("%d reference vectors: %v", n, err)
	}
	t.Logf("mean similarity %.6f", sum/float64(n))
}

func mustEmbed(tb testing.TB, text string) []float32 {
	tb.Helper()
	vectors, err := New().Embed(tb.Context(), []string{text}, embed.Passage)
	if err != nil {
		tb.Fatal(err)
	}
	if len(vectors) != 1 || len(vectors[0]) != New().Model().Dimensions {
		tb.Fatalf("%d vectors for one text", len(vectors))
	}
	return vectors[0]
}

func TestRelatedTextsAreNearerThanUnrelatedOnes(t *testing.T) {
	t.Parallel()
	query := mustEmbed(t, "How long may a customer wait before returning a purchase?")
	related := mustEmbed(t, "Goods can be sent back within thirty days of delivery.")
	unrelated := mustEmbed(t, "The turbine's bearings are lubricated every month.")
	if near, far := dot(query, related), dot(query, unrelated); near < far+0.2 {
		t.Errorf("similarity %.3f to the related text, %.3f to the unrelated one", near, far)
	}
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestCoverageSeparatesEnglishFromOtherLanguages(t *testing.T) {
	t.Parallel()
	for text, english := range map[string]bool{
		"What is the notice period for tenants?":                      true,
		"Wie lange ist die Kündigungsfrist für Mieter von Wohnungen?": false,
		"借家人の解約予告期間はどのくらいですか":                                         false,
	} {
		if c := New().Coverage(text); english != (c > 0.9) {
			t.Errorf("coverage %.2f of %q", c, text)
		}
	}
}
