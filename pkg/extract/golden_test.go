package extract_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// TestGolden reads a sample document of every format and compares its structure and text with a golden file.
func TestGolden(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(extracttest.Documents, "*.*"))
	if err != nil || len(files) < 12 {
		t.Fatalf("found %d sample documents, error %v; make them with go run ./testdata/gen", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			doc, err := readtest.Parse(t, filepath.Base(file), data)
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			got := readtest.Render(doc)
			golden := filepath.Join("testdata", "golden", filepath.Base(file)+".txt")
			if *readtest.Update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the document is read differently (-want +got):\n%s", diff)
			}
		})
	}
}
