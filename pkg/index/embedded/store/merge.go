package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/lexical"
	"github.com/sluice/sluice/pkg/index/embedded/vector"
)

const (
	// Segments with dead slots are rewritten if more than minDead slots and more than 1/deadShare of all slots are dead.
	minDead   = 512
	deadShare = 4
	// Number of blocks that a merge stores per transaction. Writers can take the lock between transactions.
	mergeStepBlocks = 64
)

// needsSweep reports whether enough slots are dead to make it worth rewriting segments.
func (s *Snapshot) needsSweep() bool {
	var inSegments int64
	for _, seg := range s.Segments {
		inSegments += seg.Rows
	}
	dead := inSegments - s.Rows
	return dead > minDead && dead > inSegments/deadShare
}

// choose returns the segments to merge: those that `pick` selects or, if there are none, those with many dead slots.
func (v View) choose(ctx context.Context, pick func([]lexical.Segment) []lexical.Segment) ([]lexical.Segment, error) {
	if group := pick(v.Segments); len(group) > 0 {
		return group, nil
	}
	if !v.needsSweep() {
		return nil, nil
	}
	var out []lexical.Segment
	for _, seg := range v.Segments {
		slots, err := segmentSlots(ctx, v.reading.tx, seg.ID)
		if err != nil {
			return nil, err
		}
		if dead := v.deadSlots(slots).GetCardinality(); dead*deadShare > slots.GetCardinality() {
			out = append(out, seg)
		}
	}
	return out, nil
}

func (v View) deadSlots(slots *roaring.Bitmap) *roaring.Bitmap {
	out := roaring.New()
	for it := slots.Iterator(); it.HasNext(); {
		if slot := it.Next(); !v.Live.Has(slot) {
			out.Add(slot)
		}
	}
	return out
}

// Merge does one unit of work and reports whether there was any. If codes or locations are missing, it computes them.
// Otherwise it merges the segments that `pick` selects or, if there are none, those with many dead slots. Readers and
// writers don't have to wait for the merge: it stores the new segment in several small transactions, the last of which
// replaces the merged segments.
func (s *Space) Merge(ctx context.Context, pick func([]lexical.Segment) []lexical.Segment) (bool, error) {
	s.mergeMu.Lock()
	defer s.mergeMu.Unlock()
	if coded, err := s.writeMissingCodes(ctx); coded || err != nil {
		return coded, err
	}
	if placed, err := s.makeLocations(ctx); placed || err != nil {
		return placed, err
	}
	merged := false
	err := s.Read(ctx, func(v View) error {
		group, err := v.choose(ctx, pick)
		if err != nil || len(group) == 0 {
			return err
		}
		merged = true
		return s.mergeGroup(ctx, v, group)
	})
	if err != nil {
		return false, fmt.Errorf("merging segments: %w", err)
	}
	return merged, nil
}

func (s *Space) mergeGroup(ctx context.Context, v View, group []lexical.Segment) error {
	slots := roaring.New()
	var blocks int64
	for _, seg := range group {
		set, err := segmentSlots(ctx, v.reading.tx, seg.ID)
		if err != nil {
			return err
		}
		slots.Or(set)
		blocks += seg.Blocks
	}
	dead := v.deadSlots(slots)
	slots.AndNot(dead)

	out, err := s.reserve(ctx, 2*blocks+lexical.MergeFactor)
	if err != nil {
		return err
	}
	out.Rows = int64(slots.GetCardinality())
	store := &mergeStore{space: s, next: out.FirstBlock, end: out.FirstBlock + 2*blocks + lexical.MergeFactor}
	builder := lexical.BlockBuilder{Put: func(block []byte) error { return store.put(ctx, block) }}
	if err := v.Lexical().EachTerm(ctx, group, func(term string, ps []lexical.Posting) error {
		ps = slices.DeleteFunc(ps, func(p lexical.Posting) bool { return dead.Contains(p.Slot) })
		return builder.Add(term, ps)
	}); err != nil {
		return err
	}
	if err := builder.Close(); err != nil {
		return err
	}
	if err := store.flush(ctx); err != nil {
		return err
	}
	out.Blocks = int64(len(builder.FirstTerms))
	return s.swap(ctx, group, out, slots, dead, builder.FirstTerms)
}

