package originals

import (
	"container/list"
	"sync"
	"time"
)

// keepFor is how long content that nobody has taken keeps its place from what comes after it.
const keepFor = time.Minute

// recent keeps the content of small originals from their Put until they are taken. What comes first stays: it is what is asked
// for first, and where more comes than is taken, to keep the newest would be to give up each before its turn. Nil keeps
// nothing. It is safe for concurrent use.
type recent struct {
	limit int
	now   func() time.Time

	mu    sync.Mutex
	bytes int
	order *list.List // of kept, the oldest first
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

// add keeps the content of a key if there is room for it. It is not to be changed any more.
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

// take returns the content of a key and keeps it no longer; false if it is not kept.
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

// remove keeps an entry no longer. The caller holds mu.
func (r *recent) remove(e *list.Element) kept {
	k := r.order.Remove(e).(kept)
	delete(r.byKey, k.key)
	r.bytes -= len(k.content)
	return k
}
