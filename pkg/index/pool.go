package index

import "sync"

const (
	// Minimum capacity of new slices and maximum capacity of pooled slices, in hits.
	minHitCapacity = 512
	maxPooledHits  = 4096
)

// hitsPool recycles slices of hits. A hybrid search's hits take about 100 KB. Without the pool, they would account for
// most of a query's garbage.
var hitsPool sync.Pool

// Allocate sets Hits to n zeroed hits from the pool. Call Release to return them.
func (r *Result) Allocate(n int) {
	hits, ok := hitsPool.Get().(*[]Hit)
	if !ok || cap(*hits) < n {
		hits = new([]Hit)
		*hits = make([]Hit, 0, max(n, minHitCapacity))
	}
	*hits = (*hits)[:n]
	r.pooled, r.Hits = hits, *hits
}

// Release returns the hits' memory to the pool if it came from Allocate. The hits must not be used afterwards, but
// their texts and terms stay valid.
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
