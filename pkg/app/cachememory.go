package app

import "github.com/sluice/sluice/pkg/config"

// cacheMemory is how many bytes each of a process's caches may hold. They are full of different things at different times, and
// each is bounded by itself, so that all together hold no more than SLUICE_CACHE_MEMORY.
type cacheMemory struct{ postings, rows, vectors, catalog, originals int64 }

func cacheMemoryOf(c config.Config) cacheMemory {
	part := int64(c.CacheMemory) / 15
	return cacheMemory{postings: 4 * part, rows: 4 * part, vectors: 4 * part, catalog: 2 * part, originals: part}
}
