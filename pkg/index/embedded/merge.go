package embedded

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"math/bits"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

const (
	// mergeFactor is how many segments of about one size are merged into one of the next size, which is eight times it.
	mergeFactor = 8
	// smallestTier is up to how many rows segments count as equally small.
	smallestTier = 512
	// minDead and deadShare say when dead slots alone are a reason to rewrite segments: more than minDead, and more than
	// one in deadShare of all slots in use.
	minDead   = 512
	deadShare = 4
	// fewSegments is how many segments a search reads about as quickly as one.
	fewSegments = 3
	// mergeStepBlocks is how many blocks one transaction of a merge stores; between them writers get their turn.
	mergeStepBlocks = 64
)

// tier is the size class of a segment.
func (s segment) tier() int {
	return (bits.Len64(uint64(s.rows)/smallestTier) + 2) / 3
}

// crowded returns the segments of the lowest tier that has enough of them for a merge.
func crowded(segments []segment) []segment {
	tiers := make(map[int][]segment)
	for _, seg := range segments {
		tiers[seg.tier()] = append(tiers[seg.tier()], seg)
	}
	for t := range 24 {
		if len(tiers[t]) >= mergeFactor {
			return tiers[t]
		}
	}
	return nil
}

// unsettled returns the segments to merge of a space that nobody writes to: from the smallest one on, as many as are at most twice as
// large as all smaller ones together. So a row is written again when there is half as much again, and hardly ever more than a few
// segments are left. As long as there are few, it is not worth it.
func unsettled(segments []segment) []segment {
	if len(segments) <= fewSegments {
		return nil
	}
	sorted := slices.SortedStableFunc(slices.Values(segments), func(a, b segment) int { return cmp.Compare(a.rows, b.rows) })
	n, smaller := 0, int64(0)
	for i, seg := range sorted {
		if i > 0 && seg.rows <= 2*smaller {
			n = i + 1
		}
		smaller += seg.rows
	}
	return sorted[:n]
}

// wantsSettling tells whether there is something to do once nobody writes to the space: it has more segments than it should have then,
// or cells wait for that.
func (s *space) wantsSettling() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(unsettled(s.current.segments)) > 0 || !s.quiet && s.current.wantsCells(true) != s.current.wantsCells(false)
}

// wantsMerge tells cheaply whether a merge may have something to do.
func (s *space) wantsMerge() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Of an empty space the files go, once nobody uses it.
	return s.current.rows > 0 && (len(crowded(s.current.segments)) > 0 || s.current.manyDead() || s.current.wantsCodes() || !s.current.placed)
}

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
	if err := v.eachTerm(ctx, group, func(term string, ps []posting) error {
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

// cursor walks the entries of one segment in order of terms.
type cursor struct {
	seg     segment
	block   int64
	entries []entry
	room    []entry // that entries are a part of
}

// advance makes entries not empty, unless the segment is at its end.
func (c *cursor) advance(ctx context.Context, v view) error {
	for len(c.entries) == 0 && c.block < c.seg.blocks {
		block, err := v.uncachedBlock(ctx, c.seg.firstBlock+c.block)
		if err != nil {
			return err
		}
		c.block++
		c.room = c.room[:0]
		if err := entries(block, func(e entry) bool {
			c.room = append(c.room, e)
			return true
		}); err != nil {
			return err
		}
		c.entries = c.room
	}
	return nil
}

// eachTerm calls f for each term of the segments in order, with all its postings in order of slots. f may change them.
func (v view) eachTerm(ctx context.Context, group []segment, f func(term string, ps []posting) error) error {
	cursors := make([]*cursor, len(group))
	for i, seg := range group {
		cursors[i] = &cursor{seg: seg}
		if err := cursors[i].advance(ctx, v); err != nil {
			return err
		}
	}
	var ps []posting
	for {
		var least *cursor
		for _, c := range cursors {
			if len(c.entries) > 0 && (least == nil || c.entries[0].term < least.entries[0].term) {
				least = c
			}
		}
		if least == nil {
			return nil
		}
		term := least.entries[0].term
		ps = ps[:0]
		for _, c := range cursors {
			for len(c.entries) > 0 && c.entries[0].term == term {
				var err error
				if ps, err = decodePostings(ps, c.entries[0].data, c.entries[0].count); err != nil {
					return err
				}
				c.entries = c.entries[1:]
				if err := c.advance(ctx, v); err != nil {
					return err
				}
			}
		}
		slices.SortFunc(ps, func(a, b posting) int { return cmp.Compare(a.slot, b.slot) })
		if err := f(term, united(ps)); err != nil {
			return err
		}
	}
}
