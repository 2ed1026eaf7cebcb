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
		if kept := x.cache.size + x.blocks.size + x.rows.size; x.Rest() != kept {
			t.Error("what was given up is not what was kept")
		}
		for name, c := range map[string]*cache{"lists": x.cache, "blocks": x.blocks, "rows": x.rows} {
			if c.size != 0 || len(c.items) != 0 || c.order.Len() != 0 {
				t.Errorf("%d bytes of %s are kept in memory while nothing is searched", c.size, name)
			}
		}
	}
}
