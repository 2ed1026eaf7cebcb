package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// DropDatastore implements index.Index. It waits for calls that are using the datastore. Renaming the directory is what
// drops it; what a crash leaves of it is removed at the next Open.
func (x *Index) DropDatastore(ctx context.Context, datastoreID string) error {
	if err := checkDatastore(datastoreID); err != nil {
		return err
	}
	if err := x.beginDrop(ctx, datastoreID); err != nil {
		return err
	}
	defer x.endDrop(datastoreID)
	if err := x.closeSpaces(ctx, func(k spaceKey) bool { return k.datastore == datastoreID }); err != nil {
		return fmt.Errorf("closing datastore %q: %w", datastoreID, err)
	}
	dir := filepath.Join(x.dir, datastoreID)
	if !store.Exists(dir) {
		return nil
	}
	if err := x.remove(dir); err != nil {
		return fmt.Errorf("dropping datastore %q: %w", datastoreID, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.DeleteFunc(x.damaged, func(_ spaceKey, id index.Space) bool { return id.DatastoreID == datastoreID })
	return nil
}

// remove takes a directory of the index away at once, and then removes it. What a crash leaves of it is removed at the next
// Open.
func (x *Index) remove(dir string) error {
	bin, err := os.MkdirTemp(x.dir, droppedPrefix)
	if err != nil {
		return err
	}
	err = os.Rename(dir, filepath.Join(bin, filepath.Base(dir)))
	if err == nil {
		err = errors.Join(durable.Dir(filepath.Dir(dir)), durable.Dir(bin))
	}
	return errors.Join(err, os.RemoveAll(bin))
}

// beginDrop keeps others from opening the datastore, after waiting for another drop of it.
func (x *Index) beginDrop(ctx context.Context, datastoreID string) error {
	for {
		x.mu.Lock()
		if x.closed {
			x.mu.Unlock()
			return index.ErrClosed
		}
		if !x.dropping[datastoreID] {
			x.dropping[datastoreID] = true
			x.building.cancel(datastoreID)
			x.mu.Unlock()
			return nil
		}
		changed := x.changed
		x.mu.Unlock()
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting to drop datastore %q: %w", datastoreID, ctx.Err())
		case <-changed:
		}
	}
}

// endDrop lets others open the datastore again.
func (x *Index) endDrop(datastoreID string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.dropping, datastoreID)
	x.broadcast()
}

// vacate removes the files of an unused space that has no rows: a datastore that has moved away leaves nothing behind. The
// caller holds mu, which vacate gives up.
func (x *Index) vacate(h *handle) error {
	h.state = closing
	x.mu.Unlock()
	dir := x.path(h.key)
	err := h.space.Close()
	if !h.space.IsLost() { // else another directory may lie there by now
		err = errors.Join(err, x.remove(dir))
	}
	err = errors.Join(err, os.RemoveAll(dir+corruptSuffix))
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.spaces, h.key)
	delete(x.damaged, h.key)
	x.broadcast()
	for key := range x.spaces {
		if key.datastore == h.key.datastore {
			return err
		}
	}
	_ = os.Remove(filepath.Dir(dir)) // which fails unless it is empty: nobody can be making a space in it now
	return err
}
