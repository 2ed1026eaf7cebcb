package extract_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/extract/extracttest"
	"github.com/sluice/sluice/pkg/extract/format"
	"github.com/sluice/sluice/pkg/extract/readtest"
)

// TestDamagedDocumentsDoNoHarm has children read truncated and damaged copies of the sample documents. Each must yield
// text or an error with a cause, without panics, dead children or leftover temporary files. "make torture-extract"
// tries more copies.
func TestDamagedDocumentsDoNoHarm(t *testing.T) {
	t.Parallel()
	damage := extracttest.Damage{Seed: 7, Truncations: 6, Flips: 2, Numbers: 2, Inside: 3} // make torture-extract does more
	if testing.Short() {
		damage = extracttest.Damage{Seed: 7, Truncations: 4, Flips: 1, Numbers: 1, Inside: 2}
	}
	files, err := filepath.Glob(filepath.Join(extracttest.Documents, "*.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d sample documents, error %v", len(files), err)
	}
	temp := t.TempDir()
	x := extract.NewTestExtractor(t, extract.Options{Concurrency: 2, TempDir: temp, CacheDir: extracttest.Compiled, Timeout: time.Minute})
	t.Run("documents", func(t *testing.T) {
		for _, file := range files {
			t.Run(filepath.Base(file), func(t *testing.T) {
				t.Parallel()
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				for what, damaged := range damage.Cases(filepath.Base(file), data) {
					doc, err := x.Extract(t.Context(), extract.Request{Reader: bytes.NewReader(damaged), Name: filepath.Base(file)})
					switch kind := format.KindOf(err); {
					case err == nil:
						readtest.Blocks(t, doc)
					case what == "whole", kind == "", kind == format.Resources, strings.Contains(err.Error(), "panic: "):
						t.Errorf("%s: kind %q, error %.2000v", what, kind, err)
					}
				}
			})
		}
	})
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("files are left: %v, error %v", left, err)
	}
}
