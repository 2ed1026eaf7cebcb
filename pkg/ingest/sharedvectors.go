package ingest

import (
	"container/list"
	"sync"
)

// VectorCache is an LRU cache of vectors, so that a text repeated across a datastore's documents, such as a page
// footer, is embedded only once. Entries are keyed by a hash of the text. They aren't shared between datastores,
// because ingestion speed would then reveal other tenants' content. VectorCache is safe for concurrent use.
type VectorCache struct {
	limit   int
	mu      sync.Mutex
	bytes   int
	order   *list.List // of *cachedVector, most recently used first
	vectors map[vectorKey]*list.Element
}

type vectorKey struct {
	datastore, model string
	text             textHash
}

type cachedVector struct {
	key    vectorKey
	vector []float32
}

// size returns an entry's memory use in bytes, including the map and list overhead.
func (v *cachedVector) size() int { return 4*len(v.vector) + 256 }

// NewVectorCache returns an empty cache that holds at most `limit` bytes. 32 MiB is enough for about 20,000 vectors
// with 384 dimensions, or 2,700 with 3,072.
func NewVectorCache(limit int) *VectorCache {
	return &VectorCache{limit: limit, order: list.New(), vectors: make(map[vectorKey]*list.Element)}
}

// get returns a text's vector, or nil if it is not cached. Callers must not change the vector.
func (r *VectorCache) get(key vectorKey) []float32 {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.vectors[key]
	if !ok {
		return nil
	}
	r.order.MoveToFront(e)
	return e.Value.(*cachedVector).vector
}

// put stores a text's vector. Callers must not change the vector afterwards.
func (r *VectorCache) put(key vectorKey, vector []float32) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.vectors[key]; ok {
		return
	}
	v := &cachedVector{key, vector}
	r.vectors[key] = r.order.PushFront(v)
	for r.bytes += v.size(); r.bytes > r.limit; {
		oldest := r.order.Remove(r.order.Back()).(*cachedVector)
		delete(r.vectors, oldest.key)
		r.bytes -= oldest.size()
	}
}
