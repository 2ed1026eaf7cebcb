package embedded

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

// A staged scan estimates all scores from codes, which take a twentieth of what the vectors take, and compares the vectors of
// those rows in full that may be among the nearest. It knows how far an estimate may be off, for each row, and so which rows
// these are: those whose score, were it sureness times the spread above its estimate, would be among the best that were
// found. Where codes tell nothing, that is every row.
//
// What seems to be among the nearest so far is compared at once, so that there are soon true scores to hold the others
// against; what only may be is compared at the end, if it still may.

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
	slot uint32
	most float32 // what its score may be
}

// scanStaged returns the nearest of the live slots that pass the filter, of which there are about so many rows.
func scanStaged(ctx context.Context, s *snapshot, filter slotSet, query []float32, limit, rows int) (staged, error) {
	question := quant.NewCoder(s.centre).Ask(query)
	var parts [maxScanners]sieve
	var floor atomic.Uint32
	floor.Store(math.Float32bits(float32(math.Inf(-1))))
	err := share(ctx, rows, s.groups(), func(part int) func(from, to int) error {
		sieve := &parts[part]
		*sieve = *newSieve(s, query, limit, &floor)
		return func(from, to int) error {
			err := s.eachGroup(filter, s.codes, from, to, func(w int, passing uint64) error {
				return sieve.group(question, w, passing)
			})
			if err != nil {
				return err
			}
			return sieve.compare()
		}
	})
	if err != nil {
		return staged{}, err
	}
	all := parts[0]
	for _, p := range parts[1:] {
		if p.best != nil {
			all.best.merge(p.best)
			all.found = append(all.found, p.found...)
			all.compared += p.compared
		}
	}
	all.sift()
	rest := make([]uint32, 0, len(all.found))
	for _, e := range all.found {
		rest = append(rest, e.slot)
	}
	slices.Sort(rest)
	more, err := scanSlots(ctx, s, rest, query, limit)
	if err != nil {
		return staged{}, err
	}
	all.best.merge(more)
	return staged{all.best.best(limit), all.compared + len(rest)}, nil
}

// sieve keeps the rows that may be among the nearest of those that it was shown.
type sieve struct {
	s        *snapshot
	query    []float32
	shared   *atomic.Uint32 // the highest floor of all sieves of a scan, as bits
	floor    float32        // what scores must be able to reach, or a little less
	best     *topK          // of those compared
	compared int
	next     []uint32    // slots that are compared next, which are on their way from memory
	found    []estimated // some more than may be
	room     int         // from how many found it sifts them again
	e        quant.Estimates
}

const (
	// leastRoom is from how many rows at least a sieve sifts what it has found.
	leastRoom = 4096
	// fewPassing is up to how many of 64 rows are estimated one by one.
	fewPassing = 8
	// nextRows is how many rows are compared one after another.
	nextRows = 16
	// rounded is more than what rounding does to a floor.
	rounded = 1e-6
)

func newSieve(s *snapshot, query []float32, limit int, shared *atomic.Uint32) *sieve {
	return &sieve{s: s, query: query, shared: shared, floor: float32(math.Inf(-1)), best: newTopK(limit), next: make([]uint32, 0, nextRows)}
}

// group estimates the passing rows of the w-th group of 64 slots.
func (s *sieve) group(q *quant.Question, w int, passing uint64) error {
	codes := s.s.codes
	records := codes.extents[w*64/extentSlots].data[w*64%extentSlots*codes.stride:]
	s.floor = max(s.floor, math.Float32frombits(s.shared.Load()))
	if bits.OnesCount64(passing) > fewPassing {
		passing &= q.Above(&s.e, records, codes.stride, sureness, s.floor)
		for ; passing != 0; passing &= passing - 1 {
			i := bits.TrailingZeros64(passing)
			if err := s.offer(uint32(w*64+i), s.e.Product[i], s.e.Spread[i]); err != nil {
				return err
			}
		}
		return nil
	}
	for ; passing != 0; passing &= passing - 1 {
		i := bits.TrailingZeros64(passing)
		q.Estimate(&s.e, records[i*codes.stride:], codes.stride, 1)
		if err := s.offer(uint32(w*64+i), s.e.Product[0], s.e.Spread[0]); err != nil {
			return err
		}
	}
	return nil
}

// offer takes a row in, by its estimate, unless it is clear that it is not among the nearest.
func (s *sieve) offer(slot uint32, product, spread float32) error {
	most := product + sureness*spread
	switch {
	case most < s.floor:
	case product < s.floor:
		s.found = append(s.found, estimated{slot, most})
		if len(s.found) > max(s.room, leastRoom) {
			s.sift()
			s.room = 2 * len(s.found)
		}
	default:
		quant.Prefetch(floatsOf(s.s.vectors.record(slot)))
		if s.next = append(s.next, slot); len(s.next) == nextRows {
			return s.compare()
		}
	}
	return nil
}

// compare compares the rows that wait for it.
func (s *sieve) compare() error {
	for _, slot := range s.next {
		w := int(slot / 64)
		if err := s.s.vectors.check(w, s.s.live.word(w)); err != nil {
			return err
		}
		s.best.offer(scored{slot, float64(quant.Dot(s.query, floatsOf(s.s.vectors.record(slot))))})
	}
	s.compared += len(s.next)
	s.next = s.next[:0]
	if last, full := s.best.floor(); full {
		s.raise(float32(last) - rounded)
	}
	return nil
}

// raise raises the floor of all sieves of the scan: as many rows as are wanted reach it.
func (s *sieve) raise(floor float32) {
	s.floor = max(s.floor, floor)
	for {
		was := s.shared.Load()
		if math.Float32frombits(was) >= floor || s.shared.CompareAndSwap(was, math.Float32bits(floor)) {
			return
		}
	}
}

// sift drops the rows of which it has become clear that they are not among the nearest.
func (s *sieve) sift() {
	if last, full := s.best.floor(); full {
		s.raise(float32(last) - rounded)
	}
	s.found = slices.DeleteFunc(s.found, func(e estimated) bool { return e.most < s.floor })
}
