package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/index"
)

// Fill implements index.Index.
func (x *Index) Fill(ctx context.Context, id index.Space, hits []*index.Hit) error {
	wanted := make(map[uint32]*index.Hit, len(hits))
	for _, h := range hits {
		if !h.Whole {
			wanted[uint32(h.Place)] = h
		}
	}
	if len(wanted) == 0 {
		return ctx.Err()
	}
	err := x.use(ctx, id, false, func(s *space) error {
		return s.glance(ctx, func(v view) error { return v.fill(ctx, wanted) })
	})
	if err != nil && !errors.Is(err, errNoSpace) {
		return fmt.Errorf("reading %d hits of datastore %q: %w", len(wanted), id.DatastoreID, err)
	}
	return nil
}

// fill reads the rows of hits by their slots. Another row may lie there by now, or none.
func (v view) fill(ctx context.Context, wanted map[uint32]*index.Hit) error {
	slots := make([]uint32, 0, len(wanted))
	for slot := range wanted {
		if slot < v.slots && v.live.has(slot) {
			slots = append(slots, slot)
		}
	}
	slices.Sort(slots)
	rows, err := v.rowsIn(ctx, slots)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if h := wanted[r.slot]; h.Key == r.Key {
			h.Row, h.Whole = r.Row, true
		}
	}
	return nil
}
