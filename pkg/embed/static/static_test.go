package static

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/embed"
)

func tableOf(t testing.TB) *table {
	t.Helper()
	loaded, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// entriesOf returns the vocabulary's entries by id.
func entriesOf(t testing.TB) []string {
	t.Helper()
	_, lines, found := strings.Cut(artefact[len(artefact)-240_000:], "[PAD]\n")
	if !found {
		t.Fatal("the vocabulary does not begin with [PAD]")
	}
	return strings.Split("[PAD]\n"+strings.TrimSuffix(lines, "\n"), "\n")
}

func embedOne(t testing.TB, text string) []float32 {
	t.Helper()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(t.Context(), []string{text}, embed.Passage)
	if err != nil {
		t.Fatal(err)
	}
	return vectors[0]
}

func dot(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestTheArtefactHasTheMeasuredHash(t *testing.T) {
	t.Parallel()
	sums, err := os.ReadFile("model.bin.sha256")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(artefact))
	if want, _, _ := bytes.Cut(sums, []byte(" ")); hex.EncodeToString(sum[:]) != string(want) {
		t.Errorf("model.bin has sha256 %x, model.bin.sha256 says %s: a new table needs a new ID, too", sum, want)
	}
}

func TestVectorsHaveUnitLengthAndTheModelsDimensions(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a", "How do I restart the server?", strings.Repeat("a long text about databases. ", 5_000)} {
		v := embedOne(t, text)
		if len(v) != Dimensions {
			t.Fatalf("%d dimensions, want %d", len(v), Dimensions)
		}
		if length := math.Sqrt(dot(v, v)); math.Abs(length-1) > 1e-5 {
			t.Errorf("a vector of length %g, want 1, for %.30q", length, text)
		}
	}
}

func TestTextsWithoutKnownTokensHaveZeroVectors(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", " \n\t", "\x00\u200b", strings.Repeat("q", maxWordRunes+1)} {
		if v := embedOne(t, text); dot(v, v) != 0 {
			t.Errorf("a vector that is not zero for %q", text)
		}
	}
}

func TestRelatedTextsWithoutCommonWordsAreSimilar(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ query, near, far string }{
		"medicine": {"heart attack", "Myocardial infarction damages the cardiac muscle.", "The engine of the car needs new oil."},
		"software": {"delete a file", "rm removes documents from the directory", "the committee elected a chairman"},
		"animals":  {"puppy", "dogs and other canine pets", "bank loans and mortgages"},
		"weather":  {"will it rain tomorrow", "precipitation and storms are forecast", "prime numbers have two divisors"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			query := embedOne(t, c.query)
			near, far := dot(query, embedOne(t, c.near)), dot(query, embedOne(t, c.far))
			if near < far+0.1 {
				t.Errorf("%q: %.3f to %q, %.3f to %q", c.query, near, c.near, far, c.far)
			}
		})
	}
}

func TestOrderIsKeptAndCancellationStops(t *testing.T) {
	t.Parallel()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"first text", "", "another subject"}
	vectors, err := e.Embed(t.Context(), texts, embed.Query)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		if want := embedOne(t, text); math.Abs(dot(vectors[i], want)-dot(want, want)) > 1e-6 {
			t.Errorf("vector %d is not that of %q", i, text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Embed(ctx, texts, embed.Query); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestCoverageSeparatesEnglishFromOtherLanguages(t *testing.T) {
	t.Parallel()
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text        string
		least, most float64
	}{
		"English":    {"The committee published its report on renewable energy last week.", 0.8, 1},
		"technical":  {"How do I set the size of the database connection pool?", 0.8, 1},
		"German":     {"Die Versicherungsgesellschaft überprüft die eingereichten Unterlagen sorgfältig.", 0, 0.4},
		"Romanian":   {"Guvernul a hotărât să mărească cheltuielile pentru învățământ.", 0, 0.5},
		"Russian":    {"Правительство опубликовало отчёт о возобновляемой энергии.", 0, 0.1},
		"Chinese":    {"政府上周发布了关于可再生能源的报告。", 0, 0.1},
		"Hindi":      {"सरकार ने नवीकरणीय ऊर्जा पर रिपोर्ट प्रकाशित की।", 0, 0.1},
		"no letters": {"?! ...", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := e.Coverage(c.text); got < c.least || got > c.most {
				t.Errorf("coverage %.2f of %q, want %.2f to %.2f", got, c.text, c.least, c.most)
			}
		})
	}
}

func TestDamagedArtefactsAreRefused(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"empty":              "",
		"another magic":      "x" + artefact[1:],
		"cut in the vectors": artefact[:len(artefact)/2],
		"cut in the words":   artefact[:len(artefact)-1000],
		"other dimensions":   artefact[:12] + "\x00\x02\x00\x00" + artefact[16:],
		"absurd entries":     artefact[:8] + "\xff\xff\xff\xff" + artefact[12:],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := parse(data); !errors.Is(err, errMalformed) {
				t.Errorf("error %v, want errMalformed", err)
			}
		})
	}
}

const paragraph = `The write-ahead log records every change before it reaches the data files, so that a crash loses nothing
that was committed. At start the server replays the log from the last checkpoint. Checkpoints bound the time that this takes:
a longer interval means fewer writes in normal operation and a slower recovery. Archiving the segments of the log makes it
possible to restore the database to any moment since the last base backup, and to feed standby servers, which apply the same
records and can answer queries meanwhile. Monitoring should watch the size of the log directory, because a failing archive
command keeps segments from being recycled until the disk is full. `

func BenchmarkEmbedPassage(b *testing.B) { benchmarkEmbed(b, paragraph) }

func BenchmarkEmbedQuery(b *testing.B) {
	benchmarkEmbed(b, "How can I restore a database after a crash?")
}

func benchmarkEmbed(b *testing.B, text string) {
	e, err := New()
	if err != nil {
		b.Fatal(err)
	}
	texts := []string{text}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Embed(b.Context(), texts, embed.Passage); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(e.table.words.appendPieces(nil, text, maxTokens))), "tokens/op")
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := parse(artefact); err != nil {
			b.Fatal(err)
		}
	}
}
