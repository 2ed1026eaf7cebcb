package embedded

import (
	"context"
	"errors"
	"math/bits"

	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

// exactRows is up to how many rows every vector is compared in full precision.
const exactRows = 20_000

// denseTop returns the rows whose vectors are nearest to the query's, among the live slots that pass the filter.
func denseTop(ctx context.Context, s *snapshot, filter slotSet, query []float32, limit int) ([]scored, error) {
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
func scanExact(ctx context.Context, s *snapshot, filter slotSet, query []float32, limit, rows int) (*topK, error) {
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
func scanSlots(ctx context.Context, s *snapshot, slots []uint32, query []float32, limit int) (*topK, error) {
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
