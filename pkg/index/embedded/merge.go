package embedded

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

const (
	// minDead and deadShare say when dead slots alone are a reason to rewrite segments: more than minDead, and more than
	// one in deadShare of all slots in use.
	minDead   = 512
	deadShare = 4
	// mergeStepBlocks is how many blocks one transaction of a merge stores; between them writers get their turn.
	mergeStepBlocks = 64
)

// manyDead reports whether the slots in segments are dead to a large part. Free slots that no segment has are few.
func (s *snapshot) manyDead() bool {
	var inSegments int64
	for _, seg := range s.segments {
		inSegments += seg.rows
	}
	dead := inSegments - s.rows
	return dead > minDead && dead > inSegments/deadShare
}

// choose picks the segments to merge: what pick does, or those that are dead to a large part.
func (v view) choose(ctx context.Context, pick func([]segment) []segment) ([]segment, error) {
	if group := pick(v.segments); len(group) > 0 {
		return group, nil
	}
	if !v.manyDead() {
		return nil, nil
	}
	var out []segment
	for _, seg := range v.segments {
		slots, err := segmentSlots(ctx, v.reading.tx, seg.id)
		if err != nil {
			return nil, err
		}
		if dead := v.dead(slots).GetCardinality(); dead*deadShare > slots.GetCardinality() {
			out = append(out, seg)
		}
	}
	return out, nil
}

// dead returns those of the slots whose rows are gone.
func (v view) dead(slots *roaring.Bitmap) *roaring.Bitmap {
	out := roaring.New()
	for it := slots.Iterator(); it.HasNext(); {
		if slot := it.Next(); !v.live.has(slot) {
			out.Add(slot)
		}
	}
	return out
}

// merge makes codes or places that are missing, or merges one group of segments, if pick returns one or dead slots are a reason, and
// reports whether it did. Readers go on meanwhile, and writers, too, while segments are merged: the new segment is stored in small
// transactions that nobody sees, and the last one swaps it in.
func (s *space) merge(ctx context.Context, pick func([]segment) []segment) (bool, error) {
	s.mergeMu.Lock()
	defer s.mergeMu.Unlock()
	if coded, err := s.recode(ctx); coded || err != nil {
		return coded, err
	}
	if placed, err := s.makePlaces(ctx); placed || err != nil {
		return placed, err
	}
	merged := false
	err := s.read(ctx, func(v view) error {
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

func (s *space) mergeGroup(ctx context.Context, v view, group []segment) error {
	slots := roaring.New()
	var blocks int64
	for _, seg := range group {
		set, err := segmentSlots(ctx, v.reading.tx, seg.id)
		if err != nil {
			return err
		}
		slots.Or(set)
		blocks += seg.blocks
	}
	dead := v.dead(slots)
	slots.AndNot(dead)

	out, err := s.reserve(ctx, 2*blocks+mergeFactor)
	if err != nil {
		return err
	}
	out.rows = int64(slots.GetCardinality())
	store := &mergeStore{space: s, next: out.firstBlock, end: out.firstBlock + 2*blocks + mergeFactor}
	builder := blockBuilder{put: func(block []byte) error { return store.put(ctx, block) }}
	if err := v.lexical().eachTerm(ctx, group, func(term string, ps []posting) error {
		ps = slices.DeleteFunc(ps, func(p posting) bool { return dead.Contains(p.slot) })
		return builder.add(term, ps)
	}); err != nil {
		return err
	}
	if err := builder.close(); err != nil {
		return err
	}
	if err := store.flush(ctx); err != nil {
		return err
	}
	out.blocks = int64(len(builder.firsts))
	return s.swap(ctx, group, out, slots, dead, builder.firsts)
}

// reserve takes numbers for a segment and its blocks, so that a write in between cannot take the same.
func (s *space) reserve(ctx context.Context, blocks int64) (segment, error) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if err := s.prepareWriting(ctx); err != nil {
		return segment{}, err
	}
	var seg segment
	err := s.commit(ctx, func(_ *sql.Tx, next *snapshot) error {
		seg = segment{id: next.nextSegment, firstBlock: next.nextBlock}
		next.nextSegment++
		next.nextBlock += blocks
		return nil
	})
	return seg, err
}

// mergeStore gathers finished blocks and stores them some at a time.
type mergeStore struct {
	space     *space
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
		return fmt.Errorf("beginning to store merged postings: %w", err)
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

// swap puts the merged segment in the place of those it was made of.
func (s *space) swap(ctx context.Context, group []segment, out segment, slots, dead *roaring.Bitmap, firsts []string) error {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	err := s.commit(ctx, func(tx *sql.Tx, next *snapshot) error {
		for _, seg := range group {
			if _, err := tx.ExecContext(ctx, `DELETE FROM blocks WHERE id >= ? AND id < ?`, seg.firstBlock, seg.firstBlock+seg.blocks); err != nil {
				return fmt.Errorf("removing merged blocks: %w", err)
			}
			if _, err := tx.ExecContext(ctx, `DELETE FROM segments WHERE id = ?`, seg.id); err != nil {
				return fmt.Errorf("removing a merged segment: %w", err)
			}
		}
		next.segments = slices.DeleteFunc(next.segments, func(seg segment) bool { return slices.Contains(group, seg) })
		if slots.IsEmpty() {
			return nil
		}
		if err := storeSegment(ctx, tx, out, slots, firsts); err != nil {
			return err
		}
		next.segments = append(next.segments, out)
		return nil
	})
	if err != nil {
		return err
	}
	s.slots.add(s.current.version, dead)
	return nil
}
