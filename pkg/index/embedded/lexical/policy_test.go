package lexical

import (
	"slices"
	"testing"
)

func TestSegmentsToSettleAreTheSmallOnes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rows, want []int64 }{
		{[]int64{5, 5, 5}, nil}, // too few segments to matter
		{[]int64{5, 5, 5, 5}, []int64{5, 5, 5, 5}},
		{[]int64{1000, 1, 1, 1}, []int64{1, 1, 1}},
		{[]int64{1, 3, 9, 27}, nil},
		{[]int64{5, 1, 1, 2, 100}, []int64{1, 1, 2, 5}},
		{[]int64{32_000, 31_000, 4000, 4000, 4000, 500, 500, 100}, []int64{100, 500, 500, 4000, 4000, 4000, 31_000, 32_000}},
		{[]int64{1_000_000, 200_000, 50_000, 50_000, 90_000}, []int64{50_000, 50_000, 90_000, 200_000}},
	} {
		var segments []Segment
		for i, n := range c.rows {
			segments = append(segments, Segment{ID: int64(i), Rows: n})
		}
		var got []int64
		for _, s := range SegmentsToSettle(segments) {
			got = append(got, s.Rows)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("of %v: %v, want %v", c.rows, got, c.want)
		}
	}
}
