package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/index"
)

// damageable is an index that can find its own files damaged or gone, and put a damaged space aside, so that all of it is
// missing and is read again.
type damageable interface {
	// Check reads a space from end to end; index.ErrCorrupt when something does not have its checksum.
	Check(ctx context.Context, space index.Space) error
	Damaged() []index.Space
	// Discard reports whether the space was put aside; one that is intact after all is left as it is.
	Discard(ctx context.Context, space index.Space) (bool, error)
}

func (a *audit) discardDamaged(ctx context.Context) error {
	var faults []error
	for _, e := range a.Engines.Engines() {
		idx, err := a.Engines.Index(e)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		d, ok := idx.(damageable)
		if !ok {
			continue
		}
		for _, space := range d.Damaged() {
			faults = append(faults, a.discard(ctx, d, space))
		}
	}
	return errors.Join(faults...)
}

func (a *audit) discard(ctx context.Context, d damageable, space index.Space) error {
	done, err := d.Discard(ctx, space)
	if err != nil {
		return fmt.Errorf("putting a damaged space aside: %w", err)
	}
	if done {
		a.note("datastore %s: its index with %s was damaged and is put aside, to be built anew", space.DatastoreID, space.Model)
	}
	return nil
}

// stored reads which generations spaces hold, by datasource. A damaged space is put aside: all of it is then missing.
func (a *audit) stored(ctx context.Context, idx Index, spaces []index.Space) (map[string][]index.Stored, error) {
	rows := map[string][]index.Stored{}
	for _, space := range spaces {
		found, err := a.inventory(ctx, idx, space)
		if d, ok := idx.(damageable); ok && errors.Is(err, index.ErrCorrupt) {
			found, err = nil, a.discard(ctx, d, space)
		}
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			rows[s.DatasourceID] = append(rows[s.DatasourceID], s)
		}
	}
	return rows, nil
}

func (a *audit) inventory(ctx context.Context, idx Index, space index.Space) (found []index.Stored, err error) {
	if d, ok := idx.(damageable); ok && a.Thorough {
		if err := d.Check(ctx, space); err != nil {
			return nil, fmt.Errorf("checking the index: %w", err)
		}
	}
	err = idx.Stored(ctx, space, func(s index.Stored) error {
		found = append(found, s)
		return nil
	})
	return found, err
}
