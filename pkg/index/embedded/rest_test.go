package embedded

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnIndexRestsWhenNothingWasSearchedForAWhile(t *testing.T) {
	t.Parallel()
	dir, _, want := damaged(t, 5)
	x := mustOpen(t, dir, Options{})
	for round := range 2 {
		got, err := answers(t, x)
		if diff := cmp.Diff(want, got, told); diff != "" || err != nil {
			t.Fatalf("round %d: %v (-want +got):\n%s", round, err, diff)
		}
		if given := x.Rest(); given != 0 || x.cache.size == 0 {
			t.Errorf("an index that was searched since gives up %d bytes and keeps %d", given, x.cache.size)
		}
		if kept := x.cache.size + x.rows.size; x.Rest() != kept {
			t.Error("what was given up is not what was kept")
		}
		if x.cache.size != 0 || x.rows.size != 0 || len(x.cache.items) != 0 || x.cache.order.Len() != 0 {
			t.Errorf("%d and %d bytes are kept in memory while nothing is searched", x.cache.size, x.rows.size)
		}
	}
}
