package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// corruptSuffix is appended to a damaged space's directory name when the directory is moved aside.
const corruptSuffix = ".corrupt"

// reportDamage records that a space is damaged and calls Options.Alarm the first time. It does nothing unless err is
// index.ErrCorrupt and ctx is still active.
func (x *Index) reportDamage(ctx context.Context, id index.Space, err error) {
	if !errors.Is(err, index.ErrCorrupt) || ctx.Err() != nil {
		return
	}
	key, err := keyOf(id)
	if err != nil {
		return
	}
	x.mu.Lock()
	_, known := x.damaged[key]
	x.damaged[key] = id
	x.mu.Unlock()
	if !known {
		x.alarm()
	}
}

// Damaged returns the spaces that have been found damaged since Open and not yet discarded.
func (x *Index) Damaged() []index.Space {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Values(x.damaged))
}

// Discard moves a damaged space's files to a directory with the suffix ".corrupt", so that a replay can rebuild the
// space. It reports whether it moved them. The moved files are kept for inspection until the next Discard of the space,
// or until the space loses its last row.
//
// Discard does nothing unless Damaged lists the space. It first reads the whole space and moves the files only if it
// finds damage, so calling Discard twice or after a temporary error does not lose data. Other calls on the datastore
// wait until Discard returns.
func (x *Index) Discard(ctx context.Context, id index.Space) (bool, error) {
	key, err := keyOf(id)
	if err != nil {
		return false, err
	}
	if err := x.beginDrop(ctx, key.datastore); err != nil {
		return false, err
	}
	defer x.endDrop(key.datastore)
	x.mu.Lock()
	_, known := x.damaged[key]
	x.mu.Unlock()
	if !known {
		return false, nil
	}
	if err := x.closeSpaces(ctx, func(k spaceKey) bool { return k == key }); err != nil {
		return false, fmt.Errorf("closing a damaged space of datastore %q: %w", id.DatastoreID, err)
	}
	err = x.check(ctx, key, id)
	damaged := errors.Is(err, index.ErrCorrupt)
	switch {
	case ctx.Err() != nil:
		return false, fmt.Errorf("checking a space of datastore %q: %w", id.DatastoreID, ctx.Err())
	case damaged:
		if err := quarantine(x.path(key)); err != nil {
			return false, fmt.Errorf("setting aside a damaged space of datastore %q: %w", id.DatastoreID, err)
		}
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return false, fmt.Errorf("checking a space of datastore %q: %w", id.DatastoreID, err)
	}
	x.mu.Lock()
	delete(x.damaged, key)
	x.mu.Unlock()
	return damaged, nil
}

// quarantine appends corruptSuffix to the name of a space's directory, replacing any directory left by an earlier call.
func quarantine(dir string) error {
	if err := os.RemoveAll(dir + corruptSuffix); err != nil {
		return err
	}
	if err := os.Rename(dir, dir+corruptSuffix); err != nil {
		return err
	}
	return durable.Dir(filepath.Dir(dir))
}

// Check reads a whole space and verifies all checksums. If one does not match, Check returns index.ErrCorrupt and
// Damaged lists the space. A space that was never written passes.
func (x *Index) Check(ctx context.Context, id index.Space) error {
	err := x.read(ctx, id, func(v store.View) error { return v.Check(ctx) })
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("checking a space of datastore %q: %w", id.DatastoreID, err)
	}
	return nil
}

// check opens a closed space, verifies all checksums, and closes it again.
func (x *Index) check(ctx context.Context, key spaceKey, id index.Space) error {
	x.mu.Lock()
	x.opened++
	number := x.opened
	x.mu.Unlock()
	s, err := store.Open(ctx, x.path(key), id, number, x.caches, x.sizes, false)
	if err != nil {
		return err
	}
	return errors.Join(s.Read(ctx, func(v store.View) error { return v.Check(ctx) }), s.Close())
}

// DropDatastore implements index.Index. It waits for running calls on the datastore. The drop takes effect when the
// datastore's directory is renamed. If the process crashes before the files are deleted, the next Open deletes them.
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

// remove renames a directory in the index and then deletes it. If the process crashes before the directory is deleted,
// the next Open deletes it.
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

// beginDrop waits until no other drop of the datastore is in progress. It then prevents other calls from opening the
// datastore until endDrop is called.
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

func (x *Index) endDrop(datastoreID string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.dropping, datastoreID)
	x.broadcast()
}

// removeFiles closes an unused, empty space and deletes its files. The caller must hold mu, which removeFiles releases.
func (x *Index) removeFiles(h *handle) error {
	h.state = closing
	x.mu.Unlock()
	dir := x.path(h.key)
	err := h.space.Close()
	if !h.space.IsLost() { // otherwise another directory may have this path
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
	_ = os.Remove(filepath.Dir(dir)) // fails unless the directory is empty; mu prevents others from creating a space in it
	return err
}
