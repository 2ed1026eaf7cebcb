package vectorstores

import (
	"context"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// awaitTime is how long a request that adds a file waits for the file to be processed. OpenAI's clients poll for the
// status anyway, but thanks to the wait, programs that don't poll can search small files at once.
const awaitTime = time.Second

// maxAwaited is the maximum number of unfinished files a vector store may have for a request to wait. With more of
// them, waiting would only slow down the caller.
const maxAwaited = 4

// await calls `change` to add or change a file and waits for a limited time until the file is processed.
func (h *handler) await(c *call, storeID string, change func() (domain.Datasource, error)) (domain.Datasource, error) {
	ctx, cancel := context.WithTimeout(c.ctx, awaitTime)
	defer cancel()
	changes, watchErr := h.Watcher.Watch(ctx, storeID) // before the change, so that no event is missed
	d, err := change()
	if err != nil {
		return d, err
	}
	h.Watcher.Changed(d.DatastoreID, d.ID)
	if watchErr != nil || d.Status.Terminal() {
		return d, nil
	}
	if n, err := h.Store.UnfinishedFiles(c.ctx, storeID, maxAwaited+1); err != nil || n > maxAwaited {
		return d, nil //nolint:nilerr // the change was accepted, and only waiting for it has failed
	}
	for {
		if now, err := h.Store.Datasource(c.ctx, c.ws, d.ID); err == nil {
			d = now
		}
		if d.Status.Terminal() || !changed(ctx, changes) {
			return d, nil
		}
	}
}

// changed waits for a change to a datasource. It returns false if ctx is done or the watch has ended.
func changed(ctx context.Context, changes <-chan string) bool {
	select {
	case _, open := <-changes:
		return open
	case <-ctx.Done():
		return false
	}
}

// awaitStore waits for a limited time until all of a vector store's files are processed.
func (h *handler) awaitStore(c *call, v domain.VectorStore) (domain.VectorStore, error) {
	ctx, cancel := context.WithTimeout(c.ctx, awaitTime)
	defer cancel()
	changes, err := h.Watcher.Watch(ctx, v.ID)
	if err != nil {
		return v, nil //nolint:nilerr // the vector store exists, and only waiting for its files has failed
	}
	for {
		now, err := h.Store.VectorStore(c.ctx, c.ws, v.ID)
		if err != nil || countsOf(now.Counts, 0).InProgress == 0 {
			return now, err
		}
		if !changed(ctx, changes) {
			return now, nil
		}
	}
}
