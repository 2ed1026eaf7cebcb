package app

import (
	"errors"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/sluice/sluice/pkg/config"
)

func TestCachesHaveAShareOfTheMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		memory memlimit.Provider
		want   int64
	}{
		{memlimit.Limit(24 << 30), 768 << 20},
		{memlimit.Limit(2 << 30), 120 << 20},
		{memlimit.Limit(1 << 63), 120 << 20}, // no machine has that
		{func() (uint64, error) { return 0, errors.New("nobody knows") }, 120 << 20},
	} {
		if got := defaultCacheMemory(c.memory); got != c.want {
			t.Errorf("%d bytes, want %d", got, c.want)
		}
	}
	if m := cacheMemoryOf(config.Config{CacheMemory: 15 << 20}); m.postings != 4<<20 || m.originals != 1<<20 {
		t.Errorf("of 15 MiB: %+v", m)
	}
	if m := cacheMemoryOf(config.Config{}); m.postings < leastCacheMemory/15*4 {
		t.Errorf("when nobody says: %+v", m)
	}
}
