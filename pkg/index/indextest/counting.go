package indextest

import (
	"cmp"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
)

func (s *suite) countTests() map[string]func(*testing.T) {
	return map[string]func(*testing.T){
		"the rows of one generation are counted, and no others": func(t *testing.T) {
			x, sp := s.open(t), space()
			if n := mustCount(t, x, sp, "ds", 1); n != 0 {
				t.Errorf("%d rows in a space that does not exist", n)
			}
			mustWrite(t, x, sp, row("ds", 1, 0, "a"), row("ds", 1, 1, "b"), row("ds", 2, 0, "c"), row("other", 1, 0, "d"))
			for _, c := range []struct {
				datasource string
				generation uint64
				want       int64
			}{{"ds", 1, 2}, {"ds", 2, 1}, {"ds", 3, 0}, {"other", 1, 1}, {"absent", 1, 0}, {"ds", math.MaxUint64, 0}} {
				if n := mustCount(t, x, sp, c.datasource, c.generation); n != c.want {
					t.Errorf("generation %d of %q has %d rows, want %d", c.generation, c.datasource, n, c.want)
				}
			}
			mustDelete(t, x, sp, index.Generations{DatasourceID: "ds", Below: 2})
			if n := mustCount(t, x, sp, "ds", 1); n != 0 {
				t.Errorf("%d rows of a generation that was removed", n)
			}
		},
		"the spaces of a datastore are those that were written": func(t *testing.T) {
			x, a := s.open(t), space()
			b, other := a, space()
			b.Model = "test:model/2"
			if got := mustSpaces(t, x, a.DatastoreID); len(got) != 0 {
				t.Errorf("spaces of a datastore that does not exist: %v", got)
			}
			for _, sp := range []index.Space{a, b, other} {
				mustWrite(t, x, sp, row("ds", 1, 0, "text"))
			}
			if diff := gocmp.Diff([]index.Space{a, b}, mustSpaces(t, x, a.DatastoreID)); diff != "" {
				t.Errorf("spaces (-want +got):\n%s", diff)
			}
			mustDrop(t, x, a.DatastoreID)
			if got := mustSpaces(t, x, a.DatastoreID); len(got) != 0 {
				t.Errorf("spaces of a datastore that was dropped: %v", got)
			}
		},
	}
}

func mustCount(t *testing.T, x index.Index, sp index.Space, datasource string, generation uint64) int64 {
	t.Helper()
	n, err := x.Count(t.Context(), sp, datasource, generation)
	if err != nil {
		t.Fatalf("counting rows: %v", err)
	}
	return n
}

// mustSpaces returns a datastore's spaces sorted by model.
func mustSpaces(t *testing.T, x index.Index, datastore string) []index.Space {
	t.Helper()
	out, err := x.Spaces(t.Context(), datastore)
	if err != nil {
		t.Fatalf("listing spaces: %v", err)
	}
	slices.SortFunc(out, func(a, b index.Space) int { return cmp.Compare(a.Model, b.Model) })
	return out
}
