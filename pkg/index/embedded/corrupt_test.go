package embedded

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
)

// damaged fills a new index with n batches of rows and closes it. It returns the directory, the files a test may
// damage, and what searches return while the files are intact.
func damaged(t *testing.T, n int) (dir string, files []string, want []index.Result) {
	t.Helper()
	dir = t.TempDir()
	x := mustOpen(t, dir, Options{})
	for g := range uint64(n) {
		var rows []index.Row
		for i := range crashBatch {
			rows = append(rows, crashRow(string(rune('a'+g%26)), g, i))
		}
		if err := x.Write(t.Context(), crashSpace, rows); err != nil {
			t.Fatal(err)
		}
	}
	want, err := answers(t, x)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if files, err = filepath.Glob(filepath.Join(dir, "crash", "*", "*")); err != nil || len(files) < 2 {
		t.Fatalf("files %v: %v", files, err)
	}
	return dir, files, want
}

// answers returns the results of three searches: by words, by vector, and by both with a filter.
func answers(t *testing.T, x *Index) ([]index.Result, error) {
	t.Helper()
	var out []index.Result
	for _, q := range []index.Query{
		{Text: "common " + crashWord("b", 1, 3), Limit: 10},
		{Vector: crashRow("a", 0, 7).Vector, Limit: 10},
		{Text: "words", Vector: crashRow("a", 0, 7).Vector, Limit: 1000, Filter: index.Filter{DatasourceIDs: []string{"c"}}},
	} {
		r, err := x.Search(t.Context(), crashSpace, q)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func TestADamagedFileNeverGivesAWrongResult(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	if *everywhereIVF {
		t.Skip("damaged cells are made anew, in other files")
	}
	dir, files, want := damaged(t, 12)
	rng := rand.New(rand.NewPCG(3, 4))
	detected := 0
	for round := range 150 {
		path := files[round%len(files)]
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) == 0 {
			continue
		}
		at, flip := rng.IntN(len(data)), byte(1+rng.IntN(255))
		data[at] ^= flip
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := answers(t, x)
		if err != nil {
			detected++
		} else if diff := cmp.Diff(want, got, reported); diff != "" {
			t.Errorf("byte %d of %s damaged (-want +got):\n%s", at, filepath.Base(path), diff)
		}
		_ = x.Close()
		data[at] ^= flip
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if detected == 0 {
		t.Error("no damage was detected at all")
	}
}

func TestDamageIsReportedAsCorrupt(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(files map[string]string) error{
		"a vector is changed": func(f map[string]string) error { return overwrite(f[vectorFile], 20, "damage") },
		"the vector file is cut": func(f map[string]string) error {
			return os.Truncate(f[vectorFile], 100)
		},
		"the vector file is missing":        func(f map[string]string) error { return os.Remove(f[vectorFile]) },
		"a place is changed":                func(f map[string]string) error { return overwrite(f[locationFile], 20, "damage") },
		"the places are cut":                func(f map[string]string) error { return os.Truncate(f[locationFile], 100) },
		"the places are missing":            func(f map[string]string) error { return os.Remove(f[locationFile]) },
		"the database is not one":           func(f map[string]string) error { return overwrite(f[databaseFile], 0, "not a database") },
		"the database is empty":             func(f map[string]string) error { return os.Truncate(f[databaseFile], 0) },
		"the database is cut":               func(f map[string]string) error { return os.Truncate(f[databaseFile], 8192) },
		"the vector file belongs elsewhere": func(f map[string]string) error { return swapRecords(f[vectorFile]) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, paths, _ := damaged(t, 3)
			files := make(map[string]string)
			for _, p := range paths {
				files[filepath.Base(p)] = p
			}
			if err := spoil(files); err != nil {
				t.Fatal(err)
			}
			x := mustOpen(t, dir, Options{})
			if _, err := answers(t, x); !errors.Is(err, index.ErrCorrupt) {
				t.Errorf("error %v, want ErrCorrupt", err)
			}
			if err := x.DropDatastore(t.Context(), crashSpace.DatastoreID); err != nil {
				t.Errorf("a corrupt datastore cannot be dropped: %v", err)
			}
			if err := x.Write(t.Context(), crashSpace, []index.Row{crashRow("a", 1, 1)}); err != nil {
				t.Errorf("a dropped datastore cannot be rebuilt: %v", err)
			}
		})
	}
}

func overwrite(path string, at int64, with string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("opening what to damage: %w", err)
	}
	_, err = f.WriteAt([]byte(with), at)
	return errors.Join(err, f.Close())
}

// swapRecords swaps the first two vectors and their checksums, so each record is intact but in the wrong place.
func swapRecords(path string) error {
	const record = crashDimensions*4 + 4
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	first := string(data[:record])
	copy(data, data[record:2*record])
	copy(data[record:], first)
	return os.WriteFile(path, data, 0o600)
}
