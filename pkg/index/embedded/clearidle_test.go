package embedded

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index/embedded/cache"
)

func TestCachesOfAnIdleIndexAreCleared(t *testing.T) {
	t.Parallel()
	dir, _, want := damaged(t, 5)
	x := mustOpen(t, dir, Options{})
	for round := range 2 {
		got, err := answers(t, x)
		if diff := cmp.Diff(want, got, reported); diff != "" || err != nil {
			t.Fatalf("round %d: %v (-want +got):\n%s", round, err, diff)
		}
		if given := x.ClearIdleCaches(); given != 0 || kept(x.caches.Lists) == 0 {
			t.Errorf("an index that was searched since gives up %d bytes and keeps %d", given, kept(x.caches.Lists))
		}
		if all := kept(x.caches.Lists) + kept(x.caches.Blocks) + kept(x.caches.Rows); x.ClearIdleCaches() != all {
			t.Error("the number of bytes freed differs from the number of bytes held")
		}
		for name, c := range map[string]*cache.Cache{"lists": x.caches.Lists, "blocks": x.caches.Blocks, "rows": x.caches.Rows} {
			if items, bytes := c.Usage(); items != 0 || bytes != 0 {
				t.Errorf("%d bytes of %s are kept in memory while nothing is searched", bytes, name)
			}
		}
	}
}

// kept returns the number of bytes in a cache.
func kept(c *cache.Cache) int64 {
	_, bytes := c.Usage()
	return bytes
}
