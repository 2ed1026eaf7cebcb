package vector

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/index/embedded/topk"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

// ScanLists probes lists in rounds. The first round probes a fixed fraction of them, namely those whose centroids have
// the highest inner products with the query. After each round, the threshold θ is the limit-th best score so far. Later
// rounds probe the lists whose bound, product + factor·radius, reaches θ. The factor is calibrated for the space and
// the limit. Rows in probed lists go through the same stages as in ScanCodes. A round's θ depends only on earlier
// rounds, so goroutine scheduling doesn't affect the result.

const (
	// The first round probes at least 1/minProbeShare of the lists plus minProbeCount.
	minProbeShare, minProbeCount = 32, 4
	// Minimum number of rows in the first round, as a multiple of the limit.
	firstRoundRows = 4
	// Factor by which the number of rows grows from one round to the next.
	roundFactor = 4
)

func minProbes(lists int) int { return min(lists, lists/minProbeShare+minProbeCount) }

// probe is a candidate list.
type probe struct {
	product float32 // inner product of centroid and query
	bound   float32
	from, n uint32
}

// listSearch is the state of a ScanLists call.
type listSearch struct {
	s               *Set
	question        *quant.Query
	limit           int
	parts           [maxScanners]*selector
	sharedThreshold atomic.Uint32
	all             *refined
	probes          []probe  // not yet probed
	masks           []uint64 // rows to scan in this round, one bit each
	scanned         int      // rows whose 1-bit codes were compared
}

// ScanLists searches the probed lists and the unassigned rows. It returns the nearest live slots, best first, and how
// many rows' 1-bit codes it compared. The set must have a usable IVF; if that turns out to be damaged, ScanLists
// returns errIVF.
func ScanLists(ctx context.Context, s *Set, query []float32, limit int) (found Found, scanned int, err error) {
	wanted := limit
	limit = max(limit, calibratedLimits[0]) // the smallest calibrated limit
	c := &listSearch{s: s, limit: limit, question: quant.NewCoder(s.Centroid).Prepare(query)}
	c.sharedThreshold.Store(math.Float32bits(float32(math.Inf(-1))))
	if err := c.setBounds(); err != nil {
		return Found{}, 0, err
	}
	c.all = refinedPool.Get().(*refined)
	defer c.all.release()
	c.all.begin(limit)
	defer releaseAll(c.parts[:])
	c.masks = make([]uint64, (int(s.IVF.Rows)+63)/64)
	for rows := c.first(); rows > 0; rows = c.next(roundFactor * rows) {
		if err := c.round(ctx, rows); err != nil {
			return Found{}, 0, err
		}
	}
	if err := c.tail(ctx); err != nil {
		return Found{}, 0, err
	}
	slots := c.all.slots()
	best, err := rescoreFull(ctx, s, slots, query, limit)
	if err != nil {
		return Found{}, 0, err
	}
	return Found{best.Best(wanted), len(slots)}, c.scanned, nil
}

func (c *listSearch) setBounds() error {
	of, factor := c.s.IVF, c.s.IVF.Radius.at(c.limit)
	c.probes = make([]probe, 0, of.Lists)
	for i := range of.Lists {
		record, err := of.centroid(i)
		if err != nil {
			return err
		}
		radius, from, n := numbersOf(record)
		if uint64(from)+uint64(n) > uint64(of.Rows) {
			return of.damaged("a centroid", errors.New("its list ends beyond the last row"))
		}
		if n > 0 {
			product, off := c.question.Int8(record)
			c.probes = append(c.probes, probe{product, product + off + factor*radius, from, n})
		}
	}
	return nil
}

// first chooses the lists for the first round. Together, the lists have at least firstRoundRows times as many rows as
// the limit. first returns their total number of rows.
func (c *listSearch) first() (rows int) {
	for n := minProbes(c.s.IVF.Lists); len(c.probes) > 0 && rows < firstRoundRows*c.limit; n *= roundFactor {
		n = min(n, len(c.probes))
		nearestFirst(c.probes, n)
		for _, b := range c.probes[:n] {
			c.add(b)
			rows += int(b.n)
		}
		c.probes = c.probes[n:]
	}
	c.scanned += rows
	return rows
}

