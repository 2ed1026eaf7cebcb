package control

import (
	"context"
	"sync"
)

// Watchers are notified of changed datasources after the changes are stored.
type Watchers interface {
	// Changed must not block.
	Changed(datastoreID, datasourceID string)
}

// Hub notifies this process's watchers of stored changes to datasources, and forwards the changes to other processes'
// hubs. Changes made while a watcher is busy are combined and delivered later, so a watcher never misses a datasource's
// latest state and never blocks other watchers.
type Hub struct {
	announce func(datastoreID, datasourceID string) // nil if no other process has a hub

	mu       sync.Mutex
	watchers map[*watcher]struct{}
	closed   chan struct{}
	once     sync.Once
}

type watcher struct {
	datastoreID string
	changed     map[string]struct{} // guarded by Hub.mu
	order       []string            // ids in `changed`, oldest first
	signal      chan struct{}
}

// NewHub returns a Hub without watchers. `announce` sends a change to the hubs in other processes. It must not block.
// This hub may receive the announcement as well. `announce` is nil if no other process has a hub.
func NewHub(announce func(datastoreID, datasourceID string)) *Hub {
	return &Hub{announce: announce, watchers: map[*watcher]struct{}{}, closed: make(chan struct{})}
}

// Close ends all watches. Later calls to Watch return closed channels. Close may be called more than once.
func (h *Hub) Close() { h.once.Do(func() { close(h.closed) }) }

// Changed notifies the datastore's watchers in this process and other processes' hubs. It never blocks.
func (h *Hub) Changed(datastoreID, datasourceID string) {
	h.ChangedElsewhere(datastoreID, datasourceID)
	if h.announce != nil {
		h.announce(datastoreID, datasourceID)
	}
}

// ChangedElsewhere notifies the datastore's watchers of a change announced by another process. It never blocks.
func (h *Hub) ChangedElsewhere(datastoreID, datasourceID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if w.datastoreID != datastoreID {
			continue
		}
		if _, queued := w.changed[datasourceID]; queued {
			continue
		}
		w.changed[datasourceID] = struct{}{}
		w.order = append(w.order, datasourceID)
		select {
		case w.signal <- struct{}{}:
		default: // already signalled
		}
	}
}

// Watch returns a channel that receives the ids of the datastore's changed datasources. It is closed when ctx is done
// or the hub is closed.
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
