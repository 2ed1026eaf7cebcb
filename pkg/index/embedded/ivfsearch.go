package embedded

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

// A search by cells begins with a fixed share of them, those whose centres have the highest products with the query. As many rows
// as are wanted have a score then, and the least of these is a floor. Other cells are looked at as long as what they may have
// reaches the floor: the product of the centre with the query, and so many of the cell's radii as were found to be needed in this
// space (its reach). So how many that are depends on the query, on how many rows are wanted. What is looked at goes through the same stages as a scan of all codes. Each round of cells has a floor that depends on nothing but the
// rounds before, so that an answer never depends on which goroutine was the fastest.

const (
	// firstCells is of how many cells one is looked at in any case; leastFirst is how many are.
	firstCells, leastFirst = 32, 4
	// firstRows is how many rows the first round has at least, for each that is wanted.
	firstRows = 4
	// roundFactor is by how much a round has more rows than the one before.
	roundFactor = 4
)

// alwaysLooked is how many of so many cells are looked at in any case.
func alwaysLooked(cells int) int { return min(cells, cells/firstCells+leastFirst) }

// bounded is a cell, and what scores in it may be.
type bounded struct {
	product float32 // of its centre and the query
	most    float32
	from, n uint32
}

// cellSearch is one search by cells.
type cellSearch struct {
	s        *vectorSet
	question *quant.Question
	limit    int
	parts    [maxScanners]*sieve
	shared   atomic.Uint32
	all      *finest
	cells    []bounded // that have not been looked at
	masks    []uint64  // which rows of the lists are looked at in this round
	looked   int       // rows whose codes were compared
}

// scanCells returns the nearest of the live slots, as far as the cells near the query have them, and how many rows it has looked at.
func scanCells(ctx context.Context, s *vectorSet, query []float32, limit int) (found staged, looked int, err error) {
	wanted := limit
	limit = max(limit, depths[0]) // for which the reach has been measured
	c := &cellSearch{s: s, limit: limit, question: quant.NewCoder(s.centre).Ask(query)}
	c.shared.Store(math.Float32bits(float32(math.Inf(-1))))
	if err := c.bound(); err != nil {
		return staged{}, 0, err
	}
	c.all = finestPool.Get().(*finest)
	defer c.all.release()
	c.all.begin(limit)
	defer func() {
		for _, p := range c.parts {
			p.release()
		}
	}()
	c.masks = make([]uint64, (int(s.cells.rows)+63)/64)
	for rows := c.first(); rows > 0; rows = c.next(roundFactor * rows) {
		if err := c.round(ctx, rows); err != nil {
			return staged{}, 0, err
		}
	}
	if err := c.tail(ctx); err != nil {
		return staged{}, 0, err
	}
	slots := c.all.slots()
	best, err := scanSlots(ctx, s, slots, query, limit)
	if err != nil {
		return staged{}, 0, err
	}
	return staged{best.best(wanted), c.all.compared, len(slots)}, c.looked, nil
}

// bound lists all cells with what scores in them may be.
func (c *cellSearch) bound() error {
	of, reach := c.s.cells, c.s.cells.reach.at(c.limit)
	c.cells = make([]bounded, 0, of.leaves)
	for i := range of.leaves {
		record, err := of.centre(i)
		if err != nil {
			return err
		}
		radius, from, n := numbersOf(record)
		if uint64(from)+uint64(n) > uint64(of.rows) {
			return of.damaged("a centre", errors.New("its rows are beyond the list's"))
		}
		if n > 0 {
			product, off := c.question.Fine(record)
			c.cells = append(c.cells, bounded{product, product + off + reach*radius, from, n})
		}
	}
	return nil
}

// first chooses the cells that are looked at in any case, and returns how many rows they have. They are more when few rows
// would be in them.
func (c *cellSearch) first() (rows int) {
	for n := alwaysLooked(c.s.cells.leaves); len(c.cells) > 0 && rows < firstRows*c.limit; n *= roundFactor {
		n = min(n, len(c.cells))
		nearestFirst(c.cells, n)
		for _, b := range c.cells[:n] {
			c.add(b)
			rows += int(b.n)
		}
		c.cells = c.cells[n:]
	}
	c.looked += rows
	return rows
}

