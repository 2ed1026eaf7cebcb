// Package lexical implements a space's inverted index: blocks of postings, term lists, BM25 and MaxScore. It reads
// stored blocks through the Source interface and does not depend on the database or on vectors. See
// docs/embedded-index.md.
package lexical

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"unsafe"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/cache"
	"github.com/sluice/sluice/pkg/index/embedded/checksum"
)

// Source reads stored segments and blocks. The returned data includes the checksum. The caller may keep and modify it.
type Source interface {
	// Directory returns a segment's directory.
	Directory(ctx context.Context, segment int64) ([]byte, error)
	// Block returns a block of postings.
	Block(ctx context.Context, id int64) ([]byte, error)
	// Metadata calls f with the metadata of the rows in the given slots, which must be live and ascending.
	Metadata(ctx context.Context, slots []uint32, f func(slot uint32, metadata map[string]any) error) error
}

// Reader reads one snapshot's postings through the caches.
type Reader struct {
	Slots    uint32 // number of slots ever used
	Rows     int64  // number of live rows
	Length   int64  // total number of terms in all live rows
	Version  int64  // of the rows; cached lists with this version are current
	Live     bitmap.Bitmap
	Segments []Segment
	OpenID   uint64 // identifies the space's opening in cache keys
	Caches   cache.Caches
	Source   Source
}

// segmentPostings appends a term's postings from a segment to `dst`, sorted by slot.
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
	// The term's first entry may be at the end of a block that starts with an earlier term, so go back one block.
	i := max(sort.SearchStrings(firsts, term)-1, 0)
	for ; i < len(firsts) && firsts[i] <= term; i++ {
		var readErr error
		if id := seg.FirstBlock + int64(i); i+1 < len(firsts) && firsts[i] == term && firsts[i+1] == term {
			// The whole block belongs to this term. Don't cache the block, because the term's list will be cached.
			var block string
			if block, readErr = v.uncachedBlock(ctx, id); readErr == nil {
				readErr = entries(block, add)
			}
		} else {
			var block markedBlock
			if block, readErr = v.block(ctx, id); readErr == nil {
				readErr = block.eachEntry(term, add)
			}
		}
		if err = cmp.Or(readErr, err); err != nil {
			return nil, err
		}
	}
	// An out-of-range slot would cause a panic later, and matching checksums don't rule it out.
	for _, p := range dst[from:] {
		if p.Slot >= v.Slots {
			return nil, errBlock
		}
	}
	return dst, nil
}

// Directory returns the first term in each block of a segment. It returns index.ErrCorrupt if the checksum does not
// match.
func (v Reader) Directory(ctx context.Context, seg Segment) ([]string, error) {
	key := cache.Key{Space: v.OpenID, Kind: cache.Directory, ID: seg.ID}
	if d, ok := v.Caches.Lists.Get(key); ok {
		return d.([]string), nil
	}
	data, err := v.Source.Directory(ctx, seg.ID)
	if err != nil {
		return nil, fmt.Errorf("reading the term directory of a segment: %w", err)
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

func (v Reader) block(ctx context.Context, id int64) (markedBlock, error) {
	key := cache.Key{Space: v.OpenID, Kind: cache.Block, ID: id}
	if b, ok := v.Caches.Blocks.Get(key); ok {
		return b.(markedBlock), nil
	}
	read, err := v.uncachedBlock(ctx, id)
	if err != nil {
		return markedBlock{}, err
	}
	block, err := mark(read)
	if err != nil {
		return markedBlock{}, err
	}
	v.Caches.Blocks.Put(key, block, block.bytes())
	return block, nil
}

// uncachedBlock reads and verifies a block that is needed only once.
func (v Reader) uncachedBlock(ctx context.Context, id int64) (string, error) {
	data, err := v.Source.Block(ctx, id)
	if err != nil {
		return "", fmt.Errorf("reading a block of postings: %w", err)
	}
	data, err = checksum.Unseal(id, data, "a block of postings")
	return unsafe.String(unsafe.SliceData(data), len(data)), err // data is not shared or modified again
}

// cursor reads a segment's entries, sorted by term.
type cursor struct {
	seg     Segment
	block   int64
	entries []entry
	buf     []entry // reusable memory for entries
}

// advance reads the next block once the current one is used up.
func (c *cursor) advance(ctx context.Context, v Reader) error {
	for len(c.entries) == 0 && c.block < c.seg.Blocks {
		block, err := v.uncachedBlock(ctx, c.seg.FirstBlock+c.block)
		if err != nil {
			return err
		}
		c.block++
		c.buf = c.buf[:0]
		if err := entries(block, func(e entry) bool {
			c.buf = append(c.buf, e)
			return true
		}); err != nil {
			return err
		}
		c.entries = c.buf
	}
	return nil
}

// EachTerm calls f with each term in the segments, in sorted order, and its postings, including those of dead slots,
// sorted by slot. f may modify the postings but must not retain them.
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
		var minimum *cursor
		for _, c := range cursors {
			if len(c.entries) > 0 && (minimum == nil || c.entries[0].term < minimum.entries[0].term) {
				minimum = c
			}
		}
		if minimum == nil {
			return nil
		}
		term := minimum.entries[0].term
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
		if err := f(term, mergeEqualSlots(ps)); err != nil {
			return err
		}
	}
}

const (
	// MergeFactor is the number of segments in one tier that are merged into one segment in the next tier. Segments in the
	// next tier are eight times as large.
	MergeFactor = 8
	// Maximum number of rows in a segment in the lowest tier.
	smallestTier = 512
	// MaxIdleSegments is the maximum number of segments in an idle space. Searching so few segments is about as fast as
	// searching one.
	MaxIdleSegments = 3
)

// Segment is an immutable set of postings, stored as consecutive blocks.
type Segment struct {
	ID         int64
	Rows       int64 // number of slots, live and dead
	FirstBlock int64
	Blocks     int64
}

func (s Segment) tier() int { return (bits.Len64(uint64(s.Rows)/smallestTier) + 2) / 3 }

// SegmentsToMerge returns the segments in the lowest tier that has at least MergeFactor segments, or nil.
func SegmentsToMerge(segments []Segment) []Segment {
	tiers := make(map[int][]Segment)
	for _, seg := range segments {
		tiers[seg.tier()] = append(tiers[seg.tier()], seg)
	}
	for t := range 24 {
		if len(tiers[t]) >= MergeFactor {
			return tiers[t]
		}
	}
	return nil
}

// SegmentsToSettle returns the segments to merge in an idle space, or none if there are at most MaxIdleSegments. It
// never rewrites a large segment just to add a few rows: it picks the largest segment that is at most twice as large as
// all smaller segments together, and all of the smaller segments.
func SegmentsToSettle(segments []Segment) []Segment {
	if len(segments) <= MaxIdleSegments {
		return nil
	}
	sorted := slices.SortedStableFunc(slices.Values(segments), func(a, b Segment) int { return cmp.Compare(a.Rows, b.Rows) })
	n, smaller := 0, int64(0)
	for i, seg := range sorted {
		if i > 0 && seg.Rows <= 2*smaller {
			n = i + 1
		}
		smaller += seg.Rows
	}
	return sorted[:n]
}
