package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// corruptSuffix marks the directory of a damaged space that was put aside.
const corruptSuffix = ".corrupt"

// noteDamage remembers that a space was found damaged.
func (x *Index) noteDamage(ctx context.Context, id index.Space, err error) {
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

// Damaged lists the spaces in which damage was met since the index was opened, and that have not been discarded.
func (x *Index) Damaged() []index.Space {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]index.Space, 0, len(x.damaged))
	for _, id := range x.damaged {
		out = append(out, id)
	}
	return out
}

// Discard puts a damaged space aside, so that it is empty and can be rebuilt by replay. Its files are kept for inspection
// beside it, in a directory whose name ends in ".corrupt", until it is discarded again or its last row is removed.
//
// Only a space that Damaged lists is looked at: it is checked from end to end, which reads all of it, and discarded only
// when damage is found. So discarding twice, or after a fault that has passed, loses nothing. It reports whether the space was
// discarded. Calls that use the datastore meanwhile wait.
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
		if err := putAside(x.path(key)); err != nil {
			return false, fmt.Errorf("putting a damaged space of datastore %q aside: %w", id.DatastoreID, err)
		}
	case err != nil && !errors.Is(err, store.ErrNoSpace):
		return false, fmt.Errorf("checking a space of datastore %q: %w", id.DatastoreID, err)
	}
	x.mu.Lock()
	delete(x.damaged, key)
	x.mu.Unlock()
	return damaged, nil
}

// putAside renames a space's directory, over what was put aside before.
func putAside(dir string) error {
	if err := os.RemoveAll(dir + corruptSuffix); err != nil {
		return err
	}
	if err := os.Rename(dir, dir+corruptSuffix); err != nil {
		return err
	}
	return durable.Dir(filepath.Dir(dir))
}

// Check reads a space from end to end and compares everything with its checksum. It fails with index.ErrCorrupt when
// something differs; the space is then one that Damaged lists. A space that was never written is in order.
func (x *Index) Check(ctx context.Context, id index.Space) error {
	err := x.use(ctx, id, false, func(s *store.Space) error {
		return s.Read(ctx, func(v store.View) error { return v.Check(ctx) })
	})
	if err != nil && !errors.Is(err, store.ErrNoSpace) {
		return fmt.Errorf("checking a space of datastore %q: %w", id.DatastoreID, err)
	}
	return nil
}

// check reads a space that nobody has open from end to end.
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
