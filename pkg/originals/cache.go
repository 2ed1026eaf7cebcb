package originals

import (
	"container/list"
	"sync"
	"time"
)

// minCacheTime is how long cached content is protected from eviction by newer content.
const minCacheTime = time.Minute

// contentCache caches small originals between Put and Take. When it is full, it rejects new content and keeps the older
// content, which is taken first. Otherwise, every entry would be evicted before it is used. A nil cache stores nothing.
// It is safe for concurrent use.
type contentCache struct {
	limit int
	now   func() time.Time

	mu    sync.Mutex
	bytes int
	order *list.List // of cachedContent, oldest first
	byKey map[string]*list.Element
}

type cachedContent struct {
	key     string
	content []byte
	at      time.Time
}

func newContentCache(limit int, now func() time.Time) *contentCache {
	if limit <= 0 {
		return nil
	}
	return &contentCache{limit: limit, now: now, order: list.New(), byKey: make(map[string]*list.Element)}
}

// add caches a key's content if there is space. The content must not be changed afterwards.
func (r *contentCache) add(key string, content []byte) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for first := r.order.Front(); first != nil && first.Value.(cachedContent).at.Add(minCacheTime).Before(now); first = r.order.Front() {
		r.remove(first)
	}
	if r.byKey[key] != nil || r.bytes+len(content) > r.limit {
		return
	}
	r.byKey[key] = r.order.PushBack(cachedContent{key, content, now})
	r.bytes += len(content)
}

// take removes a key's content from the cache and returns it, or returns false if it isn't there.
func (r *contentCache) take(key string) ([]byte, bool) {
	if r == nil {
		return nil, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byKey[key]
	if e == nil {
		return nil, false
	}
	return r.remove(e).content, true
}

// remove removes an entry. The caller holds mu.
func (r *contentCache) remove(e *list.Element) cachedContent {
	k := r.order.Remove(e).(cachedContent)
	delete(r.byKey, k.key)
	r.bytes -= len(k.content)
	return k
}
