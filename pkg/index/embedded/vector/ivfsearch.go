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

// A search by cells begins with a fixed share of them, those whose centres have the highest products with the query. As many rows
// as are wanted have a score then, and the least of these is a floor. Other cells are looked at as long as what they may have
// reaches the floor: the product of the centre with the query, and so many of the cell's radii as were found to be needed in this
// space (its reach). So how many that are depends on the query, on how many rows are wanted. What is looked at goes through the same stages as a scan of all codes. Each round of cells has a floor that depends on nothing but the
// rounds before, so that an answer never depends on which goroutine was the fastest.

const (
	// minProbeShare is of how many cells one is looked at in any case; leastFirst is how many are.
	minProbeShare, minProbeCount = 32, 4
	// firstRoundRows is how many rows the first round has at least, for each that is wanted.
	firstRoundRows = 4
	// roundFactor is by how much a round has more rows than the one before.
	roundFactor = 4
)

// minProbes is how many of so many cells are looked at in any case.
func minProbes(cells int) int { return min(cells, cells/minProbeShare+minProbeCount) }

// probe is a cell, and what scores in it may be.
type probe struct {
	product float32 // of its centre and the query
	bound   float32
	from, n uint32
}

// listSearch is one search by cells.
type listSearch struct {
	s        *Set
	question *quant.Question
	limit    int
	parts    [maxScanners]*selector
	shared   atomic.Uint32
	all      *refined
	probes   []probe  // that have not been looked at
	masks    []uint64 // which rows of the lists are looked at in this round
	scanned  int      // rows whose codes were compared
}

// ScanLists returns the nearest of the live slots, as far as the cells near the query have them, and how many rows it has looked at.
func ScanLists(ctx context.Context, s *Set, query []float32, limit int) (found Found, looked int, err error) {
	wanted := limit
	limit = max(limit, calibratedLimits[0]) // for which the reach has been measured
	c := &listSearch{s: s, limit: limit, question: quant.NewCoder(s.Centroid).Ask(query)}
	c.shared.Store(math.Float32bits(float32(math.Inf(-1))))
	if err := c.setBounds(); err != nil {
		return Found{}, 0, err
	}
	c.all = refinedPool.Get().(*refined)
	defer c.all.release()
	c.all.begin(limit)
	defer func() {
		for _, p := range c.parts {
			p.release()
		}
	}()
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
	return Found{best.Best(wanted), c.all.compared, len(slots)}, c.scanned, nil
}

// setBounds lists all cells with what scores in them may be.
func (c *listSearch) setBounds() error {
	of, reach := c.s.IVF, c.s.IVF.Radius.at(c.limit)
	c.probes = make([]probe, 0, of.lists)
	for i := range of.lists {
		record, err := of.centroid(i)
		if err != nil {
			return err
		}
		radius, from, n := numbersOf(record)
		if uint64(from)+uint64(n) > uint64(of.Rows) {
			return of.damaged("a centre", errors.New("its rows are beyond the list's"))
		}
		if n > 0 {
			product, off := c.question.Fine(record)
			c.probes = append(c.probes, probe{product, product + off + reach*radius, from, n})
		}
	}
	return nil
}

