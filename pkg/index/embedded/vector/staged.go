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

// Three-stage scan.
//
//  1. Estimate all scores from 1-bit codes, a twentieth of the data. RaBitQ provides the standard deviation σ of each
//     estimate.
//  2. Rescore the rows whose upper bound, estimate + confidence·σ, reaches the threshold θ. This reads their int8 codes,
//     a quarter of the data. An int8 code gives strict bounds on a score.
//  3. Read the full vectors of the rows whose upper bound reaches the limit-th best lower bound.
//
// θ is the limit-th best lower bound so far. The sooner it rises, the fewer rows need rescoring. So stage 2 starts as
// soon as some of the rows have estimates. It rescores the best of those rows, and then each row whose estimate is
// among the best so far. The other candidates wait until the end, when θ excludes most of them.

// Number of standard deviations by which an estimate's upper bound exceeds the estimate. With `confidence`, one row in
// a thousand has a true score above the bound. With fastConfidence, which scans of many rows without a filter use, it
// is six in a thousand. Such a row is missed only if its score is close to the threshold, so less than one in a
// thousand of the nearest rows is missed.
const confidence, fastConfidence = 3, 2.5

// Found is the result of scanning codes.
type Found struct {
	Best     []topk.Scored
	rescored int // rows compared in full precision
}

// candidate is a row that may be among the nearest.
type candidate struct {
	slot  uint32
	score float32 // estimate
	upper float32 // upper bound of the score
}

// ScanCodes returns the nearest live slots that pass the filter, in no particular order. `rows` is the approximate
// number of slots that pass the filter. The set must have codes.
func ScanCodes(ctx context.Context, s *Set, filter bitmap.Set, query []float32, limit, rows int) (Found, error) {
	question := quant.NewCoder(s.Centroid).Prepare(query)
	var parts [maxScanners]*selector
	var threshold atomic.Uint32
	threshold.Store(math.Float32bits(float32(math.Inf(-1))))
	sure := float32(confidence)
	if filter == nil && rows > exactUpTo {
		sure = fastConfidence
	}
	err := parallel(ctx, rows, s.Groups(), func(part int) func(from, to int) error {
		sel := newSelector(s, question, limit, min(rows/warmupShare, max(warmupRows*limit, minWarmup)), &threshold)
		sel.confidence = sure
		parts[part] = sel
		return func(from, to int) error {
			return s.eachGroup(filter, s.Bits, from, to, sel.group)
		}
	})
	defer releaseAll(parts[:])
	if err != nil {
		return Found{}, err
	}
	all := refinedPool.Get().(*refined)
	defer all.release()
	all.begin(limit)
	if err := all.rescore(ctx, s, question, parts[:]); err != nil {
		return Found{}, err
	}
	slots := all.slots()
	found, err := rescoreFull(ctx, s, slots, query, limit)
	if err != nil {
		return Found{}, err
	}
	return Found{found.Items(), len(slots)}, nil
}

// remaining takes the candidates whose upper bounds reach the threshold out of the selectors and returns their slots in
// ascending order. If `likely` is set, their estimates must reach it too. The slice is valid until the next call.
func (f *refined) remaining(parts []*selector, likely bool) []uint32 {
	threshold, slots := f.threshold(), f.scratch[:0]
	for _, p := range parts {
		if p == nil {
			continue
		}
		minimum := threshold // minimum estimate
		if !likely {
			minimum = float32(math.Inf(-1))
		}
		slots, p.found = p.take(slots, threshold, minimum)
	}
	slices.Sort(slots)
	f.scratch = slots
	return slots
}

// refined combines the results of a search's rescorers.
type refined struct {
	lower      topk.TopK // lower bounds of scores
	candidates []candidate
	scratch    []uint32
}

var refinedPool = sync.Pool{New: func() any { return new(refined) }}

func (f *refined) begin(limit int) {
	f.lower.Reset(limit)
	f.candidates = f.candidates[:0]
}

func (f *refined) release() {
	if cap(f.candidates) <= maxScratch && cap(f.scratch) <= maxScratch {
		refinedPool.Put(f)
	}
}

func (f *refined) add(c *rescorer) {
	f.lower.Merge(&c.lower)
	f.candidates = append(f.candidates, c.candidates...)
	c.lower.Reset(c.lower.K)
	c.candidates = c.candidates[:0]
}

