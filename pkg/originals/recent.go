package originals

import (
	"container/list"
	"sync"
	"time"
)

// keepFor is the time after which newer content may displace content that was not taken.
const keepFor = time.Minute

// recent caches the content of small originals from their Put until it is taken. If the cache is full, older content
// stays, because it is needed first: keeping the newest would evict every entry before its use. A nil cache stores
// nothing. It is safe for concurrent use.
type recent struct {
	limit int
	now   func() time.Time

	mu    sync.Mutex
	bytes int
	order *list.List // of kept, oldest first
	byKey map[string]*list.Element
}

type kept struct {
	key     string
	content []byte
	at      time.Time
}

func newRecent(limit int, now func() time.Time) *recent {
	if limit <= 0 {
		return nil
	}
	return &recent{limit: limit, now: now, order: list.New(), byKey: make(map[string]*list.Element)}
}

// add caches the content of a key if there is space. The content must not be changed afterwards.
func (r *recent) add(key string, content []byte) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	for first := r.order.Front(); first != nil && first.Value.(kept).at.Add(keepFor).Before(now); first = r.order.Front() {
		r.remove(first)
	}
	if r.byKey[key] != nil || r.bytes+len(content) > r.limit {
		return
	}
	r.byKey[key] = r.order.PushBack(kept{key, content, now})
	r.bytes += len(content)
}

// take removes and returns the content of a key. It returns false if it is not cached.
func (r *recent) take(key string) ([]byte, bool) {
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
func (r *recent) remove(e *list.Element) kept {
	k := r.order.Remove(e).(kept)
	delete(r.byKey, k.key)
	r.bytes -= len(k.content)
	return k
}
