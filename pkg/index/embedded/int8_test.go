package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// coded fills a new index with enough rows to need codes, and closes it. It returns the index directory, the space's
// directory, a search that uses the codes, and the search's expected result.
func coded(t *testing.T) (dir, folder string, search func(x *Index) (index.Result, error), want index.Result) {
	t.Helper()
	if *everywhereIVF {
		t.Skip("it names files that are made more often when few rows have codes")
	}
	dir = t.TempDir()
	x := mustOpen(t, dir, Options{})
	for from := 0; from < exactUpTo+1024; from += 2048 {
		var rows []index.Row
		for i := range 2048 {
			r := crashRow("a", 1, from+i)
			r.Text, r.Context = fmt.Sprint("row", from+i), ""
			rows = append(rows, r)
		}
		if err := x.Write(t.Context(), crashSpace, rows); err != nil {
			t.Fatal(err)
		}
	}
	search = func(x *Index) (index.Result, error) {
		return x.Search(t.Context(), crashSpace, index.Query{Vector: crashRow("a", 1, 77).Vector, Limit: 5})
	}
	want, err := search(x)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keyOf(crashSpace)
	if err := errorsOf(err, x.Close()); err != nil {
		t.Fatal(err)
	}
	return dir, x.path(key), search, want
}

func TestADirectoryWithoutInt8CodesIsUpgraded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	dir, folder, search, want := coded(t)
	for name, leave := range map[string]func(path string) error{
		"that has no file of them":              os.Remove,
		"in which rows were written after them": func(path string) error { return os.Truncate(path, 4096) },
	} {
		t.Run(name, func(t *testing.T) {
			changeState(t, folder, func(body map[string]any) { delete(body, "fine") })
			found, err := filepath.Glob(filepath.Join(folder, "codes-*.bytes"))
			if err != nil || len(found) != 1 {
				t.Fatalf("files of fine codes %v: %v", found, err)
			}
			if err := leave(found[0]); err != nil {
				t.Fatal(err)
			}
			x := mustOpen(t, dir, Options{})
			for _, when := range []string{"before they are made", "after", "opened again"} {
				got, err := search(x)
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				if diff := cmp.Diff(want, got, reported); diff != "" {
					t.Errorf("%s (-want +got):\n%s", when, diff)
				}
				if err := x.mergeAll(t.Context(), crashSpace); err != nil {
					t.Fatal(err)
				}
				if when == "after" {
					if err := errorsOf(x.Check(t.Context(), crashSpace), x.Close()); err != nil {
						t.Error(err)
					}
					x = mustOpen(t, dir, Options{})
				}
			}
			if err := x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
				if !s.Snapshot().HasCodes() {
					t.Error("no fine codes were made")
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			left, err := filepath.Glob(filepath.Join(folder, "codes-*"))
			if err != nil || len(left) != 2 {
				t.Errorf("files of codes %v, want two: %v", left, err)
			}
		})
	}
}

func TestDamageOfCodesIsReportedAsCorrupt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	dir, folder, search, _ := coded(t)
	for _, pattern := range []string{"codes-*.bits", "codes-*.bytes"} {
		files, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil || len(files) != 1 {
			t.Fatalf("files of codes %v: %v", files, err)
		}
		path := files[0]
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, spoil := range map[string]func() error{
			"changed": func() error { // every group of 64 slots: a search may read any of them
				data := append([]byte(nil), kept...)
				for at := 20; at < len(data); at += 20 {
					data[at] ^= 0x55
				}
				return os.WriteFile(path, data, 0o600)
			},
			"cut":     func() error { return os.Truncate(path, 100) },
			"missing": func() error { return os.Remove(path) },
		} {
			if err := spoil(); err != nil {
				t.Fatal(err)
			}
			x := mustOpen(t, dir, Options{})
			if _, err := search(x); !errors.Is(err, index.ErrCorrupt) {
				t.Errorf("%s is %s: a search says %v", filepath.Base(path), name, err)
			}
			if err := x.Check(t.Context(), crashSpace); !errors.Is(err, index.ErrCorrupt) {
				t.Errorf("%s is %s: a check says %v", filepath.Base(path), name, err)
			}
			if err := errorsOf(x.Close(), os.WriteFile(path, kept, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	x := mustOpen(t, dir, Options{})
	if err := x.Check(t.Context(), crashSpace); err != nil {
		t.Errorf("put in order again: %v", err)
	}
}
