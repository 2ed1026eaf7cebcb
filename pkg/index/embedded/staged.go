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

// A staged scan estimates all scores from codes, which take a twentieth of what the vectors take, and compares those rows by
// their fine codes, a quarter of a vector, that may be among the nearest. It knows how far an estimate may be off, for each row,
// and so which rows these are: those whose score, were it sureness times the spread above its estimate, would be among the best
// that were found. Where codes tell nothing, that is every row. A fine code tells within which bounds a score lies, so that only
// few vectors need be read: of those rows whose score may be as high as as many others' are at least.
//
// So few fine codes are compared as need be, for they are the larger part of what is read: at first those that have the highest
// estimates of a part of the rows, then, as the scan goes on, whatever has a higher one than as many others as are wanted. So
// there are soon scores to hold estimates against. What only may be among the nearest is compared at the end, if it still may.

// sureness is how many standard deviations a row's score is taken to lie above its estimate. One of a thousand lies
// higher; of the rows asked for most lie well above the last of them, and are found even then.
const sureness = 3

// staged is the outcome of a staged scan.
type staged struct {
	best     []scored
	compared int // rows whose fine codes were compared
	rescored int // rows that were compared in full precision
}

// estimated is a row that may be among the nearest.
type estimated struct {
	slot  uint32
	score float32 // what its score seems to be
	most  float32 // what its score may be
}