// rescore collects the rows that the selectors have already rescored, and then rescores the remaining candidates,
// likely ones first.
func (f *refined) rescore(ctx context.Context, s *Set, q *quant.Query, parts []*selector) error {
	for _, p := range parts {
		if p == nil {
			continue
		}
		if err := p.end(); err != nil {
			return err
		}
		f.add(&p.rescorer)
	}
	for _, likely := range []bool{true, false} {
		if err := f.compare(ctx, s, q, f.remaining(parts, likely)); err != nil {
			return err
		}
	}
	return nil
}

// threshold returns the limit-th best lower bound minus an allowance for rounding errors.
func (f *refined) threshold() float32 {
	f.lower.Compact()
	if last, full := f.lower.Threshold(); full {
		return float32(last) - roundingSlack
	}
	return float32(math.Inf(-1))
}

// compare rescores slots, which must be ascending.
func (f *refined) compare(ctx context.Context, s *Set, q *quant.Query, slots []uint32) error {
	if len(slots) == 0 {
		return nil
	}
	threshold := f.threshold()
	var parts [maxScanners]*rescorer
	err := parallel(ctx, len(slots), len(slots), func(part int) func(from, to int) error {
		c := rescorerPool.Get().(*rescorer)
		c.begin(s, q, f.lower.K)
		c.threshold = threshold
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

// slots returns the slots that may be among the best, in ascending order.
func (f *refined) slots() []uint32 {
	threshold, slots := f.threshold(), f.scratch[:0]
	for _, e := range f.candidates {
		if e.upper >= threshold {
			slots = append(slots, e.slot)
		}
	}
	slices.Sort(slots)
	f.scratch = slots
	return slots
}

// rescorer compares rows by their int8 codes and keeps those that may be among the nearest.
type rescorer struct {
	s          *Set
	question   *quant.Query
	threshold  float32   // rows with a lower upper bound are dropped
	lower      topk.TopK // lower bounds of scores
	candidates []candidate
}

var rescorerPool = sync.Pool{New: func() any { return new(rescorer) }}

func (c *rescorer) release() {
	c.s, c.question = nil, nil
	if cap(c.candidates) <= maxScratch {
		rescorerPool.Put(c)
	}
}

func (c *rescorer) begin(s *Set, q *quant.Query, limit int) {
	c.s, c.question, c.threshold = s, q, float32(math.Inf(-1))
	c.lower.Reset(limit)
	c.candidates = c.candidates[:0]
}

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
		product, off := c.question.Int8(fine.Record(slot))
		if limit := product + off; limit >= c.threshold {
			c.candidates = append(c.candidates, candidate{slot, product, limit})
			c.lower.Offer(topk.Scored{Slot: slot, Score: float64(product - off)})
		}
	}
	c.lower.CompactOnce() // without a threshold, no row can be dropped
	if last, full := c.lower.Threshold(); full {
		c.threshold = max(c.threshold, float32(last)-roundingSlack)
	}
	return nil
}

// selector selects candidates by their 1-bit codes.
type selector struct {
	rescorer
	confidence      float32
	sharedThreshold *atomic.Uint32 // the highest in any of the scan's selectors, as float32 bits
	warmup          int            // rows still to estimate before rescoring starts
	estimates       topk.TopK      // the best estimates
	next            []uint32       // slots to rescore next, prefetched
	found           []candidate    // candidates to rescore; some may be below the threshold by now
	compactAt       int            // number of candidates at which to compact next
	e               quant.Estimates
}

const (
	// Before rescoring anything, a selector estimates warmupRows times the limit, but at least minWarmup rows and at most
	// 1/warmupShare of all rows.
	warmupRows, minWarmup, warmupShare = 16, 512, 16
	// minScratch is the number of candidates that triggers the first compaction. Buffers with a capacity above maxScratch
	// aren't reused.
	minScratch, maxScratch = 8192, 1 << 18
	// Number of rows rescored at a time.
	rescoreBatch = 16
	// Number of int8 codes to prefetch.
	prefetchAhead = 6
	// Upper bound on a threshold's rounding error.
	roundingSlack = 1e-6
)

var selectorPool = sync.Pool{New: func() any { return new(selector) }}

func newSelector(s *Set, q *quant.Query, limit, first int, shared *atomic.Uint32) *selector {
	v := selectorPool.Get().(*selector)
	v.begin(s, q, limit)
	v.sharedThreshold, v.warmup, v.compactAt, v.confidence = shared, first, minScratch, confidence
	v.estimates.Reset(limit)
	v.next, v.found = v.next[:0], v.found[:0]
	return v
}

func releaseAll(parts []*selector) {
	for _, p := range parts {
		p.release()
	}
}

// release returns the buffers to the pool. s may be nil.
func (s *selector) release() {
	if s == nil || cap(s.found) > maxScratch || cap(s.candidates) > maxScratch {
		return
	}
	s.s, s.question, s.sharedThreshold = nil, nil, nil
	selectorPool.Put(s)
}

// group estimates the scores of the passing slots among 64w to 64w+63.
func (s *selector) group(w int, passing uint64) error {
	s.threshold = max(s.threshold, math.Float32frombits(s.sharedThreshold.Load()))
	seen := bits.OnesCount64(passing)
	passing &= s.question.Above(&s.e, s.s.Bits.Group(w), s.confidence, s.threshold)
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

// offer adds a row unless its upper bound is below the threshold. `score` is the estimate, and `spread` is its standard
// deviation.
func (s *selector) offer(slot uint32, score, spread float32) {
	limit := score + s.confidence*spread
	if limit < s.threshold {
		return
	}
	if last, full := s.estimates.Threshold(); !full || float64(score) > last {
		s.estimates.Offer(topk.Scored{Slot: slot, Score: float64(score)})
		if s.warmup <= 0 {
			s.enqueue(slot)
			return
		}
	}
	if s.found = append(s.found, candidate{slot, score, limit}); len(s.found) >= s.compactAt {
		s.compact()
		s.compactAt = max(minScratch, 2*len(s.found))
	}
}

// enqueue prefetches a row and queues it for rescoring.
func (s *selector) enqueue(slot uint32) {
	quant.Prefetch(s.s.Int8.Record(slot))
	s.next = append(s.next, slot)
}

// compareLikely rescores the rows with the best estimates so far.
func (s *selector) compareLikely() error {
	s.warmup = 0
	s.estimates.Compact()
	minimum := float32(math.Inf(-1))
	if last, full := s.estimates.Threshold(); full {
		minimum = float32(last)
	}
	s.next, s.found = s.take(s.next, float32(math.Inf(-1)), minimum)
	return s.compareNext()
}

func (s *selector) end() error {
	if s.warmup > 0 {
		return s.compareLikely()
	}
	return s.compareNext()
}

// compareNext rescores the queued rows and raises the shared threshold.
func (s *selector) compareNext() error {
	if err := s.compare(s.next); err != nil {
		return err
	}
	s.next = s.next[:0]
	s.raiseThreshold()
	return nil
}

// raiseThreshold raises the threshold shared by all selectors in the scan.
func (s *selector) raiseThreshold() {
	for {
		was := s.sharedThreshold.Load()
		if math.Float32frombits(was) >= s.threshold || s.sharedThreshold.CompareAndSwap(was, math.Float32bits(s.threshold)) {
			return
		}
	}
}

// compact drops candidates below the threshold. It is branch-free, because the outcome is unpredictable.
func (s *selector) compact() {
	n := 0
	for _, e := range s.found {
		s.found[n] = e
		if e.upper >= s.threshold {
			n++
		}
	}
	s.found = s.found[:n]
}

// take moves the slots of candidates whose upper bound reaches `threshold` and whose estimate reaches `minimum` to
// `slots`. It returns the candidates whose upper bound alone reaches `threshold` in `left`, and drops all others.
func (s *selector) take(slots []uint32, threshold, minimum float32) (taken []uint32, left []candidate) {
	from, n := len(slots), 0
	slots = slices.Grow(slots, len(s.found))[:from+len(s.found)]
	for _, e := range s.found {
		s.found[n], slots[from] = e, e.slot
		if e.upper >= threshold {
			if e.score >= minimum {
				from++
			} else {
				n++
			}
		}
	}
	return slots[:from], s.found[:n]
}
