package vector

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/topk"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
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

// confidence is how many standard deviations a row's score is taken to lie above its estimate. One of a thousand lies
// higher; of the rows asked for most lie well above the last of them, and are found even then.
const confidence = 3

// Found is the outcome of a staged scan.
type Found struct {
	Best     []topk.Scored
	compared int // rows whose fine codes were compared
	rescored int // rows that were compared in full precision
}

// candidate is a row that may be among the nearest.
type candidate struct {
	slot  uint32
	score float32 // what its score seems to be
	upper float32 // what its score may be
}

// ScanCodes returns the nearest of the live slots that pass the filter, of which there are about so many rows.
func ScanCodes(ctx context.Context, s *Set, filter bitmap.Set, query []float32, limit, rows int) (Found, error) {
	question := quant.NewCoder(s.Centroid).Ask(query)
	var parts [maxScanners]*selector
	var floor atomic.Uint32
	floor.Store(math.Float32bits(float32(math.Inf(-1))))
	err := parallel(ctx, rows, s.Groups(), func(part int) func(from, to int) error {
		sieve := newSelector(s, question, limit, rows/warmupShare, &floor)
		parts[part] = sieve
		return func(from, to int) error {
			return s.eachGroup(filter, s.Bits, from, to, sieve.group)
		}
	})
	defer func() {
		for _, p := range parts {
			p.release()
		}
	}()
	if err != nil {
		return Found{}, err
	}
	all := refinedPool.Get().(*refined)
	defer all.release()
	all.begin(limit)
	for _, p := range parts {
		if p == nil {
			continue
		}
		if err := p.end(); err != nil {
			return Found{}, err
		}
		all.add(&p.rescorer)
	}
	for _, likely := range []bool{true, false} {
		if err := all.compare(ctx, s, question, all.remaining(parts[:], likely)); err != nil {
			return Found{}, err
		}
	}
	slots := all.slots()
	found, err := rescoreFull(ctx, s, slots, query, limit)
	if err != nil {
		return Found{}, err
	}
	return Found{found.Items(), all.compared, len(slots)}, nil
}

// remaining takes from what sieves have found the rows that may reach the floor, or only those that seem to. They are in ascending
// order, and hold until it is called again.
func (f *refined) remaining(parts []*selector, likely bool) []uint32 {
	floor, slots := f.threshold(), f.scratch[:0]
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
	f.scratch = slots
	return slots
}

// refined is what comparisons by fine codes have found together.
type refined struct {
	lower      topk.TopK // of what scores are at least
	candidates []candidate
	compared   int
	scratch    []uint32
}

// refinedPool keeps their room between searches.
var refinedPool = sync.Pool{New: func() any { return new(refined) }}

func (f *refined) begin(limit int) {
	f.lower.Reset(limit)
	f.candidates, f.compared = f.candidates[:0], 0
}

func (f *refined) release() {
	if cap(f.candidates) <= maxScratch && cap(f.scratch) <= maxScratch {
		refinedPool.Put(f)
	}
}

func (f *refined) add(c *rescorer) {
	f.lower.Merge(&c.lower)
	f.candidates = append(f.candidates, c.candidates...)
	f.compared += c.compared
}

// threshold is what scores must be able to reach, or a little less: as many rows as are wanted reach it.
func (f *refined) threshold() float32 {
	f.lower.Compact()
	if last, full := f.lower.Threshold(); full {
		return float32(last) - roundingSlack
	}
	return float32(math.Inf(-1))
}