// scanStaged returns the nearest of the live slots that pass the filter, of which there are about so many rows.
func scanStaged(ctx context.Context, s *vectorSet, filter slotSet, query []float32, limit, rows int) (staged, error) {
	question := quant.NewCoder(s.centre).Ask(query)
	var parts [maxScanners]*sieve
	var floor atomic.Uint32
	floor.Store(math.Float32bits(float32(math.Inf(-1))))
	err := share(ctx, rows, s.groups(), func(part int) func(from, to int) error {
		sieve := newSieve(s, question, limit, rows/firstShare, &floor)
		parts[part] = sieve
		return func(from, to int) error {
			return s.eachGroup(filter, s.codes, from, to, sieve.group)
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
	all := finestPool.Get().(*finest)
	defer all.release()
	all.begin(limit)
	for _, p := range parts {
		if p == nil {
			continue
		}
		if err := p.end(); err != nil {
			return staged{}, err
		}
		all.add(&p.comparison)
	}
	for _, likely := range []bool{true, false} {
		if err := all.compare(ctx, s, question, all.remaining(parts[:], likely)); err != nil {
			return staged{}, err
		}
	}
	slots := all.slots()
	found, err := scanSlots(ctx, s, slots, query, limit)
	if err != nil {
		return staged{}, err
	}
	return staged{found.kept(), all.compared, len(slots)}, nil
}

// remaining takes from what sieves have found the rows that may reach the floor, or only those that seem to. They are in ascending
// order, and hold until it is called again.
func (f *finest) remaining(parts []*sieve, likely bool) []uint32 {
	floor, slots := f.floor(), f.room[:0]
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
	f.room = slots
	return slots
}

// finest is what comparisons by fine codes have found together.
type finest struct {
	least    topK // of what scores are at least
	near     []estimated
	compared int
	room     []uint32
}

// finestPool keeps their room between searches.
var finestPool = sync.Pool{New: func() any { return new(finest) }}

func (f *finest) begin(limit int) {
	f.least.begin(limit)
	f.near, f.compared = f.near[:0], 0
}

func (f *finest) release() {
	if cap(f.near) <= mostRoom && cap(f.room) <= mostRoom {
		finestPool.Put(f)
	}
}

func (f *finest) add(c *comparison) {
	f.least.merge(&c.least)
	f.near = append(f.near, c.near...)
	f.compared += c.compared
}

// floor is what scores must be able to reach, or a little less: as many rows as are wanted reach it.
func (f *finest) floor() float32 {
	f.least.part()
	if last, full := f.least.floor(); full {
		return float32(last) - rounded
	}
	return float32(math.Inf(-1))
}

// compare compares the fine codes of slots, which are in ascending order, too.
func (f *finest) compare(ctx context.Context, s *vectorSet, q *quant.Question, slots []uint32) error {
	if len(slots) == 0 {
		return nil
	}
	floor := f.floor()
	var parts [maxScanners]*comparison
	err := share(ctx, len(slots), len(slots), func(part int) func(from, to int) error {
		c := comparisonPool.Get().(*comparison)
		c.begin(s, q, f.least.k)
		c.floor = floor
		parts[part] = c
		return func(from, to int) error { return c.compare(slots[from:to]) }
	})
	for _, c := range parts {
		if c != nil {
			f.add(c)
			c.release()
		}
	}
	return err
}

// slots returns those whose scores may be among the best, in ascending order.
func (f *finest) slots() []uint32 {
	floor, slots := f.floor(), f.room[:0]
	for _, e := range f.near {
		if e.most >= floor {
			slots = append(slots, e.slot)
		}
	}
	slices.Sort(slots)
	f.room = slots
	return slots
}

// comparison compares rows by their fine codes, and keeps those that may be among the nearest.
type comparison struct {
	s        *vectorSet
	question *quant.Question
	floor    float32 // what scores must be able to reach, or a little less
	least    topK    // of what scores are at least
	near     []estimated
	compared int
}

// comparisonPool keeps their room between searches.
var comparisonPool = sync.Pool{New: func() any { return new(comparison) }}

func (c *comparison) release() {
	c.s, c.question = nil, nil
	if cap(c.near) <= mostRoom {
		comparisonPool.Put(c)
	}
}

func (c *comparison) begin(s *vectorSet, q *quant.Question, limit int) {
	c.s, c.question, c.floor = s, q, float32(math.Inf(-1))
	c.least.begin(limit)
	c.near, c.compared = c.near[:0], 0
}

// compare compares the fine codes of live slots.
func (c *comparison) compare(slots []uint32) error {
	fine := &c.s.fine
	for i, slot := range slots {
		if i+fineAhead < len(slots) {
			quant.Prefetch(fine.record(slots[i+fineAhead]))
		}
		w := int(slot / 64)
		if err := fine.check(w, c.s.live.word(w)); err != nil {
			return err
		}
		product, off := c.question.Fine(fine.record(slot))
		if most := product + off; most >= c.floor {
			c.near = append(c.near, estimated{slot, product, most})
			c.least.offer(scored{slot, float64(product - off)})
		}
	}
	c.compared += len(slots)
	c.least.firstPart() // until there is a floor, nothing is known not to be among the nearest
	if last, full := c.least.floor(); full {
		c.floor = max(c.floor, float32(last)-rounded)
	}
	return nil
}

// sieve keeps the rows that may be among the nearest of those that it was shown.
type sieve struct {
	comparison
	shared *atomic.Uint32 // the highest floor of all sieves of a scan, as bits
	first  int            // rows that it looks at before it compares any
	likely topK           // of the estimates
	next   []uint32       // slots that are compared next, which are on their way from memory
	found  []estimated    // not compared; some more than may be
	room   int            // from how many found it sifts them again
	e      quant.Estimates
}

const (
	// firstShare is of how many rows one is looked at before any is compared.
	firstShare = 16
	// leastRoom is from how many rows at least a sieve sifts what it has found, mostRoom how many at most it has room for when
	// it is used again.
	leastRoom, mostRoom = 8192, 1 << 18
	// nextRows is how many rows are compared one after another.
	nextRows = 16
	// fineAhead is how many fine codes are on their way from memory while one is compared.
	fineAhead = 6
	// rounded is more than what rounding does to a floor.
	rounded = 1e-6
)

// sievePool keeps the room of sieves between searches.
var sievePool = sync.Pool{New: func() any { return new(sieve) }}

func newSieve(s *vectorSet, q *quant.Question, limit, first int, shared *atomic.Uint32) *sieve {
	v := sievePool.Get().(*sieve)
	v.begin(s, q, limit)
	v.shared, v.first, v.room = shared, first, leastRoom
	v.likely.begin(limit)
	v.next, v.found = v.next[:0], v.found[:0]
	return v
}

// release gives the room back; of no sieve it does nothing.
func (s *sieve) release() {
	if s == nil || cap(s.found) > mostRoom || cap(s.near) > mostRoom {
		return
	}
	s.s, s.question, s.shared = nil, nil, nil
	sievePool.Put(s)
}

// group estimates the passing rows of the w-th group of 64 slots.
func (s *sieve) group(w int, passing uint64) error {
	s.floor = max(s.floor, math.Float32frombits(s.shared.Load()))
	seen := bits.OnesCount64(passing)
	passing &= s.question.Above(&s.e, s.s.codes.group(w), sureness, s.floor)
	for ; passing != 0; passing &= passing - 1 {
		i := bits.TrailingZeros64(passing)
		s.offer(uint32(w*64+i), s.e.Product[i], s.e.Spread[i])
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
	return s.compareNext()
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
	quant.Prefetch(s.s.fine.record(slot))
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
	return s.compareNext()
}

// end compares what still waits for it.
func (s *sieve) end() error {
	if s.first > 0 {
		return s.compareLikely()
	}
	return s.compareNext()
}

// compareNext compares the rows that wait for it.
func (s *sieve) compareNext() error {
	if err := s.compare(s.next); err != nil {
		return err
	}
	s.next = s.next[:0]
	s.raise()
	return nil
}

// raise raises the floor of all sieves of the scan to its own.
func (s *sieve) raise() {
	for {
		was := s.shared.Load()
		if math.Float32frombits(was) >= s.floor || s.shared.CompareAndSwap(was, math.Float32bits(s.floor)) {
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
