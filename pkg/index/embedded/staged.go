package embedded

import (
	"context"
	"math/bits"
	"slices"

	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

// A staged scan estimates all scores from codes first, which take a twentieth of what the vectors take, and then compares
// the vectors of those rows in full that may be among the nearest. It knows how far an estimate may be off, for each row,
// and so which rows these are: those whose score, were it sureness times the spread above its estimate, would be among the
// best that were found. Where codes tell nothing, that is every row.

// sureness is how many standard deviations a row's score is taken to lie above its estimate. One of a thousand lies
// higher; of the rows asked for most lie well above the last of them, and are found even then.
const sureness = 3

// staged is the outcome of a staged scan.
type staged struct {
	best     []scored
	rescored int // rows that were compared in full precision
}

// estimated is a row that may be among the nearest.
type estimated struct {
	slot  uint32
	most  float32 // what its score may be
	least float32 // what its score is at least
}

// scanStaged returns the nearest of the live slots that pass the filter, of which there are about so many rows.
func scanStaged(ctx context.Context, s *snapshot, filter slotSet, query []float32, limit, rows int) (staged, error) {
	found, err := scanCodes(ctx, s, filter, query, limit, rows)
	if err != nil {
		return staged{}, err
	}
	// Most of the nearest are among those with the highest estimates. Once these are compared, few others remain.
	first := newTopK(limit + limit/4)
	for _, e := range found {
		first.offer(scored{e.slot, float64(e.least)})
	}
	slots := make([]uint32, 0, len(first.heap))
	for _, e := range first.heap {
		slots = append(slots, e.slot)
	}
	slices.Sort(slots)
	best, err := scanSlots(ctx, s, slots, query, limit)
	if err != nil {
		return staged{}, err
	}
	out := staged{rescored: len(slots)}
	floor, full := best.floor()
	rest := make([]uint32, 0, len(found))
	for _, e := range found {
		if _, done := slices.BinarySearch(slots, e.slot); !done && (!full || float64(e.most) >= floor) {
			rest = append(rest, e.slot)
		}
	}
	slices.Sort(rest)
	more, err := scanSlots(ctx, s, rest, query, limit)
	if err != nil {
		return staged{}, err
	}
	best.merge(more)
	out.rescored += len(rest)
	out.best = best.best(limit)
	return out, nil
}

// scanCodes returns, in no order, the rows that may be among the nearest by their codes.
func scanCodes(ctx context.Context, s *snapshot, filter slotSet, query []float32, limit, rows int) ([]estimated, error) {
	question := quant.NewCoder(s.centre).Ask(query)
	var parts [maxScanners]sieve
	err := share(ctx, rows, s.groups(), func(part int) func(from, to int) error {
		sieve := &parts[part]
		sieve.least = newTopK(limit)
		return func(from, to int) error {
			return s.eachGroup(filter, s.codes, from, to, func(w int, passing uint64) error {
				sieve.group(question, s.codes, w, passing)
				return nil
			})
		}
	})
	if err != nil {
		return nil, err
	}
	all := parts[0]
	for _, p := range parts[1:] {
		if p.least != nil {
			all.least.merge(p.least)
			all.found = append(all.found, p.found...)
		}
	}
	all.sift()
	return all.found, nil
}

// sieve keeps the rows that may be among the nearest of those that it was shown.
type sieve struct {
	least *topK       // by what scores are at least
	found []estimated // some more than may be
	room  int         // from how many found it sifts them again
	e     quant.Estimates
}

// leastRoom is from how many rows at least a sieve sifts what it has found.
const leastRoom = 4096

// fewPassing is up to how many of 64 rows are estimated one by one.
const fewPassing = 8

// group estimates the passing rows of the w-th group of 64 slots.
func (s *sieve) group(q *quant.Question, codes slotView, w int, passing uint64) {
	records := codes.extents[w*64/extentSlots].data[w*64%extentSlots*codes.stride:]
	few := bits.OnesCount64(passing) <= fewPassing
	if !few {
		q.Estimate(&s.e, records, codes.stride, 64)
	}
	floor, full := s.least.floor()
	for ; passing != 0; passing &= passing - 1 {
		i := bits.TrailingZeros64(passing)
		at := i
		if few {
			q.Estimate(&s.e, records[i*codes.stride:], codes.stride, 1)
			at = 0
		}
		margin := sureness * s.e.Spread[at]
		product := s.e.Product[at]
		if full && product+margin < floor {
			continue
		}
		slot := uint32(w*64 + i)
		s.found = append(s.found, estimated{slot, float32(product + margin), float32(product - margin)})
		if least := product - margin; !full || least > floor {
			s.least.offer(scored{slot, least})
			floor, full = s.least.floor()
		}
	}
	if len(s.found) > max(s.room, leastRoom) {
		s.sift()
		s.room = 2 * len(s.found)
	}
}

// sift drops the rows of which it has become clear that they are not among the nearest.
func (s *sieve) sift() {
	floor, full := s.least.floor()
	if !full {
		return
	}
	s.found = slices.DeleteFunc(s.found, func(e estimated) bool { return float64(e.most) < floor })
}
