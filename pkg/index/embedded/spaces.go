package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// spaceKey identifies a space by two directory names: the datastore's, and the space's within it.
type spaceKey struct {
	datastore string
	name      string
}

// Length in bytes of the hash used as a space's directory name.
const spaceNameBytes = 12

// handle is a space that is open, opening or closing.
type handle struct {
	key   spaceKey
	state handleState
	space *store.Space // set while the space is open
	refs  int          // number of uses in progress
	used  uint64       // value of useCount at the last use
	disk  diskState    // set once the space is broken; see needsReopen
}

type handleState uint8

const (
	opening handleState = iota
	open
	closing
)

// keyOf returns a space's key, or index.ErrInvalid if the datastore's id can't be a directory name or the dimensions
// are out of range.
func keyOf(id index.Space) (spaceKey, error) {
	if err := checkDatastore(id.DatastoreID); err != nil {
		return spaceKey{}, err
	}
	if id.Dimensions < 0 || id.Dimensions > index.MaxDimensions {
		return spaceKey{}, fmt.Errorf("%w: the vectors have %d dimensions; 0 to %d are supported", index.ErrInvalid, id.Dimensions, index.MaxDimensions)
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(id.Dimensions) + ":" + id.Model))
	return spaceKey{id.DatastoreID, hex.EncodeToString(sum[:spaceNameBytes])}, nil
}

// checkDatastore returns an error unless the id can be used as a directory name.
func checkDatastore(id string) error {
	if !index.ValidKey(id) || len(id) > 128 || id[0] == '.' {
		return fmt.Errorf("%w: the datastore id %.80q cannot be used as a directory name", index.ErrInvalid, id)
	}
	for i := range len(id) {
		if id[i] == ':' {
			return fmt.Errorf("%w: the datastore id %.80q cannot be used as a directory name", index.ErrInvalid, id)
		}
	}
	return nil
}

func (x *Index) path(key spaceKey) string { return filepath.Join(x.dir, key.datastore, key.name) }

// use calls f with the open space, opening it first if necessary. If the space is missing, use creates it if `create`
// is set and otherwise returns store.ErrNotFound.
func (x *Index) use(ctx context.Context, id index.Space, create bool, f func(*store.Space) error) error {
	return x.useWith(ctx, id, create, x.acquireIntact, f)
}

// useWith is like use, but gets the space from `acquire`.
func (x *Index) useWith(ctx context.Context, id index.Space, create bool, acquire func(context.Context, index.Space, bool) (*handle, error), f func(*store.Space) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h, err := acquire(ctx, id, create)
	if err != nil {
		x.reportDamage(ctx, id, err)
		return err
	}
	defer x.release(h)
	err = f(h.space)
	if err == nil && create && h.space.IsLost() {
		err = store.ErrLost // the rows are gone with the files
	}
	if cause := ctx.Err(); err != nil && cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err) // SQLite reports only that it was interrupted
	}
	if err != nil && !h.space.IsLost() {
		x.reportDamage(ctx, id, err)
	}
	return err
}

// read calls f with a view of the space's last commit.
func (x *Index) read(ctx context.Context, id index.Space, f func(store.View) error) error {
	return x.use(ctx, id, false, func(s *store.Space) error { return s.Read(ctx, f) })
}

// acquire returns an open space, which the caller must pass to release after use. If the space is missing, acquire
// creates it if `create` is set.
func (x *Index) acquire(ctx context.Context, id index.Space, create bool) (*handle, error) {
	key, err := keyOf(id)
	if err != nil {
		return nil, err
	}
	for {
		x.mu.Lock()
		if x.closed {
			x.mu.Unlock()
			return nil, index.ErrClosed
		}
		h := x.spaces[key]
		switch {
		case x.dropping[key.datastore] || h != nil && h.state != open:
		case h != nil && x.needsReopen(h):
			if h.disk == diskWritable && h.refs == 0 {
				x.logError(x.closeSpace(h))
				continue
			}
		case h != nil:
			x.count(h)
			x.mu.Unlock()
			return h, nil
		case !create && !store.Present(x.path(key)):
			x.mu.Unlock()
			return nil, store.ErrNotFound
		case len(x.spaces) >= x.max:
			if victim := x.lruHandle(); victim != nil {
				x.logError(x.closeSpace(victim))
				continue
			}
		default:
			return x.open(ctx, key, id, create)
		}
		changed := x.changed
		x.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the index of datastore %q: %w", id.DatastoreID, ctx.Err())
		case <-changed:
		}
	}
}

