package embedded

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

// A staged scan estimates all scores from codes, which take a twentieth of what the vectors take, and compares the vectors of
// those rows in full that may be among the nearest. It knows how far an estimate may be off, for each row, and so which rows
// these are: those whose score, were it sureness times the spread above its estimate, would be among the best that were
// found. Where codes tell nothing, that is every row.
//
// So few vectors are compared as need be, for they are the larger part of what is read: at first those that have the highest
// estimates of a part of the rows, then, as the scan goes on, whatever has a higher one than as many others as are wanted. So
// there are soon true scores to hold estimates against. What only may be among the nearest is compared at the end, if it
// still may.

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
	score float32 // what its score seems to be
	most  float32 // what its score may be
}

// scanStaged returns the nearest of the live slots that pass the filter, of which there are about so many rows.
func scanStaged(ctx context.Context, s *snapshot, filter slotSet, query []float32, limit, rows int) (staged, error) {
	question := quant.NewCoder(s.centre).Ask(query)
	var parts [maxScanners]*sieve
	var floor atomic.Uint32
	floor.Store(math.Float32bits(float32(math.Inf(-1))))
	err := share(ctx, rows, s.groups(), func(part int) func(from, to int) error {
		sieve := newSieve(s, query, limit, rows/firstShare, &floor)
		parts[part] = sieve
		return func(from, to int) error {
			return s.eachGroup(filter, s.codes, from, to, func(w int, passing uint64) error {
				return sieve.group(question, w, passing)
			})
		}
	})
	defer func() {
		for _, p := range parts {
			p.release()
		}
	}()
	if err != nil {
		return staged{}, err
	}
	best, out := newTopK(limit), staged{}
	for _, p := range parts {
		if p == nil {
			continue
		}
		if err := p.end(); err != nil {
			return staged{}, err
		}
		best.merge(&p.best)
		out.rescored += p.compared
	}
	for _, likely := range []bool{true, false} {
		best.part()
		slots := remaining(parts[:], best, likely)
		if len(slots) == 0 {
			continue
		}
		more, err := scanSlots(ctx, s, slots, query, limit)
		if err != nil {
			return staged{}, err
		}
		best.merge(more)
		out.rescored += len(slots)
	}
	out.best = best.kept()
	return out, nil
}

// remaining takes from what sieves have found the rows that may be among the best, or only those that seem to be.
func remaining(parts []*sieve, best *topK, likely bool) []uint32 {
	floor := float32(math.Inf(-1))
	if last, full := best.floor(); full {
		floor = float32(last) - rounded
	}
	var slots []uint32
	for _, p := range parts {
		if p == nil {
			continue
		}
		least := floor // what an estimate must reach
		if !likely {
			least = float32(math.Inf(-1))
		}
		slots, p.found = p.take(slots, floor, least)
	}
	slices.Sort(slots)
	return slots
}

// sieve keeps the rows that may be among the nearest of those that it was shown.
type sieve struct {
	s        *snapshot
	query    []float32
	shared   *atomic.Uint32 // the highest floor of all sieves of a scan, as bits
	floor    float32        // what scores must be able to reach, or a little less
	first    int            // rows that it looks at before it compares any
	likely   topK           // of the estimates
	best     topK           // of those compared
	compared int
	next     []uint32    // slots that are compared next, which are on their way from memory
	found    []estimated // not compared; some more than may be
	room     int         // from how many found it sifts them again
	e        quant.Estimates
}

const (
	// firstShare is of how many rows one is looked at before any is compared.
	firstShare = 16
	// leastRoom is from how many rows at least a sieve sifts what it has found, mostRoom how many at most it has room for when
	// it is used again.
	leastRoom, mostRoom = 8192, 1 << 18
	// fewPassing is up to how many of 64 rows are estimated one by one.
	fewPassing = 8
	// nextRows is how many rows are compared one after another.
	nextRows = 16
	// rounded is more than what rounding does to a floor.
	rounded = 1e-6
)

// sievePool keeps the room of sieves between searches.
var sievePool = sync.Pool{New: func() any { return new(sieve) }}

