package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/store"
)

// Spaces implements index.Index. It opens no space.
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
		if errors.Is(err, store.ErrNoSpace) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("finding out which space of datastore %q lies in %s: %w", datastoreID, e.Name(), err)
		}
		out = append(out, id)
	}
	return out, nil
}

// isSpaceName tells a space's directory from what was put aside.
func isSpaceName(name string) bool {
	for i := range len(name) {
		if c := name[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(name) == 2*spaceNameBytes
}
