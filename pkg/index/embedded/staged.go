package embedded

import (
	"context"
	"math/bits"
	"sync"
)

// A staged scan estimates scores from sign bits first, a thirty-second of what the vectors take, and then compares full
// vectors in order of the estimates. How far down that order the nearest rows lie depends on the model and on the query:
// bits tell much of clusters, and little of rows that are all equally far. So it is not assumed but measured for each
// query, in two ways that fail in different cases: the last candidates, as many as all before them together, must have
// brought hardly any of the best, and hardly any may be expected among the others, see margin. What bits tell nothing of
// ends as an exact scan.
const (
	// minRescored and rescoredShare say how many candidates are compared in full precision at least.
	minRescored   = 1000
	rescoredShare = 250 // one in so many
	// witnesses is how many of the best tell, at least, whether the last candidates have brought any.
	witnesses = 100
	// lateShare is which share of the best the last candidates may have brought.
	lateShare = 200 // one in so many
)

// staged is the outcome of a staged scan.
type staged struct {
	best     []scored
	rescored int // rows that were compared in full precision
}

// scanStaged returns the nearest of the live slots that pass the filter. It compares about first candidates in full
// precision, and more until few enough of the nearest can be among the others.
func scanStaged(ctx context.Context, s *snapshot, filter slotSet, query []float32, limit, first int) (staged, error) {
	d, err := scanSigns(ctx, s, filter, query)
	if err != nil {
		return staged{}, err
	}
	defer d.release()
	m, err := newMargin(s, filter, query, d)
	if err != nil {
		return staged{}, err
	}
	best := newTopK(max(limit, witnesses))
	out := staged{}
	for from, ring := 0, max(1, first/2); ; {
		to, n := d.reach(from, ring)
		top, err := scanExact(ctx, s, d.ring(s, filter, from, to), query, best.k, n)
		if err != nil {
			return staged{}, err
		}
		best.merge(top)
		out.rescored += n
		late := 0
		for _, b := range best.heap {
			if int(d.of[b.slot]) >= from {
				late++
			}
		}
		from = to
		expected := m.next(best.kth(limit), limit, from)
		switch {
		case from == len(d.counts):
		case out.rescored < first:
			ring = first - out.rescored
			continue
		case late > len(best.heap)/lateShare:
			ring = out.rescored
			continue
		case expected > 0:
			ring = min(expected, out.rescored) // the more has been compared, the less is expected
			continue
		}
		out.best = best.best(limit)
		return out, nil
	}
}

// levels is how many distances a scan by sign bits tells apart.
const levels = 4096

// distances says how far each slot's vector seems to be from the query's: 0 is nearest.
type distances struct {
	of     []uint16 // by slot; undefined for slots that are dead or do not pass the filter
	counts []int    // slots by distance
	buffer *[]uint16
}

// distanceBuffers are reused between scans: two bytes a slot.
var distanceBuffers = sync.Pool{New: func() any { return new([]uint16) }}

func (d distances) release() { distanceBuffers.Put(d.buffer) }

// scanSigns compares the sign bits of all live slots that pass the filter.
func scanSigns(ctx context.Context, s *snapshot, filter slotSet, query []float32) (distances, error) {
	asked := newQuestion(query, s.spread)
	d := distances{counts: make([]int, levels), buffer: distanceBuffers.Get().(*[]uint16)}
	if cap(*d.buffer) < int(s.slots) {
		*d.buffer = make([]uint16, s.slots)
	}
	d.of = (*d.buffer)[:s.slots]
	var counts [maxScanners][]int
	err := s.scan(ctx, filter, s.signs, int(s.rows), func(part int) func(uint32) {
		counted := make([]int, levels)
		counts[part] = counted
		return func(slot uint32) {
			level := asked.distance(s.signs.record(slot))
			d.of[slot] = level
			counted[level]++
		}
	})
	if err != nil {
		d.release()
		return distances{}, err
	}
	for _, part := range counts {
		for i, n := range part {
			d.counts[i] += n
		}
	}
	return d, nil
}

// reach returns up to which distance, itself excluded, at least n slots are at a distance of from or more, and how many
// these are: all of a distance, so that the choice does not depend on the order of slots.
func (d distances) reach(from, n int) (to, slots int) {
	for to = from; to < len(d.counts) && slots < n; to++ {
		slots += d.counts[to]
	}
	return to, slots
}

// ring returns the slots at a distance of at least from and less than to.
func (d distances) ring(s *snapshot, filter slotSet, from, to int) slotSet {
	out := newSlotSet(s.slots)
	for w := range out {
		for m := s.live.word(w) & filter.word(w); m != 0; m &= m - 1 {
			slot := uint32(w*64 + bits.TrailingZeros64(m))
			if n := int(d.of[slot]); n >= from && n < to {
				out.add(slot)
			}
		}
	}
	return out
}