func newSieve(s *snapshot, query []float32, limit, first int, shared *atomic.Uint32) *sieve {
	v := sievePool.Get().(*sieve)
	v.s, v.query, v.shared, v.first = s, query, shared, first
	v.floor, v.compared, v.room = float32(math.Inf(-1)), 0, leastRoom
	v.likely.begin(limit)
	v.best.begin(limit)
	v.next, v.found = v.next[:0], v.found[:0]
	return v
}

// release gives the room back; of no sieve it does nothing.
func (s *sieve) release() {
	if s == nil || cap(s.found) > mostRoom {
		return
	}
	s.s, s.query, s.shared = nil, nil, nil
	sievePool.Put(s)
}

// group estimates the passing rows of the w-th group of 64 slots.
func (s *sieve) group(q *quant.Question, w int, passing uint64) error {
	codes := s.s.codes
	records := codes.extents[w*64/extentSlots].data[w*64%extentSlots*codes.stride:]
	s.floor = max(s.floor, math.Float32frombits(s.shared.Load()))
	seen := bits.OnesCount64(passing)
	if seen > fewPassing {
		passing &= q.Above(&s.e, records, codes.stride, sureness, s.floor)
		for ; passing != 0; passing &= passing - 1 {
			i := bits.TrailingZeros64(passing)
			s.offer(uint32(w*64+i), s.e.Product[i], s.e.Spread[i])
		}
	} else {
		for ; passing != 0; passing &= passing - 1 {
			i := bits.TrailingZeros64(passing)
			q.Estimate(&s.e, records[i*codes.stride:], codes.stride, 1)
			s.offer(uint32(w*64+i), s.e.Product[0], s.e.Spread[0])
		}
	}
	if s.first > 0 {
		if s.first -= seen; s.first <= 0 {
			return s.compareLikely()
		}
		return nil
	}
	if len(s.next) < nextRows {
		return nil
	}
	return s.compare()
}

// offer takes a row in, by its estimate, unless it is clear that it is not among the nearest.
func (s *sieve) offer(slot uint32, score, spread float32) {
	most := score + sureness*spread
	if most < s.floor {
		return
	}
	if last, full := s.likely.floor(); !full || float64(score) > last {
		s.likely.offer(scored{slot, float64(score)})
		if s.first <= 0 {
			s.wait(slot)
			return
		}
	}
	if s.found = append(s.found, estimated{slot, score, most}); len(s.found) >= s.room {
		s.sift()
		s.room = max(leastRoom, 2*len(s.found))
	}
}

// wait has a row compared soon.
func (s *sieve) wait(slot uint32) {
	quant.Prefetch(s.s.vectors.record(slot))
	s.next = append(s.next, slot)
}

// compareLikely compares those with the highest estimates of the rows found so far.
func (s *sieve) compareLikely() error {
	s.first = 0
	s.likely.part()
	least := float32(math.Inf(-1))
	if last, full := s.likely.floor(); full {
		least = float32(last)
	}
	s.next, s.found = s.take(s.next, float32(math.Inf(-1)), least)
	return s.compare()
}

// end compares what still waits for it.
func (s *sieve) end() error {
	if s.first > 0 {
		return s.compareLikely()
	}
	return s.compare()
}

// compare compares the rows that wait for it.
func (s *sieve) compare() error {
	for i, slot := range s.next {
		if i+nextRows < len(s.next) {
			quant.Prefetch(s.s.vectors.record(s.next[i+nextRows]))
		}
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

// sift drops the rows of which it has become clear that they are not among the nearest. Which are is chance to the processor,
// so there is no branch on it.
func (s *sieve) sift() {
	n := 0
	for _, e := range s.found {
		s.found[n] = e
		if e.most >= s.floor {
			n++
		}
	}
	s.found = s.found[:n]
}

// take takes those out of what was found whose score may reach a floor, and whose estimate reaches least; their slots are added
// to slots. What cannot reach the floor is gone, too.
func (s *sieve) take(slots []uint32, floor, least float32) (taken []uint32, left []estimated) {
	from, n := len(slots), 0
	slots = slices.Grow(slots, len(s.found))[:from+len(s.found)]
	for _, e := range s.found {
		s.found[n], slots[from] = e, e.slot
		if e.most >= floor {
			if e.score >= least {
				from++
			} else {
				n++
			}
		}
	}
	return slots[:from], s.found[:n]
}