// nearestFirst moves the n lists whose centroids have the highest inner products with the query to the front.
func nearestFirst(lists []probe, n int) {
	near := topk.New(n)
	for i, b := range lists {
		near.Offer(topk.Scored{Slot: uint32(i), Score: float64(b.product)})
	}
	at := make([]int, 0, n)
	for _, k := range near.Items() {
		at = append(at, int(k.Slot))
	}
	slices.Sort(at)
	for i, from := range at { // from ≥ i
		lists[i], lists[from] = lists[from], lists[i]
	}
}

// next chooses the lists with the highest bounds. Together, the lists have at least `limit` rows. next returns their
// total number of rows, or 0 if no bound reaches the threshold.
func (c *listSearch) next(limit int) (rows int) {
	threshold := c.all.threshold()
	c.probes = slices.DeleteFunc(c.probes, func(b probe) bool { return b.bound < threshold })
	slices.SortFunc(c.probes, func(a, b probe) int { return cmp.Or(cmp.Compare(b.bound, a.bound), cmp.Compare(a.from, b.from)) })
	clear(c.masks)
	taken := 0
	for _, b := range c.probes {
		if rows >= limit {
			break
		}
		c.add(b)
		rows += int(b.n)
		taken++
	}
	c.probes = c.probes[taken:]
	c.scanned += rows
	return rows
}

// add marks a list's rows to be scanned in this round.
func (c *listSearch) add(b probe) {
	to := b.from + b.n
	for w := b.from / 64; w*64 < to; w++ {
		of := ^uint64(0)
		if from := w * 64; from < b.from {
			of &^= 1<<(b.from-from) - 1
		}
		if end := w*64 + 64; end > to {
			of &= 1<<(64-(end-to)) - 1
		}
		c.masks[w] |= of
	}
}

func (c *listSearch) round(ctx context.Context, rows int) error {
	return c.scan(ctx, rows, len(c.masks), func(sel *selector, from, to int) error {
		for w, of := range c.masks[from:to] {
			if of == 0 {
				continue
			}
			if err := sel.list(c.s, from+w, of); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *listSearch) tail(ctx context.Context) error {
	if c.s.Written == 0 {
		return nil
	}
	rows := c.s.CountUnassigned()
	c.scanned += rows
	return c.scan(ctx, rows, c.s.Groups(), func(sel *selector, from, to int) error {
		for w := from; w < to; w++ {
			passing := c.s.unassigned(w)
			if passing == 0 {
				continue
			}
			if err := c.s.Bits.Check(w, c.s.Live.Word(w)); err != nil {
				return err
			}
			if err := sel.group(w, passing); err != nil {
				return err
			}
		}
		return nil
	})
}

// scan splits n items with about `rows` rows into ranges, calls `visit` with each range, and then rescores the
// candidates.
func (c *listSearch) scan(ctx context.Context, rows, n int, visit func(sel *selector, from, to int) error) error {
	threshold := c.all.threshold()
	c.sharedThreshold.Store(math.Float32bits(threshold))
	err := parallel(ctx, rows, n, func(part int) func(from, to int) error {
		if c.parts[part] == nil {
			c.parts[part] = newSelector(c.s, c.question, c.limit, rows, &c.sharedThreshold)
		}
		sel := c.parts[part]
		return func(from, to int) error { return visit(sel, from, to) }
	})
	if err != nil {
		return err
	}
	return c.all.rescore(ctx, c.s, c.question, c.parts[:])
}

// list estimates the scores of rows 64w to 64w+63 in the lists, skipping those whose bit in `of` is 0.
func (s *selector) list(snap *Set, w int, of uint64) error {
	c := snap.IVF
	records, err := c.group(w)
	if err != nil {
		return err
	}
	s.threshold = max(s.threshold, math.Float32frombits(s.sharedThreshold.Load()))
	of &= s.question.Above(&s.e, records, confidence, s.threshold)
	for ; of != 0; of &= of - 1 {
		i := bits.TrailingZeros64(of)
		slot := c.slotOf(records, i)
		if slot >= snap.Slots {
			return c.damaged("a list", errors.New("a row has a slot that does not exist"))
		}
		// Skip outdated entries, whose slots now belong to other, unassigned rows.
		if snap.Live.Has(slot) && snap.Assigned.Has(slot) {
			s.offer(slot, s.e.Product[i], s.e.Spread[i])
		}
	}
	if s.warmup > 0 || len(s.next) < rescoreBatch {
		return nil
	}
	return s.compareNext()
}
