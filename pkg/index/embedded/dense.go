package embedded

import "context"

// exactRows is up to how many rows every vector is compared in full precision.
const exactRows = 20_000

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

// scanExact compares every live vector that passes the filter, of which there are about so many rows.
func scanExact(ctx context.Context, s *snapshot, filter slotSet, query []float32, limit, rows int) (*topK, error) {
	var tops [maxScanners]*topK
	err := s.scan(ctx, filter, s.vectors, rows, func(part int) func(uint32) {
		top := newTopK(limit)
		tops[part] = top
		return func(slot uint32) {
			score := float64(dot(query, floatsOf(s.vectors.record(slot))))
			if floor, full := top.floor(); !full || score >= floor {
				top.offer(scored{slot, score})
			}
		}
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
