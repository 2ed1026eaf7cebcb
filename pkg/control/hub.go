package control

import (
	"context"
	"sync"
)

// Watchers want to know which datasources have changed, after the change is stored.
type Watchers interface {
	// Changed must not block.
	Changed(datastoreID, datasourceID string)
}

// Hub tells watchers within this process which datasources have changed, after the change is stored. What changes while
// a watcher is busy is told once, later: a watcher never misses the last state of a datasource, and a slow one holds up
// nobody.
type Hub struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{}
	closed   chan struct{}
	once     sync.Once
}

type watcher struct {
	datastoreID string
	changed     map[string]struct{} // guarded by Hub.mu
	order       []string            // of changed, oldest first
	signal      chan struct{}
}

// NewHub returns a Hub without watchers.
func NewHub() *Hub { return &Hub{watchers: map[*watcher]struct{}{}, closed: make(chan struct{})} }

// Close ends all watching, now and later. It may be called twice.
func (h *Hub) Close() { h.once.Do(func() { close(h.closed) }) }

// Changed tells the watchers of the datastore about a datasource. It never blocks.
func (h *Hub) Changed(datastoreID, datasourceID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if w.datastoreID != datastoreID {
			continue
		}
		if _, told := w.changed[datasourceID]; told {
			continue
		}
		w.changed[datasourceID] = struct{}{}
		w.order = append(w.order, datasourceID)
		select {
		case w.signal <- struct{}{}:
		default: // it has been woken already
		}
	}
}

// Watch returns a channel that receives the ids of changed datasources until ctx ends or the hub is closed, and is closed
// then.
func (h *Hub) Watch(ctx context.Context, datastoreID string) (<-chan string, error) {
	w := &watcher{datastoreID: datastoreID, changed: map[string]struct{}{}, signal: make(chan struct{}, 1)}
	h.mu.Lock()
	h.watchers[w] = struct{}{}
	h.mu.Unlock()
	out := make(chan string)
	go func() {
		defer close(out)
		defer h.forget(w)
		for {
			id, ok := h.next(w)
			if !ok {
				select {
				case <-ctx.Done():
					return
				case <-h.closed:
					return
				case <-w.signal:
				}
				continue
			}
			select {
			case <-ctx.Done():
				return
			case <-h.closed:
				return
			case out <- id:
			}
		}
	}()
	return out, nil
}

func (h *Hub) next(w *watcher) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(w.order) == 0 {
		return "", false
	}
	id := w.order[0]
	w.order = w.order[1:]
	delete(w.changed, id)
	return id, true
}

func (h *Hub) forget(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, w)
}
