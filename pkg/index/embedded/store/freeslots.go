package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/checksum"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
)

// freeSlots holds the slots that neither rows nor segments use. Only the writer uses it.
type freeSlots struct {
	ready   *roaring.Bitmap
	waiting []freed
}

// freed holds the slots that a version freed. Readers of older versions may still use their vectors.
type freed struct {
	version int64
	slots   *roaring.Bitmap
}

func (f *freeSlots) add(version int64, slots *roaring.Bitmap) {
	if !slots.IsEmpty() {
		f.waiting = append(f.waiting, freed{version, slots})
	}
}

// choose returns n slots in ascending order: free ones first, then new ones from `end` on. It skips slots that were
// freed after `oldest`, the oldest version with readers. The slots stay free until take removes them.
func (f *freeSlots) choose(n int, end uint32, oldest int64) []uint32 {
	for len(f.waiting) > 0 && f.waiting[0].version <= oldest {
		f.ready.Or(f.waiting[0].slots)
		f.waiting = f.waiting[1:]
	}
	out := make([]uint32, 0, n)
	for it := f.ready.Iterator(); len(out) < n && it.HasNext(); {
		out = append(out, it.Next())
	}
	for len(out) < n {
		out = append(out, end)
		end++
	}
	return out
}

func (f *freeSlots) take(slots []uint32) {
	for _, s := range slots {
		f.ready.Remove(s)
	}
}

// prepareWriting finds the free slots and removes blocks left by an interrupted merge. It runs once per opening, before
// the first write. The caller must hold writeMu.
func (s *Space) prepareWriting(ctx context.Context) error {
	if s.slots != nil {
		return nil
	}
	tx, end, err := begin(ctx, s.writes, nil)
	if err != nil {
		return fmt.Errorf("starting to prepare a write: %w", corrupt(err))
	}
	defer end()
	snap := s.current
	ready := roaring.New()
	ready.AddRange(0, uint64(snap.Slots))
	for _, seg := range snap.Segments {
		slots, err := segmentSlots(ctx, tx, seg.ID)
		if err != nil {
			return corrupt(err)
		}
		ready.AndNot(slots)
	}
	for it := ready.Clone().Iterator(); it.HasNext(); {
		if slot := it.Next(); snap.Live.Has(slot) {
			return fmt.Errorf("%w: the row in slot %d is in no segment", index.ErrCorrupt, slot)
		}
	}
	if err := removeOrphans(ctx, tx, snap); err != nil {
		return corrupt(err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing the removal of unused blocks: %w", corrupt(err))
	}
	s.slots = &freeSlots{ready: ready}
	return nil
}

func segmentSlots(ctx context.Context, tx *sql.Tx, id int64) (*roaring.Bitmap, error) {
	var data []byte
	if err := tx.QueryRowContext(ctx, `SELECT slots FROM segments WHERE id = ?`, id).Scan(&data); err != nil {
		return nil, fmt.Errorf("reading the slots of a segment: %w", err)
	}
	data, err := checksum.Unseal(id, data, "the slots of a segment")
	if err != nil {
		return nil, err
	}
	slots := roaring.New()
	if err := slots.UnmarshalBinary(data); err != nil {
		return nil, fmt.Errorf("%w: reading the slots of a segment: %w", index.ErrCorrupt, err)
	}
	return slots, nil
}

func removeOrphans(ctx context.Context, tx *sql.Tx, snap *Snapshot) error {
	from := int64(0)
	remove := func(below int64) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM blocks WHERE id >= ? AND id < ?`, from, below); err != nil {
			return fmt.Errorf("removing unused blocks: %w", err)
		}
		return nil
	}
	for _, seg := range snap.byBlock() {
		if err := remove(seg.FirstBlock); err != nil {
			return err
		}
		from = seg.FirstBlock + seg.Blocks
	}
	return remove(1<<63 - 1)
}

func (s *Snapshot) byBlock() []lexical.Segment {
	return slices.SortedFunc(slices.Values(s.Segments), func(a, b lexical.Segment) int { return cmp.Compare(a.FirstBlock, b.FirstBlock) })
}