// reserve allocates ids for a segment and its blocks.
func (s *Space) reserve(ctx context.Context, blocks int64) (lexical.Segment, error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if err := s.prepareWriting(ctx); err != nil {
		return lexical.Segment{}, err
	}
	var seg lexical.Segment
	err := s.commit(ctx, func(_ *sql.Tx, next *Snapshot) error {
		seg = lexical.Segment{ID: next.nextSegment, FirstBlock: next.nextBlock}
		next.nextSegment++
		next.nextBlock += blocks
		return nil
	})
	return seg, err
}

type mergeStore struct {
	space     *Space
	next, end int64
	pending   [][]byte
}

func (m *mergeStore) put(ctx context.Context, block []byte) error {
	m.pending = append(m.pending, block)
	if len(m.pending) < mergeStepBlocks {
		return nil
	}
	return m.flush(ctx)
}

func (m *mergeStore) flush(ctx context.Context) error {
	if m.next+int64(len(m.pending)) > m.end {
		return fmt.Errorf("merged postings need more than the %d blocks reserved", m.end)
	}
	m.space.writeMu.Lock()
	defer m.space.writeMu.Unlock()
	tx, end, err := begin(ctx, m.space.writes, nil)
	if err != nil {
		return fmt.Errorf("starting to store merged postings: %w", err)
	}
	defer end()
	if err := insertBlocks(ctx, tx, m.next, m.pending); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing merged postings: %w", err)
	}
	m.next += int64(len(m.pending))
	m.pending = m.pending[:0]
	return nil
}

// swap replaces a group of segments with the merged one, freeing the dead slots.
func (s *Space) swap(ctx context.Context, group []lexical.Segment, out lexical.Segment, slots, dead *roaring.Bitmap, firsts []string) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	err := s.commit(ctx, func(tx *sql.Tx, next *Snapshot) error {
		for _, seg := range group {
			if _, err := tx.ExecContext(ctx, `DELETE FROM blocks WHERE id >= ? AND id < ?`, seg.FirstBlock, seg.FirstBlock+seg.Blocks); err != nil {
				return fmt.Errorf("removing merged blocks: %w", err)
			}
			if _, err := tx.ExecContext(ctx, `DELETE FROM segments WHERE id = ?`, seg.ID); err != nil {
				return fmt.Errorf("removing a merged segment: %w", err)
			}
		}
		next.Segments = slices.DeleteFunc(next.Segments, func(seg lexical.Segment) bool { return slices.Contains(group, seg) })
		if slots.IsEmpty() {
			return nil
		}
		if err := storeSegment(ctx, tx, out, slots, firsts); err != nil {
			return err
		}
		next.Segments = append(next.Segments, out)
		return nil
	})
	if err != nil {
		return err
	}
	s.slots.add(s.current.Version, dead)
	return nil
}

// Snapshot returns the last committed state.
func (s *Space) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// pinCurrent pins the current snapshot, so that its slots aren't reused before unpin, and reports whether the space is
// idle. Unlike a reader, a pin doesn't keep later snapshots in memory.
func (s *Space) pinCurrent() (held *Snapshot, quiet bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinned = s.current
	return s.pinned, s.idle
}

func (s *Space) unpin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinned = nil
}

// oldestVersionInUse returns the oldest version with readers or a pin. Slots freed up to this version may be reused.
// The caller must hold mu.
func (s *Space) oldestVersionInUse() int64 {
	if s.pinned != nil {
		return min(s.pinned.Version, s.oldestReader())
	}
	return s.oldestReader()
}

