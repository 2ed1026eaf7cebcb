package lexical

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	// MergeFactor is how many segments of about one size are merged into one of the next size, which is eight times it.
	MergeFactor = 8
	// smallestTier is up to how many rows segments count as equally small.
	smallestTier = 512
	// FewSegments is how many segments a search reads about as quickly as one.
	FewSegments = 3
)

// Segment is an immutable set of postings.
type Segment struct {
	ID         int64
	Rows       int64 // slots in it, live and dead
	FirstBlock int64
	Blocks     int64
}

// tier is the size class of a segment.
func (s Segment) tier() int {
	return (bits.Len64(uint64(s.Rows)/smallestTier) + 2) / 3
}

// Crowded returns the segments of the lowest tier that has enough of them for a merge.
func Crowded(segments []Segment) []Segment {
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

// Unsettled returns the segments to merge of a space that nobody writes to: from the smallest one on, as many as are at most twice as
// large as all smaller ones together. So a row is written again when there is half as much again, and hardly ever more than a few
// segments are left. As long as there are few, it is not worth it.
func Unsettled(segments []Segment) []Segment {
	if len(segments) <= FewSegments {
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
