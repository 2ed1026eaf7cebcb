package embedded

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"unsafe"

	"github.com/sluice/sluice/pkg/index"
)

// Source is the storage of segments and blocks of postings. What it returns is as it was stored, and belongs to the caller.
type Source interface {
	// Directory returns the directory of a segment.
	Directory(ctx context.Context, segment int64) ([]byte, error)
	// Block returns a block of postings.
	Block(ctx context.Context, id int64) ([]byte, error)
}

// reader reads the postings of one snapshot of a space, and caches what it reads.
type reader struct {
	slots    uint32 // slots that were ever used
	rows     int64  // live
	length   int64  // terms of all live rows
	version  int64  // of the rows: a list that was made of the same is still right
	live     bitset
	segments []segment
	number   uint64 // of the opening of the space: what caches know it by
	caches
	source Source
}

// postings appends to dst all postings of a term, segment by segment, dead slots among them.
func (v reader) postings(ctx context.Context, term string, dst []posting) ([]posting, error) {
	for _, seg := range v.segments {
		var err error
		if dst, err = v.segmentPostings(ctx, seg, term, dst); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// segmentPostings appends to dst the postings of a term in a segment, in order of slots.
func (v reader) segmentPostings(ctx context.Context, seg segment, term string, dst []posting) ([]posting, error) {
	from := len(dst)
	firsts, err := v.directory(ctx, seg)
	if err != nil {
		return nil, err
	}
	add := func(e entry) bool {
		dst, err = decodePostings(dst, e.data, e.count)
		return err == nil
	}
	// The term's entries may begin in the block before the first one that starts with it.
	i := max(sort.SearchStrings(firsts, term)-1, 0)
	for ; i < len(firsts) && firsts[i] <= term; i++ {
		var readErr error
		if id := seg.firstBlock + int64(i); i+1 < len(firsts) && firsts[i] == term && firsts[i+1] == term {
			// Nothing else is in the block. What the list of the term keeps of it is all that anyone will want.
			var block string
			if block, readErr = v.uncachedBlock(ctx, id); readErr == nil {
				readErr = entries(block, add)
			}
		} else {
			var block marked
			if block, readErr = v.block(ctx, id); readErr == nil {
				readErr = block.of(term, add)
			}
		}
		if err = cmp.Or(readErr, err); err != nil {
			return nil, err
		}
	}
	// Slots come from checked blocks; one beyond the range would still be an index out of range later.
	for _, p := range dst[from:] {
		if p.slot >= v.slots {
			return nil, errBlock
		}
	}
	return dst, nil
}

// directory returns the first term of each block of a segment.
func (v reader) directory(ctx context.Context, seg segment) ([]string, error) {
	key := cacheKey{space: v.number, kind: cachedDirectory, id: seg.id}
	if d, ok := v.lists.get(key); ok {
		return d.([]string), nil
	}
	data, err := v.source.Directory(ctx, seg.id)
	if err != nil {
		return nil, fmt.Errorf("reading a directory of postings: %w", err)
	}
	firsts, err := decodeDirectory(seg.id, data)
	if err != nil {
		return nil, err
	}
	if int64(len(firsts)) != seg.blocks {
		return nil, fmt.Errorf("%w: a directory of postings names %d of %d blocks", index.ErrCorrupt, len(firsts), seg.blocks)
	}
	v.lists.put(key, firsts, int64(len(data)+16*len(firsts)))
	return firsts, nil
}

// block returns a block of postings, checked.
func (v reader) block(ctx context.Context, id int64) (marked, error) {
	key := cacheKey{space: v.number, kind: cachedBlock, id: id}
	if b, ok := v.blocks.get(key); ok {
		return b.(marked), nil
	}
	read, err := v.uncachedBlock(ctx, id)
	if err != nil {
		return marked{}, err
	}
	block, err := mark(read)
	if err != nil {
		return marked{}, err
	}
	v.blocks.put(key, block, block.bytes())
	return block, nil
}

// uncachedBlock reads a block that is needed only once, checked.
func (v reader) uncachedBlock(ctx context.Context, id int64) (string, error) {
	data, err := v.source.Block(ctx, id)
	if err != nil {
		return "", fmt.Errorf("reading a block of postings: %w", err)
	}
	data, err = unseal(id, data, "a block of postings")
	return unsafe.String(unsafe.SliceData(data), len(data)), err // data is ours and never written again
}

// cursor walks the entries of one segment in order of terms.
type cursor struct {
	seg     segment
	block   int64
	entries []entry
	room    []entry // that entries are a part of
}

// advance makes entries not empty, unless the segment is at its end.
func (c *cursor) advance(ctx context.Context, v reader) error {
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
func (v reader) eachTerm(ctx context.Context, group []segment, f func(term string, ps []posting) error) error {
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