// compare compares the fine codes of slots, which are in ascending order, too.
func (f *refined) compare(ctx context.Context, s *Set, q *quant.Question, slots []uint32) error {
	if len(slots) == 0 {
		return nil
	}
	floor := f.threshold()
	var parts [maxScanners]*rescorer
	err := parallel(ctx, len(slots), len(slots), func(part int) func(from, to int) error {
		c := rescorerPool.Get().(*rescorer)
		c.begin(s, q, f.lower.K)
		c.threshold = floor
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
func (f *refined) slots() []uint32 {
	floor, slots := f.threshold(), f.scratch[:0]
	for _, e := range f.candidates {
		if e.upper >= floor {
			slots = append(slots, e.slot)
		}
	}
	slices.Sort(slots)
	f.scratch = slots
	return slots
}

// rescorer compares rows by their fine codes, and keeps those that may be among the nearest.
type rescorer struct {
	s          *Set
	question   *quant.Question
	threshold  float32   // what scores must be able to reach, or a little less
	lower      topk.TopK // of what scores are at least
	candidates []candidate
	compared   int
}

// rescorerPool keeps their room between searches.
var rescorerPool = sync.Pool{New: func() any { return new(rescorer) }}

func (c *rescorer) release() {
	c.s, c.question = nil, nil
	if cap(c.candidates) <= maxScratch {
		rescorerPool.Put(c)
	}
}

func (c *rescorer) begin(s *Set, q *quant.Question, limit int) {
	c.s, c.question, c.threshold = s, q, float32(math.Inf(-1))
	c.lower.Reset(limit)
	c.candidates, c.compared = c.candidates[:0], 0
}

// compare compares the fine codes of live slots.
func (c *rescorer) compare(slots []uint32) error {
	fine := &c.s.Int8
	for i, slot := range slots {
		if i+prefetchAhead < len(slots) {
			quant.Prefetch(fine.Record(slots[i+prefetchAhead]))
		}
		w := int(slot / 64)
		if err := fine.Check(w, c.s.Live.Word(w)); err != nil {
			return err
		}
		product, off := c.question.Fine(fine.Record(slot))
		if most := product + off; most >= c.threshold {
			c.candidates = append(c.candidates, candidate{slot, product, most})
			c.lower.Offer(topk.Scored{Slot: slot, Score: float64(product - off)})
		}
	}
	c.compared += len(slots)
	c.lower.CompactOnce() // until there is a floor, nothing is known not to be among the nearest
	if last, full := c.lower.Threshold(); full {
		c.threshold = max(c.threshold, float32(last)-roundingSlack)
	}
	return nil
}

// selector keeps the rows that may be among the nearest of those that it was shown.
type selector struct {
	rescorer
	shared    *atomic.Uint32 // the highest floor of all sieves of a scan, as bits
	warmup    int            // rows that it looks at before it compares any
	estimates topk.TopK      // of the estimates
	next      []uint32       // slots that are compared next, which are on their way from memory
	found     []candidate    // not compared; some more than may be
	siftAt    int            // from how many found it sifts them again
	e         quant.Estimates
}

const (
	// warmupShare is of how many rows one is looked at before any is compared.
	warmupShare = 16
	// minScratch is from how many rows at least a sieve sifts what it has found, mostRoom how many at most it has room for when
	// it is used again.
	minScratch, maxScratch = 8192, 1 << 18
	// rescoreBatch is how many rows are compared one after another.
	rescoreBatch = 16
	// prefetchAhead is how many fine codes are on their way from memory while one is compared.
	prefetchAhead = 6
	// roundingSlack is more than what rounding does to a floor.
	roundingSlack = 1e-6
)

// selectorPool keeps the room of sieves between searches.
var selectorPool = sync.Pool{New: func() any { return new(selector) }}

func newSelector(s *Set, q *quant.Question, limit, first int, shared *atomic.Uint32) *selector {
	v := selectorPool.Get().(*selector)
	v.begin(s, q, limit)
	v.shared, v.warmup, v.siftAt = shared, first, minScratch
	v.estimates.Reset(limit)
	v.next, v.found = v.next[:0], v.found[:0]
	return v
}

// release gives the room back; of no sieve it does nothing.
func (s *selector) release() {
	if s == nil || cap(s.found) > maxScratch || cap(s.candidates) > maxScratch {
		return
	}
	s.s, s.question, s.shared = nil, nil, nil
	selectorPool.Put(s)
}

// group estimates the passing rows of the w-th group of 64 slots.
func (s *selector) group(w int, passing uint64) error {
	s.threshold = max(s.threshold, math.Float32frombits(s.shared.Load()))
	seen := bits.OnesCount64(passing)
	passing &= s.question.Above(&s.e, s.s.Bits.Group(w), confidence, s.threshold)
	for ; passing != 0; passing &= passing - 1 {
		i := bits.TrailingZeros64(passing)
		s.offer(uint32(w*64+i), s.e.Product[i], s.e.Spread[i])
	}
	if s.warmup > 0 {
		if s.warmup -= seen; s.warmup <= 0 {
			return s.compareLikely()
		}
		return nil
	}
	if len(s.next) < rescoreBatch {
		return nil
	}
	return s.compareNext()
}

// offer takes a row in, by its estimate, unless it is clear that it is not among the nearest.
func (s *selector) offer(slot uint32, score, spread float32) {
	most := score + confidence*spread
	if most < s.threshold {
		return
	}
	if last, full := s.estimates.Threshold(); !full || float64(score) > last {
		s.estimates.Offer(topk.Scored{Slot: slot, Score: float64(score)})
		if s.warmup <= 0 {
			s.enqueue(slot)
			return
		}
	}
	if s.found = append(s.found, candidate{slot, score, most}); len(s.found) >= s.siftAt {
		s.sift()
		s.siftAt = max(minScratch, 2*len(s.found))
	}
}

// enqueue has a row compared soon.
func (s *selector) enqueue(slot uint32) {
	quant.Prefetch(s.s.Int8.Record(slot))
	s.next = append(s.next, slot)
}

// compareLikely compares those with the highest estimates of the rows found so far.
func (s *selector) compareLikely() error {
	s.warmup = 0
	s.estimates.Compact()
	least := float32(math.Inf(-1))
	if last, full := s.estimates.Threshold(); full {
		least = float32(last)
	}
	s.next, s.found = s.take(s.next, float32(math.Inf(-1)), least)
	return s.compareNext()
}

// end compares what still waits for it.
func (s *selector) end() error {
	if s.warmup > 0 {
		return s.compareLikely()
	}
	return s.compareNext()
}

// compareNext compares the rows that wait for it.
func (s *selector) compareNext() error {
	if err := s.compare(s.next); err != nil {
		return err
	}
	s.next = s.next[:0]
	s.raiseShared()
	return nil
}

// raiseShared raises the floor of all sieves of the scan to its own.
func (s *selector) raiseShared() {
	for {
		was := s.shared.Load()
		if math.Float32frombits(was) >= s.threshold || s.shared.CompareAndSwap(was, math.Float32bits(s.threshold)) {
			return
		}
	}
}

// sift drops the rows of which it has become clear that they are not among the nearest. Which are is chance to the processor,
// so there is no branch on it.
func (s *selector) sift() {
	n := 0
	for _, e := range s.found {
		s.found[n] = e
		if e.upper >= s.threshold {
			n++
		}
	}
	s.found = s.found[:n]
}

// take takes those out of what was found whose score may reach a floor, and whose estimate reaches least; their slots are added
// to slots. What cannot reach the floor is gone, too.
func (s *selector) take(slots []uint32, floor, least float32) (taken []uint32, left []candidate) {
	from, n := len(slots), 0
	slots = slices.Grow(slots, len(s.found))[:from+len(s.found)]
	for _, e := range s.found {
		s.found[n], slots[from] = e, e.slot
		if e.upper >= floor {
			if e.score >= least {
				from++
			} else {
				n++
			}
		}
	}
	return slots[:from], s.found[:n]
}
