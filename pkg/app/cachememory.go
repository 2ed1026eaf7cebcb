package app

import (
	"cmp"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/sluice/sluice/pkg/config"
)

const (
	// Default size in bytes of all caches together, without the extra for postings.
	defaultCacheMemory = 120 << 20
	// Share of the memory, 1/postingsShare, added to the cache of postings by default. An index of a million chunks is
	// searched twice as fast if the postings of common words fit. The cache is emptied when there are no queries.
	postingsShare = 64
)

// cacheMemory is the size in bytes of each cache of a process. Each cache has its own bound, so that all together stay
// within SLUICE_CACHE_MEMORY.
type cacheMemory struct{ postings, rows, vectors, catalog, originals int64 }

func cacheMemoryOf(c config.Config) cacheMemory {
	part := cmp.Or(int64(c.CacheMemory), defaultCacheMemory) / 15
	m := cacheMemory{postings: 4 * part, rows: 4 * part, vectors: 4 * part, catalog: 2 * part, originals: part}
	if c.CacheMemory == 0 {
		m.postings = max(m.postings, shareOf(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem), postingsShare))
	}
	return m
}

// shareOf returns 1/parts of the memory available to the process in bytes, or 0 if that is unknown.
func shareOf(memory memlimit.Provider, parts int64) int64 {
	have, err := memory()
	if err != nil || have > math.MaxInt64 {
		return 0
	}
	return int64(have) / parts
}
