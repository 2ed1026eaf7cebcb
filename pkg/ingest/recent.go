package ingest

import (
	"container/list"
	"sync"
)

// Recent remembers vectors that were made a short while ago, so that text which many documents of a datastore share (the foot
// of every page, the same file twice) is embedded once. It knows the text by its digest alone. Datastores do not share it:
// how fast a document is ingested must not tell what is in other people's. It is safe for concurrent use.
type Recent struct {
	limit   int
	mu      sync.Mutex
	bytes   int
	order   *list.List // of recentKey and vector, the most recently used first
	vectors map[recentKey]*list.Element
}

type recentKey struct {
	datastore, model string
	text             textHash
}

type recentVector struct {
	key    recentKey
	vector []float32
}

// size is what an entry takes, with what leads to it.
func (v *recentVector) size() int { return 4*len(v.vector) + 256 }

// NewRecent returns an empty memory of so many bytes at most: 32 MiB hold the vectors of some 20,000 chunks at 384 dimensions, of
// 2,700 at 3,072.
func NewRecent(limit int) *Recent {
	return &Recent{limit: limit, order: list.New(), vectors: make(map[recentKey]*list.Element)}
}

// get returns the vector of a text, nil if it is not known. It is not to be changed.
func (r *Recent) get(key recentKey) []float32 {
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
	return e.Value.(*recentVector).vector
}

// put remembers the vector of a text, which is not to be changed any more.
func (r *Recent) put(key recentKey, vector []float32) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.vectors[key]; ok {
		return
	}
	v := &recentVector{key, vector}
	r.vectors[key] = r.order.PushFront(v)
	for r.bytes += v.size(); r.bytes > r.limit; {
		oldest := r.order.Remove(r.order.Back()).(*recentVector)
		delete(r.vectors, oldest.key)
		r.bytes -= oldest.size()
	}
}
