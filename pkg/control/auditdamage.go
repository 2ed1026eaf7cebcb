package control

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/index"
)

// damageable is implemented by indexes that detect damage to their own files. The audit discards a damaged space, finds
// that all its rows are missing, and queues jobs to restore them.
type damageable interface {
	// Check reads a whole space. It fails with index.ErrCorrupt if a checksum does not match.
	Check(ctx context.Context, space index.Space) error
	Damaged() []index.Space
	// Discard moves a damaged space's files out of the way and reports whether it moved any. If the space is intact,
	// Discard does nothing and returns false.
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
		return fmt.Errorf("setting a damaged space aside: %w", err)
	}
	if done {
		a.note("datastore %s: the index for model %s was damaged, was set aside and will be rebuilt", space.DatastoreID, space.Model)
	}
	return nil
}

// stored returns the generations in the spaces, keyed by datasource. It discards damaged spaces, which count as empty.
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
