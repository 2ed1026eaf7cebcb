package embedded

import (
	"context"
	"math/bits"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

const (
	// exactRows is up to how many rows every vector is compared in full precision.
	exactRows = 20_000
	// minRescored and rescoredShare say how many candidates of the scan by bits are compared in full precision.
	minRescored   = 1000
	rescoredShare = 250 // one in so many
	// parallelRows is from how many rows a scan is shared by several goroutines.
	parallelRows = 4096
	// maxScanners bounds the goroutines of one scan.
	maxScanners = 4
)

// denseTop returns the rows whose vectors are nearest to the query's, among the live slots that pass the filter.
func denseTop(ctx context.Context, s *snapshot, filter slotSet, query []float32, limit int) ([]scored, error) {
	rows := int(s.rows)
	if filter != nil {
		rows = filter.count(s.live, s.slots)
	}
	if s.epoch == 0 || rows <= exactRows {
		return scanExact(ctx, s, filter, query, limit, rows)
	}
	candidates, err := scanSigns(ctx, s, filter, query, max(minRescored, rows/rescoredShare, 2*limit))
	if err != nil {
		return nil, err
	}
	return scanExact(ctx, s, candidates, query, limit, minRescored)
}

// share splits the groups of 64 slots among goroutines and waits for them.
func share(ctx context.Context, slots uint32, rows int, scan func(ctx context.Context, part, from, to int) error) error {
	words := (int(slots) + 63) / 64
	parts := 1
	if rows >= parallelRows {
		parts = min(runtime.GOMAXPROCS(0), maxScanners)
	}
	group, ctx := errgroup.WithContext(ctx)
	for p := range parts {
		group.Go(func() error { return scan(ctx, p, words*p/parts, words*(p+1)/parts) })
	}
	return group.Wait()
}

// scanExact compares every live vector that passes the filter.
func scanExact(ctx context.Context, s *snapshot, filter slotSet, query []float32, limit, rows int) ([]scored, error) {
	var tops [maxScanners]*topK
	err := share(ctx, s.slots, rows, func(ctx context.Context, part, from, to int) error {
		top := newTopK(limit)
		tops[part] = top
		for w := from; w < to; w++ {
			if w%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			live := s.live.word(w)
			m := live & filter.word(w)
			if m == 0 {
				continue
			}
			if err := s.vectors.check(w, live); err != nil {
				return err
			}
			for ; m != 0; m &= m - 1 {
				slot := uint32(w*64 + bits.TrailingZeros64(m))
				score := float64(dot(query, floatsOf(s.vectors.record(slot))))
				if floor, full := top.floor(); !full || score >= floor {
					top.offer(scored{slot, score})
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	best := tops[0]
	for _, t := range tops[1:] {
		if t != nil {
			for _, h := range t.heap {
				best.offer(h)
			}
		}
	}
	return best.heap, nil
}

// distances are reused between scans by bits: two bytes a slot.
var distances = sync.Pool{New: func() any { return new([]uint16) }}

// scanSigns returns about n of the live slots whose sign bits differ least from the query's: all those up to a distance,
// so that the choice does not depend on the order of slots.
func scanSigns(ctx context.Context, s *snapshot, filter slotSet, query []float32, n int) (slotSet, error) {
	want := wordsOf(signs(query, s.centre))
	buf := distances.Get().(*[]uint16)
	defer distances.Put(buf)
	if cap(*buf) < int(s.slots) {
		*buf = make([]uint16, s.slots)
	}
	dist := (*buf)[:s.slots]
	var counts [maxScanners][]int
	err := share(ctx, s.slots, int(s.rows), func(ctx context.Context, part, from, to int) error {
		counts[part] = make([]int, len(query)+1)
		for w := from; w < to; w++ {
			if w%4096 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			live := s.live.word(w)
			m := live & filter.word(w)
			if m == 0 {
				continue
			}
			if err := s.signs.check(w, live); err != nil {
				return err
			}
			for ; m != 0; m &= m - 1 {
				slot := uint32(w*64 + bits.TrailingZeros64(m))
				d := hamming(want, wordsOf(s.signs.record(slot)))
				dist[slot] = uint16(d)
				counts[part][d]++
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	bound := uint16(0)
	for total := 0; int(bound) <= len(query); bound++ {
		for _, c := range counts {
			if c != nil {
				total += c[bound]
			}
		}
		if total >= n {
			break
		}
	}
	near := newSlotSet(s.slots)
	for w := range near {
		for m := s.live.word(w) & filter.word(w); m != 0; m &= m - 1 {
			if slot := uint32(w*64 + bits.TrailingZeros64(m)); dist[slot] <= bound {
				near.add(slot)
			}
		}
	}
	return near, nil
}

func hamming(a, b []uint64) int {
	b = b[:len(a)]
	n := 0
	for i, x := range a {
		n += bits.OnesCount64(x ^ b[i])
	}
	return n
}