// first chooses the cells that are looked at in any case, and returns how many rows they have. They are more when few rows
// would be in them.
func (c *listSearch) first() (rows int) {
	for n := minProbes(c.s.IVF.lists); len(c.probes) > 0 && rows < firstRoundRows*c.limit; n *= roundFactor {
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

// nearestFirst brings the n cells whose centres have the highest products with the query to the front.
func nearestFirst(cells []probe, n int) {
	near := topk.New(n)
	for i, b := range cells {
		near.Offer(topk.Scored{Slot: uint32(i), Score: float64(b.product)})
	}
	at := make([]int, 0, n)
	for _, k := range near.Items() {
		at = append(at, int(k.Slot))
	}
	slices.Sort(at)
	for i, from := range at { // from is i at least
		cells[i], cells[from] = cells[from], cells[i]
	}
}

// next chooses the cells of a round of about so many rows, those that may have the highest scores, and returns how many rows they
// have: none when no cell is left that may reach the floor.
func (c *listSearch) next(most int) (rows int) {
	floor := c.all.threshold()
	c.probes = slices.DeleteFunc(c.probes, func(b probe) bool { return b.bound < floor })
	slices.SortFunc(c.probes, func(a, b probe) int { return cmp.Or(cmp.Compare(b.bound, a.bound), cmp.Compare(a.from, b.from)) })
	clear(c.masks)
	taken := 0
	for _, b := range c.probes {
		if rows >= most {
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

// add has the rows of a cell looked at in this round.
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

// round looks at what was chosen, of about so many rows.
func (c *listSearch) round(ctx context.Context, rows int) error {
	return c.scan(ctx, rows, len(c.masks), func(sieve *selector, from, to int) error {
		for w, of := range c.masks[from:to] {
			if of == 0 {
				continue
			}
			if err := sieve.list(c.s, from+w, of); err != nil {
				return err
			}
		}
		return nil
	})
}

// tail looks at the rows that are in no cell.
func (c *listSearch) tail(ctx context.Context) error {
	if c.s.Written == 0 {
		return nil
	}
	rows := c.s.CountUnassigned()
	c.scanned += rows
	return c.scan(ctx, rows, c.s.Groups(), func(sieve *selector, from, to int) error {
		for w := from; w < to; w++ {
			passing := c.s.unassigned(w)
			if passing == 0 {
				continue
			}
			if err := c.s.Bits.Check(w, c.s.Live.Word(w)); err != nil {
				return err
			}
			if err := sieve.group(w, passing); err != nil {
				return err
			}
		}
		return nil
	})
}

// scan has n items of about so many rows looked at, and compares what may be among the nearest.
func (c *listSearch) scan(ctx context.Context, rows, n int, visit func(sieve *selector, from, to int) error) error {
	floor := c.all.threshold()
	c.shared.Store(math.Float32bits(floor))
	err := parallel(ctx, rows, n, func(part int) func(from, to int) error {
		if c.parts[part] == nil {
			c.parts[part] = newSelector(c.s, c.question, c.limit, rows, &c.shared)
		}
		sieve := c.parts[part]
		return func(from, to int) error { return visit(sieve, from, to) }
	})
	if err != nil {
		return err
	}
	for _, p := range c.parts {
		if p == nil {
			continue
		}
		if err := p.end(); err != nil {
			return err
		}
		c.all.add(&p.rescorer)
		p.empty()
	}
	for _, likely := range []bool{true, false} {
		if err := c.all.compare(ctx, c.s, c.question, c.all.remaining(c.parts[:], likely)); err != nil {
			return err
		}
	}
	return nil
}

// empty forgets what has been taken over from a comparison.
func (c *rescorer) empty() {
	c.lower.Reset(c.lower.K)
	c.candidates, c.compared = c.candidates[:0], 0
}

// list estimates those of the w-th 64 rows of the lists whose bits are set.
func (s *selector) list(snap *Set, w int, of uint64) error {
	c := snap.IVF
	records, err := c.group(w)
	if err != nil {
		return err
	}
	s.threshold = max(s.threshold, math.Float32frombits(s.shared.Load()))
	of &= s.question.Above(&s.e, records, confidence, s.threshold)
	for ; of != 0; of &= of - 1 {
		i := bits.TrailingZeros64(of)
		slot := c.slotOf(records, i)
		if slot >= snap.Slots {
			return c.damaged("a list", errors.New("a row lies beyond all slots"))
		}
		// A slot that is not listed belongs to another row by now.
		if snap.Live.Has(slot) && snap.Assigned.Has(slot) {
			s.offer(slot, s.e.Product[i], s.e.Spread[i])
		}
	}
	if s.warmup > 0 || len(s.next) < rescoreBatch {
		return nil
	}
	return s.compareNext()
}
