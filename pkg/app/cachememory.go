package app

import (
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/sluice/sluice/pkg/config"
)

const (
	// leastCacheMemory is what caches may hold on a small machine, and where the machine does not tell what it has.
	leastCacheMemory = 120 << 20
	// cacheShare is the part of the memory that caches may hold, one in so many.
	cacheShare = 32
)

// cacheMemory is how many bytes each of a process's caches may hold. They are full of different things at different times, and
// each is bounded by itself, so that all together hold no more than SLUICE_CACHE_MEMORY.
type cacheMemory struct{ postings, rows, vectors, catalog, originals int64 }

func cacheMemoryOf(c config.Config) cacheMemory {
	all := int64(c.CacheMemory)
	if all == 0 {
		all = defaultCacheMemory(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem))
	}
	part := all / 15
	return cacheMemory{postings: 4 * part, rows: 4 * part, vectors: 4 * part, catalog: 2 * part, originals: part}
}

// defaultCacheMemory is what caches may hold when nobody says, by the bytes that the process may use.
func defaultCacheMemory(memory memlimit.Provider) int64 {
	have, err := memory()
	if err != nil || have > math.MaxInt64 {
		return leastCacheMemory
	}
	return max(leastCacheMemory, int64(have)/cacheShare)
}
