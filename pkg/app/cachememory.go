package app

import (
	"cmp"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/sluice/sluice/pkg/config"
)

const (
	// defaultCacheMemory is what all caches together hold when nobody says, postings apart.
	defaultCacheMemory = 120 << 20
	// postingsShare is the part of the memory that postings may then hold, one in so many: an index of a million chunks is searched
	// twice as fast when those of common words fit, and what they hold is given up when nobody searches.
	postingsShare = 64
)

// cacheMemory is how many bytes each of a process's caches may hold. They are full of different things at different times, and
// each is bounded by itself, so that all together hold no more than SLUICE_CACHE_MEMORY.
type cacheMemory struct{ postings, rows, vectors, catalog, originals int64 }

func cacheMemoryOf(c config.Config) cacheMemory {
	part := cmp.Or(int64(c.CacheMemory), defaultCacheMemory) / 15
	m := cacheMemory{postings: 4 * part, rows: 4 * part, vectors: 4 * part, catalog: 2 * part, originals: part}
	if c.CacheMemory == 0 {
		m.postings = max(m.postings, shareOf(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem), postingsShare))
	}
	return m
}

// shareOf is one part in so many of the bytes that the process may use; 0 where nobody knows.
func shareOf(memory memlimit.Provider, parts int64) int64 {
	have, err := memory()
	if err != nil || have > math.MaxInt64 {
		return 0
	}
	return int64(have) / parts
}
