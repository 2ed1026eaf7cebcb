package corpus_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/tools/benchpipelines/corpus"
)

func TestAHundredDocumentsHaveTheirSharesAndAreTheSameEachTime(t *testing.T) {
	t.Parallel()
	first, second := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	for _, dir := range []string{first, second} {
		if err := corpus.Write(dir, 100); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, e := range entries {
		kinds[filepath.Ext(e.Name())]++
		a, errA := os.ReadFile(filepath.Join(first, e.Name()))
		b, errB := os.ReadFile(filepath.Join(second, e.Name()))
		if errA != nil || errB != nil || len(a) == 0 || !bytes.Equal(a, b) {
			t.Errorf("%s: %d and %d bytes, not the same: %v, %v", e.Name(), len(a), len(b), errA, errB)
		}
	}
	want := map[string]int{".pdf": 25, ".docx": 20, ".pptx": 6, ".xlsx": 6, ".html": 15, ".md": 12, ".txt": 10, ".csv": 3, ".json": 3}
	if diff := gocmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

func TestMain(m *testing.M) {
	extract.RunChildIfAsked()
	os.Exit(m.Run())
}

// TestDocumentsAreRead is needed because a pipeline that can't read the documents would appear to be the fastest.
func TestDocumentsAreRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := corpus.Write(dir, 40); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	x := extract.New(extract.Options{Log: slog.New(slog.DiscardHandler)})
	defer x.Close()
	for _, path := range files {
		doc, err := x.Extract(t.Context(), extract.Request{Path: path, Name: filepath.Base(path)})
		if err != nil {
			t.Errorf("%s: %v", filepath.Base(path), err)
			continue
		}
		words := 0
		for _, b := range doc.Blocks {
			words += len(strings.Fields(b.Text))
		}
		if words < 80 {
			t.Errorf("%s: %d words", filepath.Base(path), words)
		}
	}
}
