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
	// ParallelRows is from how many rows a scan is shared by several goroutines.
	ParallelRows = 4096
	// maxScanners bounds the goroutines of one scan.
	maxScanners = 4
	// scanPause is after how many items, groups of 64 slots or single ones, a scan looks whether it is still wanted.
	scanPause = 256
	// partSteps is how many ranges a part takes at least, so that the others have something to take from it.
	partSteps = 8
)

// Groups is how many groups of 64 slots a snapshot has.
func (s *Set) Groups() int { return (int(s.Slots) + 63) / 64 }

// eachGroup calls f for each group of 64 slots, from ≤ w < to, that has live ones that pass the filter: these are the bits
// of passing. The records of the group have been checked.
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

// each calls f for each live slot, in order, until f fails. Records are checked as by eachGroup.
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

// Running is how many searches the process is at, those that wait for their turn among them: the processors are shared by all.
var Running atomic.Int32

// parallel calls the functions that begin makes, one for each part, with consecutive ranges of n items that together make up
// all. Where there are many rows the parts run at the same moment, as many as there are processors for; a part that gets on
// well takes more of the ranges. It ends when ctx does.
func parallel(ctx context.Context, rows, n int, begin func(part int) (visit func(from, to int) error)) error {
	parts := 1
	if rows >= ParallelRows {
		searches := max(1, int(Running.Load()))
		parts = min(max(1, processors.Count()/searches), maxScanners)
	}
	step := min(max(1, n/parts/partSteps), scanPause)
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
	defer func() { _ = others.Wait() }() // if the own part panics, too: what they read is there for as long as this lasts
	for part := 1; part < parts; part++ {
		others.Go(Recovered(func() error {
			if int(taken.Load()) >= n { // all is done before it could begin
				return nil
			}
			return work(ctx, part)
		}))
	}
	// Who asks works too: the beginning of a scan waits for nobody.
	if err := work(ctx, 0); err != nil {
		others.Go(func() error { return err }) // which stops the others
	}
	return others.Wait()
}

// compare returns the best of the slots that visit shows it, of ranges of n items that are about so many rows: visit has
// checked their records.
func (s *Set) compare(ctx context.Context, query []float32, limit, rows, n int, visit func(from, to int, compare func(slot uint32)) error) (*topk.TopK, error) {
	var tops [maxScanners]*topk.TopK
	err := parallel(ctx, rows, n, func(part int) func(from, to int) error {
		top := topk.New(limit)
		tops[part] = top
		compare := func(slot uint32) {
			score := float64(quant.Dot(query, Floats(s.Full.Record(slot))))
			if floor, full := top.Threshold(); !full || score >= floor {
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

// exactUpTo is up to how many rows every vector is compared in full precision.
const exactUpTo = 20_000

// Search returns the rows whose vectors are nearest to the query's, among the live slots that pass the filter.
func Search(ctx context.Context, s *Set, filter bitmap.Set, query []float32, limit int) ([]topk.Scored, error) {
	rows := int(s.Rows)
	if filter != nil {
		rows = filter.CountIn(s.Live, s.Slots)
	}
	if !s.HasCodes() || rows <= s.Thresholds.exactUpTo() {
		top, err := ScanExact(ctx, s, filter, query, limit, rows)
		if err != nil {
			return nil, err
		}
		return top.Items(), nil
	}
	if filter == nil && !s.SkipsIVF() { // what a filter leaves may lie anywhere
		found, _, err := ScanLists(ctx, s, query, limit)
		if !errors.Is(err, errIVF) {
			return found.Best, err
		}
	}
	found, err := ScanCodes(ctx, s, filter, query, limit, rows)
	return found.Best, err
}

// ScanExact compares every live vector that passes the filter, of which there are about so many rows.
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

// rescoreFull compares the vectors of live slots, which are in ascending order.
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

// Recovered makes of f what a goroutine of its own may run: a panic becomes the error of whoever waits for it, and does not end the
// process with all that others do in it.
func Recovered(f func() error) func() error {
	return func() (err error) {
		defer func() {
			if cause := recover(); cause != nil {
				slog.Default().Error("a part of the index's work panicked", "panic", cause, "stack", string(debug.Stack()))
				err = fmt.Errorf("the index failed while working on it: %v", cause)
			}
		}()
		return f()
	}
}
