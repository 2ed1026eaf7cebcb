package embedded

import (
	"context"
	"math/bits"
	"runtime"

	"golang.org/x/sync/errgroup"
)

const (
	// exactRows is up to how many rows every vector is compared in full precision.
	exactRows = 20_000
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
		top, err := scanExact(ctx, s, filter, query, limit, rows)
		if err != nil {
			return nil, err
		}
		return top.heap, nil
	}
	found, err := scanStaged(ctx, s, filter, query, limit, max(minRescored, rows/rescoredShare, 2*limit))
	return found.best, err
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

// scanExact compares every live vector that passes the filter, of which there are about so many rows.
func scanExact(ctx context.Context, s *snapshot, filter slotSet, query []float32, limit, rows int) (*topK, error) {
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
			best.merge(t)
		}
	}
	return best, nil
}
