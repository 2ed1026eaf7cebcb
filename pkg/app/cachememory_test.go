package app

import (
	"errors"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/sluice/sluice/pkg/config"
)

func TestPostingsHaveAShareOfTheMemory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		memory memlimit.Provider
		want   int64
	}{
		{memlimit.Limit(24 << 30), 384 << 20},
		{memlimit.Limit(1 << 63), 0}, // more than any machine has
		{func() (uint64, error) { return 0, errors.New("nobody knows") }, 0},
	} {
		if got := shareOf(c.memory, postingsShare); got != c.want {
			t.Errorf("%d bytes, want %d", got, c.want)
		}
	}
	const mb = 1 << 20
	if m, want := cacheMemoryOf(config.Config{CacheMemory: 15 * mb}), (cacheMemory{4 * mb, 4 * mb, 4 * mb, 2 * mb, mb}); m != want {
		t.Errorf("of 15 MiB: %+v", m)
	}
	m := cacheMemoryOf(config.Config{})
	if m.postings < 32*mb {
		t.Errorf("when nobody says postings have %d bytes", m.postings)
	}
	if m.postings = 0; m != (cacheMemory{0, 32 * mb, 32 * mb, 16 * mb, 8 * mb}) {
		t.Errorf("when nobody says: %+v", m)
	}
}
