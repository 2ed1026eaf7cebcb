package index

import "sync"

const (
	// Minimum capacity, in hits, of new slices, and maximum capacity of slices put into the pool.
	minHitCapacity = 512
	maxPooledHits  = 4096
)

// hitsPool reuses memory for hits. A hybrid search's hits take about 100 KB, which would otherwise be most of a query's
// garbage.
var hitsPool sync.Pool

// Allocate sets Hits to n zeroed hits, using memory from the pool. Release returns the memory.
func (r *Result) Allocate(n int) {
	hits, ok := hitsPool.Get().(*[]Hit)
	if !ok || cap(*hits) < n {
		hits = new([]Hit)
		*hits = make([]Hit, 0, max(n, minHitCapacity))
	}
	*hits = (*hits)[:n]
	r.pooled, r.Hits = hits, *hits
}

// Release returns the hits' memory to the pool if Allocate took it from there. The hits must not be used afterwards,
// but their texts and terms remain valid.
func (r *Result) Release() {
	if r.pooled == nil {
		return
	}
	hits := r.pooled
	clear(*hits)
	r.pooled, r.Hits = nil, nil
	if cap(*hits) <= maxPooledHits {
		hitsPool.Put(hits)
	}
}
