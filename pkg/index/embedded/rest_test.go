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
		if given := x.Rest(); given != 0 || kept(x.lists) == 0 {
			t.Errorf("an index that was searched since gives up %d bytes and keeps %d", given, kept(x.lists))
		}
		if all := kept(x.lists) + kept(x.blocks) + kept(x.hits); x.Rest() != all {
			t.Error("what was given up is not what was kept")
		}
		for name, c := range map[string]*cache{"lists": x.lists, "blocks": x.blocks, "rows": x.hits} {
			if items, bytes := c.held(); items != 0 || bytes != 0 {
				t.Errorf("%d bytes of %s are kept in memory while nothing is searched", bytes, name)
			}
		}
	}
}

// kept is how many bytes a cache holds.
func kept(c *cache) int64 {
	_, bytes := c.held()
	return bytes
}
