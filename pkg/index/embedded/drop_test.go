package embedded

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// batchOf returns n rows of one generation of a datasource.
func batchOf(source string, generation uint64, n int) []index.Row {
	rows := make([]index.Row, n)
	for i := range rows {
		rows[i] = crashRow(source, generation, i)
	}
	return rows
}

func mustWrite(t *testing.T, x *Index, id index.Space, rows []index.Row) {
	t.Helper()
	if err := x.Write(t.Context(), id, rows); err != nil {
		t.Fatal(err)
	}
}

// left closes the index and lists what's still in its directory.
func left(t *testing.T, x *Index) []string {
	t.Helper()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	var out []string
	err := filepath.WalkDir(x.dir, func(path string, _ os.DirEntry, err error) error {
		if path != x.dir {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestASpaceWithoutRowsLeavesNoFiles(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(x *Index) error{
		"when everything was swept": func(x *Index) error {
			return x.DeleteGenerations(t.Context(), crashSpace, index.Generations{Below: math.MaxUint64})
		},
		"when everything up to a generation was swept": func(x *Index) error {
			return x.DeleteGenerations(t.Context(), crashSpace, index.Generations{Below: 9})
		},
		"when the last datasource was deleted": func(x *Index) error {
			return errors.Join(x.DeleteGenerations(t.Context(), crashSpace, index.Generations{DatasourceID: "a", Below: math.MaxUint64}),
				x.DeleteGenerations(t.Context(), crashSpace, index.Generations{DatasourceID: "b", Below: math.MaxUint64}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := mustOpen(t, t.TempDir(), Options{})
			mustWrite(t, x, crashSpace, batchOf("a", 8, 50))
			mustWrite(t, x, crashSpace, batchOf("b", 3, 50))
			if err := remove(x); err != nil {
				t.Fatal(err)
			}
			if files := left(t, x); len(files) > 0 {
				t.Errorf("left are %v", files)
			}
			x = mustOpen(t, x.dir, Options{})
			r, err := x.Search(t.Context(), crashSpace, index.Query{Text: "common", Limit: 10})
			if err != nil || len(r.Hits) != 0 {
				t.Errorf("%d hits: %v", len(r.Hits), err)
			}
			mustWrite(t, x, crashSpace, batchOf("a", 9, 5))
			if n, err := x.Count(t.Context(), crashSpace, "a", 9); err != nil || n != 5 {
				t.Errorf("written again it has %d rows: %v", n, err)
			}
		})
	}
}

func TestASpaceThatKeepsRowsKeepsItsFilesAndItsNeighbours(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	other := crashSpace
	other.Model = "another"
	mustWrite(t, x, crashSpace, batchOf("a", 8, 5))
	mustWrite(t, x, crashSpace, batchOf("b", 9, 5))
	mustWrite(t, x, other, batchOf("a", 8, 5))
	for _, id := range []index.Space{crashSpace, other} {
		if err := x.DeleteGenerations(t.Context(), id, index.Generations{Below: 9}); err != nil {
			t.Fatal(err)
		}
	}
	if got := spacesOf(t, x, crashSpace.DatastoreID); len(got) != 1 || got[0] != crashSpace {
		t.Errorf("left are %v", got)
	}
	if n, err := x.Count(t.Context(), crashSpace, "b", 9); err != nil || n != 5 {
		t.Errorf("%d rows: %v", n, err)
	}
}

func TestASpaceIsEmptiedWhileItIsReadAndWritten(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	const rounds, writers = 15, 3
	var searchers, all sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		searchers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := x.Search(t.Context(), crashSpace, index.Query{Text: "common", Vector: crashRow("a", 1, 1).Vector, Limit: 50}); err != nil {
					t.Errorf("searching: %v", err)
					return
				}
				if err := x.Stored(t.Context(), crashSpace, func(index.Stored) error { return nil }); err != nil {
					t.Errorf("counting: %v", err)
					return
				}
			}
		})
	}
	for w := range writers {
		all.Go(func() {
			source := string(rune('a' + w))
			for g := range uint64(rounds) {
				if err := x.Write(t.Context(), crashSpace, batchOf(source, g, 3)); err != nil {
					t.Errorf("writing: %v", err)
				}
				if n, err := x.Count(t.Context(), crashSpace, source, g); err != nil || n != 3 {
					t.Errorf("of 3 rows written %d are there: %v", n, err)
				}
				if err := x.DeleteGenerations(t.Context(), crashSpace, index.Generations{DatasourceID: source, Below: g + 1}); err != nil {
					t.Errorf("deleting: %v", err)
				}
			}
		})
	}
	all.Wait()
	close(stop)
	searchers.Wait()
	if files := left(t, x); len(files) > 0 {
		t.Errorf("left are %v", files)
	}
}

func TestARunningSearchKeepsItsFiles(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	mustWrite(t, x, crashSpace, batchOf("a", 1, 20))
	err := x.Stored(t.Context(), crashSpace, func(index.Stored) error {
		if err := x.DeleteGenerations(t.Context(), crashSpace, index.Generations{Below: math.MaxUint64}); err != nil {
			return err
		}
		if !store.Exists(filepath.Join(x.dir, crashSpace.DatastoreID)) {
			t.Error("the files are gone")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files := left(t, x); len(files) > 0 {
		t.Errorf("left are %v", files)
	}
}