// open opens a space. If the space is missing and `create` is set, open creates it. The caller must hold mu, which open
// releases.
func (x *Index) open(ctx context.Context, key spaceKey, id index.Space, create bool) (*handle, error) {
	h := &handle{key: key}
	x.spaces[key] = h
	x.opened++
	number := x.opened
	x.mu.Unlock()
	s, err := store.Open(ctx, x.path(key), id, number, x.caches, x.sizes, create)
	x.mu.Lock()
	defer x.mu.Unlock()
	defer x.broadcast()
	if err != nil {
		delete(x.spaces, key)
		if errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		return nil, fmt.Errorf("opening space of datastore %q: %w", id.DatastoreID, err)
	}
	h.space, h.state = s, open
	x.count(h)
	x.queueMerge(s, id)
	return h, nil
}

// count adds a use and makes the space the most recently used. The caller must hold mu.
func (x *Index) count(h *handle) {
	h.refs++
	x.useCount++
	h.used = x.useCount
}

// release ends one use of a space. The last release closes a broken space if the disk accepts writes, and removes an
// empty space.
func (x *Index) release(h *handle) {
	x.mu.Lock()
	h.refs--
	switch {
	case h.refs > 0:
	case h.space.IsBroken():
		if x.needsReopen(h) && h.disk == diskWritable {
			x.logError(x.closeSpace(h))
			return
		}
	case h.space.IsEmpty():
		x.logError(x.removeFiles(h))
		return
	}
	x.broadcast()
	x.mu.Unlock()
}

// logError logs an error from closing a space that the current call no longer needs. Such an error must not make the
// call fail.
func (x *Index) logError(err error) {
	if err != nil {
		x.log.Error("cannot close an unused space", "error", err)
	}
}

// lruHandle returns the least recently used open space that is neither in use nor broken, or nil. The caller must hold
// mu.
func (x *Index) lruHandle() *handle {
	var oldest *handle
	for _, h := range x.spaces {
		if h.state == open && h.refs == 0 && !h.space.IsBroken() && (oldest == nil || h.used < oldest.used) {
			oldest = h
		}
	}
	return oldest
}

// closeSpace closes an unused space. The caller must hold mu, which closeSpace releases.
func (x *Index) closeSpace(h *handle) error {
	h.state = closing
	x.mu.Unlock()
	err := h.space.Close()
	x.mu.Lock()
	delete(x.spaces, h.key)
	x.broadcast()
	x.mu.Unlock()
	return err
}

// broadcast wakes all waiters. The caller must hold mu.
func (x *Index) broadcast() {
	close(x.changed)
	x.changed = make(chan struct{})
}

// closeSpaces closes all matching spaces as they become unused, and returns once all are closed.
func (x *Index) closeSpaces(ctx context.Context, match func(spaceKey) bool) error {
	var errs []error
	for {
		x.mu.Lock()
		var unused *handle
		left := false
		for _, h := range x.spaces {
			if !match(h.key) {
				continue
			}
			left = true
			if h.state == open && h.refs == 0 {
				unused = h
			}
		}
		if unused != nil {
			errs = append(errs, x.closeSpace(unused))
			continue
		}
		changed := x.changed
		x.mu.Unlock()
		if !left {
			return errors.Join(errs...)
		}
		select {
		case <-ctx.Done():
			return errors.Join(append(errs, fmt.Errorf("waiting for running searches: %w", ctx.Err()))...)
		case <-changed:
		}
	}
}

// acquireIntact is like acquire, but if the space's files were deleted or replaced, it opens the current ones and calls
// Options.Alarm.
func (x *Index) acquireIntact(ctx context.Context, id index.Space, create bool) (*handle, error) {
	for {
		h, err := x.acquire(ctx, id, create)
		if err != nil || !h.space.IsLost() {
			return h, err
		}
		if h.space.MarkForReopen() {
			x.log.ErrorContext(ctx, "the files of a space were deleted or replaced while it was open; an audit will rebuild missing rows",
				"datastore", id.DatastoreID, "path", x.path(h.key))
			x.alarm()
		}
		x.release(h)
	}
}

// Spaces implements index.Index. It does not open spaces.
func (x *Index) Spaces(ctx context.Context, datastoreID string) ([]index.Space, error) {
	if err := checkDatastore(datastoreID); err != nil {
		return nil, err
	}
	if x.isClosed() {
		return nil, index.ErrClosed
	}
	entries, err := os.ReadDir(filepath.Join(x.dir, datastoreID))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing the spaces of datastore %q: %w", datastoreID, err)
	}
	var out []index.Space
	for _, e := range entries {
		if !e.IsDir() || !isSpaceName(e.Name()) {
			continue
		}
		key := spaceKey{datastoreID, e.Name()}
		id, err := store.Identify(ctx, x.path(key), datastoreID, func(id index.Space) bool {
			got, err := keyOf(id)
			return err == nil && got == key
		})
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("identifying the space of datastore %q in %s: %w", datastoreID, e.Name(), err)
		}
		out = append(out, id)
	}
	return out, nil
}

// isSpaceName reports whether a directory's name is a space's. It returns false for damaged spaces that Discard moved
// aside.
func isSpaceName(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(name) == 2*spaceNameBytes
}
