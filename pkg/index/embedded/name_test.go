package embedded

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
)

// spacesOf returns a datastore's spaces, sorted by model.
func spacesOf(t *testing.T, x *Index, datastore string) []index.Space {
	t.Helper()
	got, err := x.Spaces(t.Context(), datastore)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b index.Space) int { return cmp.Compare(a.Model, b.Model) })
	return got
}

func TestSpacesAreKnownWithTheirDimensions(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	a, b, other := crashSpace, crashSpace, crashSpace
	a.Model, b.Model, b.Dimensions, other.DatastoreID = "a/model:1", "b", 0, "other"
	plain := crashRow("d", 1, 2)
	plain.Vector = nil
	for sp, row := range map[index.Space]index.Row{a: crashRow("d", 1, 1), b: plain, other: crashRow("d", 1, 3)} {
		if err := x.Write(t.Context(), sp, []index.Row{row}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := gocmp.Diff([]index.Space{a, b}, spacesOf(t, x, a.DatastoreID)); diff != "" {
		t.Error(diff)
	}
	if got := spacesOf(t, x, "unknown"); got != nil {
		t.Errorf("a datastore that was never written has spaces %v", got)
	}

	t.Run("also where the file that says so is missing or damaged", func(t *testing.T) {
		names, err := filepath.Glob(filepath.Join(x.dir, a.DatastoreID, "*", identityFile))
		if err != nil || len(names) != 2 {
			t.Fatal(names, err)
		}
		if err := os.Remove(names[0]); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(names[1], []byte(`{"model":"another"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff([]index.Space{a, b}, spacesOf(t, x, a.DatastoreID)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("and not what a crash left before the first commit", func(t *testing.T) {
		key, err := keyOf(index.Space{DatastoreID: "begun", Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(x.path(key), 0o700); err != nil {
			t.Fatal(err)
		}
		if got := spacesOf(t, x, "begun"); got != nil {
			t.Errorf("spaces %v", got)
		}
	})
}

func TestCountCountsOneGenerationOfOneDatasource(t *testing.T) {
	t.Parallel()
	x := mustOpen(t, t.TempDir(), Options{})
	rows := []index.Row{crashRow("a", 1, 0), crashRow("a", 1, 1), crashRow("a", 2, 0), crashRow("b", 1, 0)}
	if err := x.Write(t.Context(), crashSpace, rows); err != nil {
		t.Fatal(err)
	}
	for generation, want := range map[uint64]int64{1: 2, 2: 1, 3: 0} {
		if got, err := x.Count(t.Context(), crashSpace, "a", generation); err != nil || got != want {
			t.Errorf("generation %d has %d rows, want %d: %v", generation, got, want, err)
		}
	}
	unwritten := crashSpace
	unwritten.DatastoreID = "unwritten"
	if got, err := x.Count(t.Context(), unwritten, "a", 1); err != nil || got != 0 {
		t.Errorf("a space that was never written has %d rows: %v", got, err)
	}
}