// nearestFirst brings the n cells whose centres have the highest products with the query to the front.
func nearestFirst(cells []bounded, n int) {
	near := newTopK(n)
	for i, b := range cells {
		near.offer(scored{uint32(i), float64(b.product)})
	}
	at := make([]int, 0, n)
	for _, k := range near.kept() {
		at = append(at, int(k.slot))
	}
	slices.Sort(at)
	for i, from := range at { // from is i at least
		cells[i], cells[from] = cells[from], cells[i]
	}
}

// next chooses the cells of a round of about so many rows, those that may have the highest scores, and returns how many rows they
// have: none when no cell is left that may reach the floor.
func (c *cellSearch) next(most int) (rows int) {
	floor := c.all.floor()
	c.cells = slices.DeleteFunc(c.cells, func(b bounded) bool { return b.most < floor })
	slices.SortFunc(c.cells, func(a, b bounded) int { return cmp.Or(cmp.Compare(b.most, a.most), cmp.Compare(a.from, b.from)) })
	clear(c.masks)
	taken := 0
	for _, b := range c.cells {
		if rows >= most {
			break
		}
		c.add(b)
		rows += int(b.n)
		taken++
	}
	c.cells = c.cells[taken:]
	c.looked += rows
	return rows
}

// add has the rows of a cell looked at in this round.
func (c *cellSearch) add(b bounded) {
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
func (c *cellSearch) round(ctx context.Context, rows int) error {
	return c.look(ctx, rows, len(c.masks), func(sieve *sieve, from, to int) error {
		for w, of := range c.masks[from:to] {
			if of == 0 {
				continue
			}
			if err := sieve.listed(c.s, from+w, of); err != nil {
				return err
			}
		}
		return nil
	})
}

// tail looks at the rows that are in no cell.
func (c *cellSearch) tail(ctx context.Context) error {
	if c.s.written == 0 {
		return nil
	}
	rows := c.s.tail()
	c.looked += rows
	return c.look(ctx, rows, c.s.groups(), func(sieve *sieve, from, to int) error {
		for w := from; w < to; w++ {
			passing := c.s.inTail(w)
			if passing == 0 {
				continue
			}
			if err := c.s.codes.check(w, c.s.live.word(w)); err != nil {
				return err
			}
			if err := sieve.group(w, passing); err != nil {
				return err
			}
		}
		return nil
	})
}

// look has n items of about so many rows looked at, and compares what may be among the nearest.
func (c *cellSearch) look(ctx context.Context, rows, n int, visit func(sieve *sieve, from, to int) error) error {
	floor := c.all.floor()
	c.shared.Store(math.Float32bits(floor))
	err := share(ctx, rows, n, func(part int) func(from, to int) error {
		if c.parts[part] == nil {
			c.parts[part] = newSieve(c.s, c.question, c.limit, rows, &c.shared)
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
		c.all.add(&p.comparison)
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
func (c *comparison) empty() {
	c.least.begin(c.least.k)
	c.near, c.compared = c.near[:0], 0
}

// listed estimates those of the w-th 64 rows of the lists whose bits are set.
func (s *sieve) listed(snap *vectorSet, w int, of uint64) error {
	c := snap.cells
	records, err := c.group(w)
	if err != nil {
		return err
	}
	s.floor = max(s.floor, math.Float32frombits(s.shared.Load()))
	of &= s.question.Above(&s.e, records, sureness, s.floor)
	for ; of != 0; of &= of - 1 {
		i := bits.TrailingZeros64(of)
		slot := c.slotIn(records, i)
		if slot >= snap.slots {
			return c.damaged("a list", errors.New("a row lies beyond all slots"))
		}
		// A slot that is not listed belongs to another row by now.
		if snap.live.has(slot) && snap.listed.has(slot) {
			s.offer(slot, s.e.Product[i], s.e.Spread[i])
		}
	}
	if s.first > 0 || len(s.next) < nextRows {
		return nil
	}
	return s.compareNext()
}
