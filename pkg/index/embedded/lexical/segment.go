package lexical

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"unsafe"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/cache"
	"github.com/sluice/sluice/pkg/index/embedded/checksum"
)

// Source is the storage of segments and blocks of postings. What it returns is as it was stored, and belongs to the caller.
type Source interface {
	// Directory returns the directory of a segment.
	Directory(ctx context.Context, segment int64) ([]byte, error)
	// Block returns a block of postings.
	Block(ctx context.Context, id int64) ([]byte, error)
}

// Reader reads the postings of one snapshot of a space, and caches what it reads.
type Reader struct {
	Slots    uint32 // slots that were ever used
	Rows     int64  // live
	Length   int64  // terms of all live rows
	Version  int64  // of the rows: a list that was made of the same is still right
	Live     bitmap.Bitmap
	Segments []Segment
	Opening  uint64 // of the opening of the space: what caches know it by
	Caches   cache.Caches
	Source   Source
}

// postings appends to dst all postings of a term, segment by segment, dead slots among them.
func (v Reader) postings(ctx context.Context, term string, dst []Posting) ([]Posting, error) {
	for _, seg := range v.Segments {
		var err error
		if dst, err = v.segmentPostings(ctx, seg, term, dst); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// segmentPostings appends to dst the postings of a term in a segment, in order of slots.
func (v Reader) segmentPostings(ctx context.Context, seg Segment, term string, dst []Posting) ([]Posting, error) {
	from := len(dst)
	firsts, err := v.Directory(ctx, seg)
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
		if id := seg.FirstBlock + int64(i); i+1 < len(firsts) && firsts[i] == term && firsts[i+1] == term {
			// Nothing else is in the block. What the list of the term keeps of it is all that anyone will want.
			var block string
			if block, readErr = v.uncachedBlock(ctx, id); readErr == nil {
				readErr = entries(block, add)
			}
		} else {
			var block MarkedBlock
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
		if p.Slot >= v.Slots {
			return nil, errBlock
		}
	}
	return dst, nil
}

// Directory returns the first term of each block of a segment.
func (v Reader) Directory(ctx context.Context, seg Segment) ([]string, error) {
	key := cache.Key{Space: v.Opening, Kind: cache.Directory, Id: seg.ID}
	if d, ok := v.Caches.Lists.Get(key); ok {
		return d.([]string), nil
	}
	data, err := v.Source.Directory(ctx, seg.ID)
	if err != nil {
		return nil, fmt.Errorf("reading a directory of postings: %w", err)
	}
	firsts, err := decodeDirectory(seg.ID, data)
	if err != nil {
		return nil, err
	}
	if int64(len(firsts)) != seg.Blocks {
		return nil, fmt.Errorf("%w: a directory of postings names %d of %d blocks", index.ErrCorrupt, len(firsts), seg.Blocks)
	}
	v.Caches.Lists.Put(key, firsts, int64(len(data)+16*len(firsts)))
	return firsts, nil
}

// block returns a block of postings, checked.
func (v Reader) block(ctx context.Context, id int64) (MarkedBlock, error) {
	key := cache.Key{Space: v.Opening, Kind: cache.Block, Id: id}
	if b, ok := v.Caches.Blocks.Get(key); ok {
		return b.(MarkedBlock), nil
	}
	read, err := v.uncachedBlock(ctx, id)
	if err != nil {
		return MarkedBlock{}, err
	}
	block, err := mark(read)
	if err != nil {
		return MarkedBlock{}, err
	}
	v.Caches.Blocks.Put(key, block, block.bytes())
	return block, nil
}

// uncachedBlock reads a block that is needed only once, checked.
func (v Reader) uncachedBlock(ctx context.Context, id int64) (string, error) {
	data, err := v.Source.Block(ctx, id)
	if err != nil {
		return "", fmt.Errorf("reading a block of postings: %w", err)
	}
	data, err = checksum.Unseal(id, data, "a block of postings")
	return unsafe.String(unsafe.SliceData(data), len(data)), err // data is ours and never written again
}

// cursor walks the entries of one segment in order of terms.
type cursor struct {
	seg     Segment
	block   int64
	entries []entry
	room    []entry // that entries are a part of
}

// advance makes entries not empty, unless the segment is at its end.
func (c *cursor) advance(ctx context.Context, v Reader) error {
	for len(c.entries) == 0 && c.block < c.seg.Blocks {
		block, err := v.uncachedBlock(ctx, c.seg.FirstBlock+c.block)
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

// EachTerm calls f for each term of the segments in order, with all its postings in order of slots. f may change them.
func (v Reader) EachTerm(ctx context.Context, group []Segment, f func(term string, ps []Posting) error) error {
	cursors := make([]*cursor, len(group))
	for i, seg := range group {
		cursors[i] = &cursor{seg: seg}
		if err := cursors[i].advance(ctx, v); err != nil {
			return err
		}
	}
	var ps []Posting
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
		slices.SortFunc(ps, func(a, b Posting) int { return cmp.Compare(a.Slot, b.Slot) })
		if err := f(term, united(ps)); err != nil {
			return err
		}
	}
}
