package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/index/embedded/quant"
	"github.com/sluice/sluice/pkg/processors"
)

const (
	// parallelRows is from how many rows a scan is shared by several goroutines.
	parallelRows = 4096
	// maxScanners bounds the goroutines of one scan.
	maxScanners = 4
	// scanPause is after how many items, groups of 64 slots or single ones, a scan looks whether it is still wanted.
	scanPause = 256
	// partSteps is how many ranges a part takes at least, so that the others have something to take from it.
	partSteps = 8
)

// groups is how many groups of 64 slots a snapshot has.
func (s *vectorSet) groups() int { return (int(s.slots) + 63) / 64 }

// eachGroup calls f for each group of 64 slots, from ≤ w < to, that has live ones that pass the filter: these are the bits
// of passing. The records of the group have been checked.
func (s *vectorSet) eachGroup(filter slotSet, records slotView, from, to int, f func(w int, passing uint64) error) error {
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
func (s *vectorSet) each(records slotView, f func(slot uint32) error) error {
	return s.eachGroup(nil, records, 0, s.groups(), func(w int, live uint64) error {
		for ; live != 0; live &= live - 1 {
			if err := f(uint32(w*64 + bits.TrailingZeros64(live))); err != nil {
				return err
			}
		}
		return nil
	})
}

// running is how many searches the process is at, those that wait for their turn among them: the processors are shared by all.
var running atomic.Int32

// share calls the functions that begin makes, one for each part, with consecutive ranges of n items that together make up
// all. Where there are many rows the parts run at the same moment, as many as there are processors for; a part that gets on
// well takes more of the ranges. It ends when ctx does.
func share(ctx context.Context, rows, n int, begin func(part int) (visit func(from, to int) error)) error {
	parts := 1
	if rows >= parallelRows {
		searches := max(1, int(running.Load()))
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
		others.Go(calmly(func() error {
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
func (s *vectorSet) compare(ctx context.Context, query []float32, limit, rows, n int, visit func(from, to int, compare func(slot uint32)) error) (*topK, error) {
	var tops [maxScanners]*topK
	err := share(ctx, rows, n, func(part int) func(from, to int) error {
		top := newTopK(limit)
		tops[part] = top
		compare := func(slot uint32) {
			score := float64(quant.Dot(query, floatsOf(s.vectors.record(slot))))
			if floor, full := top.floor(); !full || score >= floor {
				top.offer(scored{slot, score})
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
			best.merge(t)
		}
	}
	return best, nil
}

// exactRows is up to how many rows every vector is compared in full precision.
const exactRows = 20_000

// denseTop returns the rows whose vectors are nearest to the query's, among the live slots that pass the filter.
func denseTop(ctx context.Context, s *vectorSet, filter slotSet, query []float32, limit int) ([]scored, error) {
	rows := int(s.rows)
	if filter != nil {
		rows = filter.count(s.live, s.slots)
	}
	if !s.coded() || rows <= s.sizes.exactRows() {
		top, err := scanExact(ctx, s, filter, query, limit, rows)
		if err != nil {
			return nil, err
		}
		return top.kept(), nil
	}
	if filter == nil && !s.outgrown() { // what a filter leaves may lie anywhere
		found, _, err := scanCells(ctx, s, query, limit)
		if !errors.Is(err, errCells) {
			return found.best, err
		}
	}
	found, err := scanStaged(ctx, s, filter, query, limit, rows)
	return found.best, err
}

// scanExact compares every live vector that passes the filter, of which there are about so many rows.
func scanExact(ctx context.Context, s *vectorSet, filter slotSet, query []float32, limit, rows int) (*topK, error) {
	return s.compare(ctx, query, limit, rows, s.groups(), func(from, to int, compare func(slot uint32)) error {
		return s.eachGroup(filter, s.vectors, from, to, func(w int, passing uint64) error {
			for ; passing != 0; passing &= passing - 1 {
				compare(uint32(w*64 + bits.TrailingZeros64(passing)))
			}
			return nil
		})
	})
}

// scanSlots compares the vectors of live slots, which are in ascending order.
func scanSlots(ctx context.Context, s *vectorSet, slots []uint32, query []float32, limit int) (*topK, error) {
	return s.compare(ctx, query, limit, len(slots), len(slots), func(from, to int, compare func(slot uint32)) error {
		for i, slot := range slots[from:to] {
			if next := from + i + 1; next < len(slots) {
				quant.Prefetch(s.vectors.record(slots[next]))
			}
			w := int(slot / 64)
			if err := s.vectors.check(w, s.live.word(w)); err != nil {
				return err
			}
			compare(slot)
		}
		return nil
	})
}

// calmly makes of f what a goroutine of its own may run: a panic becomes the error of whoever waits for it, and does not end the
// process with all that others do in it.
func calmly(f func() error) func() error {
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