// MaintainIVF does any IVF build or extension that is due, without blocking readers and writers.
func (s *Space) MaintainIVF(ctx context.Context) error {
	s.ivfMu.Lock()
	defer s.ivfMu.Unlock()
	snap, quiet := s.pinCurrent()
	defer s.unpin()
	work := snap.IVFWork(quiet)
	if work == vector.NoWork {
		return nil
	}
	c, files, err := s.vectors.BuildIVF(ctx, &snap.Set, work, uint64(snap.Version))
	if err != nil {
		return fmt.Errorf("building the IVF: %w", err)
	}
	return s.adoptIVF(ctx, snap, c, files)
}

// adoptIVF commits an IVF built from an earlier snapshot, unless the codes have been replaced in the meantime.
func (s *Space) adoptIVF(ctx context.Context, from *Snapshot, c *vector.IVF, files *vector.IVFFiles) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if s.current.Epoch != from.Epoch { // the IVF was built from the old codes
		return files.Remove()
	}
	err := s.commit(ctx, func(tx *sql.Tx, next *Snapshot) error {
		next.IVF, next.Assigned, next.Written = c, bitmap.Bitmap{}, next.Written-from.Written
		if files != nil {
			// The lists contain all rows that were live when the build began. Their slots haven't been reused.
			next.Assigned = from.Live
		}
		return storeListed(ctx, tx, next.Assigned)
	})
	if err != nil {
		s.vectors.RetireIVF(files) // it may have been committed
		return fmt.Errorf("committing the IVF: %w", err)
	}
	s.mu.Lock()
	version, oldest := s.current.Version, s.oldestReader()
	s.mu.Unlock()
	s.vectors.ReplaceIVF(files, version)
	return s.vectors.CloseRetired(oldest)
}

// writeMissingCodes computes codes if there are none or the space has outgrown them, and reports whether it did.
func (s *Space) writeMissingCodes(ctx context.Context) (bool, error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if !s.current.NeedsCodes() {
		return false, nil
	}
	if err := s.prepareWriting(ctx); err != nil {
		return false, err
	}
	if err := s.commit(ctx, func(_ *sql.Tx, next *Snapshot) error { return s.vectors.RenewCodes(ctx, &next.Set) }); err != nil {
		return false, fmt.Errorf("computing codes: %w", err)
	}
	s.vectors.AdoptCodes()
	return true, nil
}

// The "listed" table contains the slots in IVF lists, in the same format as the "live" table. Its content is
// meaningless if the state has no IVF.

const listedTable = `CREATE TABLE IF NOT EXISTS listed (
	chunk INTEGER PRIMARY KEY, -- 65,536 slots
	bits  BLOB NOT NULL
)`

func storeListed(ctx context.Context, tx *sql.Tx, listed bitmap.Bitmap) error {
	for _, statement := range []string{listedTable, `DELETE FROM listed`} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("replacing the slots in lists: %w", err)
		}
	}
	return storeChunks(ctx, tx, "listed", listed.Rewrite())
}

// removeFromIVF removes the given slots, which new rows are about to use, from the IVF lists. It adds the number of
// slots to Written, the number of rows written since the last build.
func (s *Snapshot) removeFromIVF(ctx context.Context, tx *sql.Tx, slots []uint32) error {
	s.Written += int64(len(slots))
	in := s.AssignedAmong(slots)
	if len(in) == 0 {
		return nil
	}
	e := s.Assigned.Edit()
	for _, slot := range in {
		e.Clear(slot)
	}
	s.Assigned = e.Done()
	return storeChunks(ctx, tx, "listed", e)
}

// computeCodes computes codes for the rows that have none in the current epoch.
func computeCodes(rows []*Prepared, of *vector.Set) {
	if !of.HasCodes() {
		return
	}
	encode := of.Encoder()
	for _, p := range rows {
		if p.bits == nil || p.epoch != of.Epoch {
			p.bits, p.int8 = encode(p.row.Vector)
			p.epoch = of.Epoch
		}
	}
}
