package embedded

import (
	"context"
	"math/bits"
	"runtime"

	"golang.org/x/sync/errgroup"
)

const (
	// parallelRows is from how many rows a scan is shared by several goroutines.
	parallelRows = 4096
	// maxScanners bounds the goroutines of one scan.
	maxScanners = 4
	// scanPause is after how many groups a scan looks whether it is still wanted.
	scanPause = 1024
)

// groups is how many groups of 64 slots a snapshot has.
func (s *snapshot) groups() int { return (int(s.slots) + 63) / 64 }

// eachGroup calls f for each group of 64 slots, from ≤ w < to, that has live ones that pass the filter: these are the bits
// of passing. The records of the group have been checked.
func (s *snapshot) eachGroup(filter slotSet, records slotView, from, to int, f func(w int, passing uint64) error) error {
	for w := from; w < to; w++ {
		live := s.live.word(w)
		passing := live & filter.word(w)
		if passing == 0 {
			continue
		}
		if err := records.check(w, live); err != nil {
			return err
		}
		if err := f(w, passing); err != nil {
			return err
		}
	}
	return nil
}

// each calls f for each live slot, in order, until f fails. Records are checked as by eachGroup.
func (s *snapshot) each(records slotView, f func(slot uint32) error) error {
	return s.eachGroup(nil, records, 0, s.groups(), func(w int, live uint64) error {
		for ; live != 0; live &= live - 1 {
			if err := f(uint32(w*64 + bits.TrailingZeros64(live))); err != nil {
				return err
			}
		}
		return nil
	})
}

// scan visits the live slots that pass the filter, among about so many rows; records are checked as by eachGroup. Many rows
// are shared by several goroutines: each begins once, and visits the slots of its part, whole groups, in order.
func (s *snapshot) scan(ctx context.Context, filter slotSet, records slotView, rows int, begin func(part int) (visit func(slot uint32))) error {
	parts := 1
	if rows >= parallelRows {
		parts = min(runtime.GOMAXPROCS(0), maxScanners)
	}
	running, ctx := errgroup.WithContext(ctx)
	for part := range parts {
		running.Go(func() error {
			visit, seen := begin(part), 0
			return s.eachGroup(filter, records, s.groups()*part/parts, s.groups()*(part+1)/parts, func(w int, passing uint64) error {
				if seen++; seen%scanPause == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				for ; passing != 0; passing &= passing - 1 {
					visit(uint32(w*64 + bits.TrailingZeros64(passing)))
				}
				return nil
			})
		})
	}
	return running.Wait()
}
