package app

import (
	"cmp"
	"math"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/sluice/sluice/pkg/config"
)

const (
	// Total size of all caches in bytes if SLUICE_CACHE_MEMORY is not set. The postings cache may be larger; see
	// postingsShare.
	defaultCacheMemory = 120 << 20
	// If SLUICE_CACHE_MEMORY is not set, the postings cache gets at least 1/postingsShare of the available memory.
	// Searches in an index with a million chunks are twice as fast if the postings for common words are cached. The
	// cache is emptied when there are no queries.
	postingsShare = 64
)

// cacheMemory holds the sizes of a process's caches in bytes. They add up to SLUICE_CACHE_MEMORY if that is set.
type cacheMemory struct{ postings, rows, vectors, catalog, originals int64 }

func cacheMemoryOf(c config.Config) cacheMemory {
	part := cmp.Or(int64(c.CacheMemory), defaultCacheMemory) / 15
	m := cacheMemory{postings: 4 * part, rows: 4 * part, vectors: 4 * part, catalog: 2 * part, originals: part}
	if c.CacheMemory == 0 {
		m.postings = max(m.postings, shareOf(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem), postingsShare))
	}
	return m
}

// shareOf returns 1/parts of the process's available memory, in bytes, or 0 if that is unknown.
func shareOf(memory memlimit.Provider, parts int64) int64 {
	have, err := memory()
	if err != nil || have > math.MaxInt64 {
		return 0
	}
	return int64(have) / parts
}
