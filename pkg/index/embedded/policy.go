package embedded

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	// mergeFactor is how many segments of about one size are merged into one of the next size, which is eight times it.
	mergeFactor = 8
	// smallestTier is up to how many rows segments count as equally small.
	smallestTier = 512
	// fewSegments is how many segments a search reads about as quickly as one.
	fewSegments = 3
)

// segment is an immutable set of postings.
type segment struct {
	id         int64
	rows       int64 // slots in it, live and dead
	firstBlock int64
	blocks     int64
}

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
