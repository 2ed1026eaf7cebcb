package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/sluice/sluice/pkg/index/embedded/lexical"
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
func (s *Snapshot) manyDead() bool {
	var inSegments int64
	for _, seg := range s.Segments {
		inSegments += seg.Rows
	}
	dead := inSegments - s.Rows
	return dead > minDead && dead > inSegments/deadShare
}

// choose picks the segments to merge: what pick does, or those that are dead to a large part.
func (v View) choose(ctx context.Context, pick func([]lexical.Segment) []lexical.Segment) ([]lexical.Segment, error) {
	if group := pick(v.Segments); len(group) > 0 {
		return group, nil
	}
	if !v.manyDead() {
		return nil, nil
	}
	var out []lexical.Segment
	for _, seg := range v.Segments {
		slots, err := segmentSlots(ctx, v.reading.tx, seg.ID)
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
func (v View) dead(slots *roaring.Bitmap) *roaring.Bitmap {
	out := roaring.New()
	for it := slots.Iterator(); it.HasNext(); {
		if slot := it.Next(); !v.Live.Has(slot) {
			out.Add(slot)
		}
	}
	return out
}

// Merge makes codes or places that are missing, or merges one group of segments, if pick returns one or dead slots are a reason, and
// reports whether it did. Readers go on meanwhile, and writers, too, while segments are merged: the new segment is stored in small
// transactions that nobody sees, and the last one swaps it in.
func (s *Space) Merge(ctx context.Context, pick func([]lexical.Segment) []lexical.Segment) (bool, error) {
	s.mergeMu.Lock()
	defer s.mergeMu.Unlock()
	if coded, err := s.recode(ctx); coded || err != nil {
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
	dead := v.dead(slots)
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
	out.Blocks = int64(len(builder.Firsts))
	return s.swap(ctx, group, out, slots, dead, builder.Firsts)
}

// reserve takes numbers for a segment and its blocks, so that a write in between cannot take the same.
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

// mergeStore gathers finished blocks and stores them some at a time.
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
