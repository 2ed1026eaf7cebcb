package vector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/topk"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
	"github.com/sluice/sluice/pkg/processors"
)

const (
	// ParallelRows is the minimum number of rows for a scan to use several goroutines.
	ParallelRows = 4096
	// Maximum number of goroutines per scan.
	maxScanners = 4
	// Maximum number of items between checks of the context. An item is a group of 64 slots or a single slot.
	scanPause = 256
	// Minimum number of ranges per goroutine, so that fast goroutines can take over work from slow ones.
	rangesPerScanner = 8
)

// Groups returns the number of groups of 64 slots.
func (s *Set) Groups() int { return (int(s.Slots) + 63) / 64 }

// eachGroup calls f for each group in [from, to) that has live slots passing the filter (the set bits in `passing`). It
// verifies the group's checksums before each call.
func (s *Set) eachGroup(filter bitmap.Set, records slotfile.View, from, to int, f func(w int, passing uint64) error) error {
	for w := from; w < to; w++ {
		live := s.Live.Word(w)
		passing := live & filter.Word(w)
		if passing == 0 {
			continue
		}
		if err := records.Check(w, live); err != nil {
			return err
		}
		if err := f(w, passing); err != nil {
			return err
		}
	}
	return nil
}

// each calls f with each live slot in ascending order until f fails. It verifies records like eachGroup.
func (s *Set) each(records slotfile.View, f func(slot uint32) error) error {
	return s.eachGroup(nil, records, 0, s.Groups(), func(w int, live uint64) error {
		for ; live != 0; live &= live - 1 {
			if err := f(uint32(w*64 + bits.TrailingZeros64(live))); err != nil {
				return err
			}
		}
		return nil
	})
}

// Running is the number of running or waiting searches in this process. The more there are, the fewer goroutines each
// one uses.
var Running atomic.Int32

// parallel splits n items into ranges and processes them in one or more goroutines. Each goroutine calls `begin` once
// to get a visit function, and then calls that function with one range after another. There are several goroutines only
// if there are at least ParallelRows rows and other searches aren't keeping the processors busy. parallel returns early
// if ctx is done.
func parallel(ctx context.Context, rows, n int, begin func(part int) (visit func(from, to int) error)) error {
	parts := 1
	if rows >= ParallelRows {
		searches := max(1, int(Running.Load()))
		parts = min(max(1, processors.Count()/searches), maxScanners)
	}
	step := min(max(1, n/parts/rangesPerScanner), scanPause)
	var taken atomic.Int64
	work := func(ctx context.Context, part int) error {
		visit := begin(part)
		for ctx.Err() == nil {
			to := int(taken.Add(int64(step)))
			if to-step >= n {
				return nil
			}
			if err := visit(to-step, min(to, n)); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	if parts == 1 {
		return work(ctx, 0)
	}
	others, ctx := errgroup.WithContext(ctx)
	defer func() { _ = others.Wait() }() // even after a panic here: they use the same snapshot
	for part := 1; part < parts; part++ {
		others.Go(Recovered(func() error {
			if int(taken.Load()) >= n { // nothing left to do
				return nil
			}
			return work(ctx, part)
		}))
	}
	// The caller works too, so that the scan doesn't wait for a goroutine to start.
	if err := work(ctx, 0); err != nil {
		others.Go(func() error { return err }) // stops the others
	}
	return others.Wait()
}

// compare returns the slots whose vectors are nearest to the query. It splits n items (slots or groups of 64 slots)
// with about `rows` rows into ranges and calls `visit` with each range. For each slot in the range, `visit` must verify
// the vector's checksum and then call `compare`.
func (s *Set) compare(ctx context.Context, query []float32, limit, rows, n int, visit func(from, to int, compare func(slot uint32)) error) (*topk.TopK, error) {
	var tops [maxScanners]*topk.TopK
	err := parallel(ctx, rows, n, func(part int) func(from, to int) error {
		top := topk.New(limit)
		tops[part] = top
		compare := func(slot uint32) {
			score := float64(quant.Dot(query, Floats(s.Full.Record(slot))))
			if threshold, full := top.Threshold(); !full || score >= threshold {
				top.Offer(topk.Scored{Slot: slot, Score: score})
			}
		}
		return func(from, to int) error { return visit(from, to, compare) }
	})
	if err != nil {
		return nil, err
	}
	best := tops[0]
	for _, t := range tops[1:] {
		if t != nil {
			best.Merge(t)
		}
	}
	return best, nil
}

// Maximum number of rows for which a search is exact.
const exactUpTo = 20_000

// Search returns the live slots that pass the filter and have the highest inner products with the query, a unit vector,
// in no particular order. It is exact for up to 20,000 rows and finds more than 99% of the nearest rows in larger
// spaces. It returns index.ErrCorrupt if data is damaged.
func Search(ctx context.Context, s *Set, filter bitmap.Set, query []float32, limit int) ([]topk.Scored, error) {
	rows := int(s.Rows)
	if filter != nil {
		rows = filter.CountIn(s.Live, s.Slots)
	}
	if s.HasCodes() && rows <= s.Thresholds.exactUpTo() {
		return ScanIntervals(ctx, s, filter, query, limit, rows)
	}
	if !s.HasCodes() {
		top, err := ScanExact(ctx, s, filter, query, limit, rows)
		if err != nil {
			return nil, err
		}
		return top.Items(), nil
	}
	if filter == nil && !s.SkipsIVF() { // with a filter, the passing rows may be in any list
		found, _, err := ScanLists(ctx, s, query, limit)
		if !errors.Is(err, errIVF) {
			return found.Best, err
		}
	}
	found, err := ScanCodes(ctx, s, filter, query, limit, rows)
	return found.Best, err
}

// ScanExact returns the live slots that pass the filter and are nearest to the query. It compares all vectors in full
// precision. `rows` is roughly how many slots pass the filter.
func ScanExact(ctx context.Context, s *Set, filter bitmap.Set, query []float32, limit, rows int) (*topk.TopK, error) {
	return s.compare(ctx, query, limit, rows, s.Groups(), func(from, to int, compare func(slot uint32)) error {
		return s.eachGroup(filter, s.Full, from, to, func(w int, passing uint64) error {
			for ; passing != 0; passing &= passing - 1 {
				compare(uint32(w*64 + bits.TrailingZeros64(passing)))
			}
			return nil
		})
	})
}

// rescoreFull compares the given slots' vectors in full precision and returns the nearest slots. `slots` must be live
// and ascending.
func rescoreFull(ctx context.Context, s *Set, slots []uint32, query []float32, limit int) (*topk.TopK, error) {
	return s.compare(ctx, query, limit, len(slots), len(slots), func(from, to int, compare func(slot uint32)) error {
		for i, slot := range slots[from:to] {
			if next := from + i + 1; next < len(slots) {
				quant.Prefetch(s.Full.Record(slots[next]))
			}
			w := int(slot / 64)
			if err := s.Full.Check(w, s.Live.Word(w)); err != nil {
				return err
			}
			compare(slot)
		}
		return nil
	})
}

// Recovered returns a function that calls f and turns a panic into an error. A panic in a goroutine would otherwise
// terminate the process.
func Recovered(f func() error) func() error {
	return func() (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				slog.Default().Error("panic in an index goroutine", "panic", cause, "stack", string(debug.Stack()))
				err = fmt.Errorf("index: panic: %v", cause)
			}
		}()
		return f()
	}
}
