package vector

import (
	"context"
	"math/bits"

	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/topk"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

// A search by intervals is as exact as comparing all vectors, but reads a quarter of the data. Int8 codes give an
// interval for each row's score, and the full vector is read only if the interval reaches the limit-th best lower
// bound.

const (
	// Number of slots compared at a time.
	intervalBatch = 64
	// Minimum number of rows per requested result. A search over fewer rows would read most vectors anyway.
	minIntervalRows = 8
)

// ScanIntervals returns the same rows and scores as ScanExact, in no particular order. `rows` is the approximate number
// of slots that pass the filter. The set must have codes.
func ScanIntervals(ctx context.Context, s *Set, filter bitmap.Set, query []float32, limit, rows int) ([]topk.Scored, error) {
	if rows < minIntervalRows*limit {
		found, err := ScanExact(ctx, s, filter, query, limit, rows)
		if err != nil {
			return nil, err
		}
		return found.Items(), nil
	}
	question := quant.NewCoder(s.Centroid).Prepare(query)
	var parts [maxScanners]*rescorer
	err := parallel(ctx, rows, s.Groups(), func(part int) func(from, to int) error {
		c := rescorerPool.Get().(*rescorer)
		c.begin(s, question, limit)
		parts[part] = c
		var batch [intervalBatch + 64]uint32
		return func(from, to int) error {
			slots := batch[:0]
			err := s.eachGroup(filter, s.Int8, from, to, func(w int, passing uint64) error {
				for ; passing != 0; passing &= passing - 1 {
					slots = append(slots, uint32(w*64+bits.TrailingZeros64(passing)))
				}
				if len(slots) < intervalBatch {
					return nil
				}
				err := c.compare(slots)
				slots = slots[:0]
				return err
			})
			if err != nil {
				return err
			}
			return c.compare(slots)
		}
	})
	all := refinedPool.Get().(*refined)
	defer all.release()
	all.begin(limit)
	for _, c := range parts {
		if c != nil {
			all.add(c)
			c.release()
		}
	}
	if err != nil {
		return nil, err
	}
	found, err := rescoreFull(ctx, s, all.slots(), query, limit)
	if err != nil {
		return nil, err
	}
	return found.Items(), nil
}
