package embedded

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/durable"
	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

const (
	// cellsOfRoot is how many cells there are for each row that there would be in a square of all rows.
	cellsOfRoot = 8
	// sampleOfCell is from how many vectors for each cell the centres are found: all that training reads more than once.
	sampleOfCell = 32
	// noCell stands for no cell, of a slot.
	noCell = math.MaxUint32
	// skewFactor is by how much more uneven cells become until they are cut anew.
	skewFactor = 2
)

// drawing is what is made of a snapshot's rows: the cells that a later one is to have.
type drawing struct {
	s     *vectorSet
	tree  *tree
	of    []uint32 // the cell of each slot, or noCell
	sizes []uint32 // of the cells
	radii []float32
}

// newDrawing has all rows in no cell.
func newDrawing(s *vectorSet, t *tree) *drawing {
	d := &drawing{s: s, tree: t, of: make([]uint32, s.slots), sizes: make([]uint32, t.leaves.len()), radii: make([]float32, t.leaves.len())}
	for i := range d.of {
		d.of[i] = noCell
	}
	return d
}

// sample draws at most n live slots at random, in ascending order, and some more that are not among them.
func sample(s *vectorSet, n, more int, rng *rand.Rand) (drawn, held []uint32) {
	n = min(n, int(s.rows)/2)
	more = min(more, int(s.rows)/4)
	seen := make(map[uint32]bool, n+more)
	for len(seen) < n+more {
		slot := rng.Uint32N(s.slots)
		if seen[slot] || !s.live.has(slot) {
			continue
		}
		seen[slot] = true
		if len(held) < more {
			held = append(held, slot)
		} else {
			drawn = append(drawn, slot)
		}
	}
	slices.Sort(drawn)
	return drawn, held
}

// cut finds centres of the snapshot's vectors and puts all rows into the cells around them. It returns the rows that are kept for
// measuring, too.
func cut(ctx context.Context, s *vectorSet, rng *rand.Rand) (d *drawing, held []uint32, err error) {
	n := max(1, int(cellsOfRoot*math.Sqrt(float64(s.rows))))
	drawn, held := sample(s, n*sampleOfCell, heldRows, rng)
	for _, slot := range append(slices.Clone(drawn), held...) {
		if err := s.vectors.check(int(slot/64), s.live.word(int(slot/64))); err != nil {
			return nil, nil, err
		}
	}
	t, err := growTree(ctx, s, drawn, n, rng)
	if err != nil {
		return nil, nil, err
	}
	d = newDrawing(s, t)
	return d, held, d.assign(ctx)
}

// assign puts all rows that are in no cell into the nearest one.
func (d *drawing) assign(ctx context.Context) error {
	find := finder{tree: d.tree}
	squares, counts := make([]float64, len(d.sizes)), make([]float64, len(d.sizes))
	for i, r := range d.radii { // of rows that are there
		squares[i], counts[i] = float64(r)*float64(r)*float64(d.sizes[i]), float64(d.sizes[i])
	}
	n := 0
	err := d.s.eachGroup(nil, d.s.vectors, 0, d.s.groups(), func(w int, live uint64) error {
		if n++; n%(askEvery/64) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for ; live != 0; live &= live - 1 {
			slot := uint32(w*64 + bits.TrailingZeros64(live))
			if d.of[slot] != noCell {
				continue
			}
			at, square := find.leaf(floatsOf(d.s.vectors.record(slot)))
			d.of[slot] = uint32(at)
			d.sizes[at]++
			counts[at]++
			squares[at] += float64(square)
		}
		return nil
	})
	for i := range d.radii {
		d.radii[i] = float32(math.Sqrt(squares[i] / max(1, counts[i])))
	}
	return err
}

// uneven is how many times as many rows a row has around it in its cell as it would have if all cells were alike.
func (d *drawing) uneven() float64 {
	var rows, squares float64
	for _, n := range d.sizes {
		rows += float64(n)
		squares += float64(n) * float64(n)
	}
	return squares * float64(len(d.sizes)) / max(1, rows*rows)
}

// store writes files of the cells, which the snapshot is to have from now on.
func (d *drawing) store(ctx context.Context, in *vectorFiles, epoch int) (_ *cells, _ *cellFiles, err error) {
	f := &cellFiles{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.remove())
		}
	}()
	c := &cells{epoch: epoch, coded: d.s.epoch, leaves: d.tree.leaves.len(), tops: d.tree.tops.len(), broken: new(atomic.Bool)}
	from := make([]uint32, len(d.sizes))
	for i, n := range d.sizes {
		from[i] = c.rows
		c.rows += n
	}
	if f.centres, err = newSlotFile(in.cellsPath(epoch, "centres"), recordsOf(centreBytes(d.s.dimensions), centreAlign)); err != nil {
		return nil, nil, err
	}
	if f.means, err = newSlotFile(in.cellsPath(epoch, "means"), recordsOf(meanBytes(d.s.dimensions), centreAlign)); err != nil {
		return nil, nil, err
	}
	if f.lists, err = newSlotFile(in.cellsPath(epoch, "lists"), listShape(d.s.dimensions)); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(d.storeCentres(f.centres, f.means, from), d.storeLists(ctx, f.lists, from, c.rows)); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(f.centres.sync(), f.means.sync(), f.lists.sync(), durable.Dir(in.dir)); err != nil {
		return nil, nil, err
	}
	c.centres, c.means, c.lists = f.centres.view, f.means.view, f.lists.view
	return c, f, nil
}

// storeCentres writes the centres of cells, and the means of these and, behind them, of their groups.
func (d *drawing) storeCentres(centres, means *slotFile, from []uint32) error {
	t, coder := d.tree, quant.NewCoder(d.s.centre)
	leaves := t.leaves.len()
	n := leaves + t.tops.len()
	if err := errors.Join(centres.grow(uint32(leaves)), means.grow(uint32(n))); err != nil {
		return err
	}
	slots := make([]uint32, n)
	fine, full := make([][]byte, leaves), make([][]byte, n)
	for i := range n {
		slots[i] = uint32(i)
		if at := i - leaves; at >= 0 {
			full[i] = withNumbers(bytesOf(t.tops.point(at)), 0, uint32(t.first[at]), uint32(t.first[at+1]-t.first[at]))
			continue
		}
		_, code := codesOf(coder, t.leaves.point(i))
		fine[i] = withNumbers(code, d.radii[i], from[i], d.sizes[i])
		full[i] = withNumbers(bytesOf(t.leaves.point(i)), d.radii[i], from[i], d.sizes[i])
	}
	return errors.Join(centres.write(slots[:leaves], fine), means.write(slots, full))
}

// withNumbers is a copy of what tells where a centre lies, with what follows it.
func withNumbers(centre []byte, radius float32, from, n uint32) []byte {
	out := append(make([]byte, 0, len(centre)+centreNumbers), centre...)
	for _, x := range [...]uint32{math.Float32bits(radius), from, n} {
		out = binary.LittleEndian.AppendUint32(out, x)
	}
	return out
}

// storeLists writes the codes of all cells' rows, cell by cell, each with its row's slot.
func (d *drawing) storeLists(ctx context.Context, file *slotFile, from []uint32, rows uint32) error {
	if err := file.grow(rows); err != nil {
		return err
	}
	order, next := make([]uint32, rows), slices.Clone(from)
	for slot, at := range d.of {
		if at != noCell {
			order[next[at]] = uint32(slot)
			next[at]++
		}
	}
	length := file.view.payload
	room := make([]byte, extentSlots*length)
	places, payloads := make([]uint32, 0, extentSlots), make([][]byte, 0, extentSlots)
	for len(order) > 0 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n := min(extentSlots, len(order))
		first := rows - uint32(len(order))
		places, payloads = places[:0], payloads[:0]
		for i, slot := range order[:n] {
			w := int(slot / 64)
			if err := d.s.codes.check(w, d.s.live.word(w)); err != nil {
				return err
			}
			record := room[i*length : (i+1)*length]
			TakeRecord(record[:length-cellSlotBytes], d.s.codes.group(w), d.s.codes.columns, int(slot%64))
			binary.LittleEndian.PutUint32(record[length-cellSlotBytes:], slot)
			places, payloads = append(places, first+uint32(i)), append(payloads, record)
		}
		if err := file.write(places, payloads); err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}

// redraw has the rows of a snapshot in the cells that it has, those in none left out.
func redraw(s *vectorSet) (*drawing, error) {
	c := s.cells
	t := &tree{tops: newMeans(s.dimensions, c.tops), leaves: newMeans(s.dimensions, c.leaves)}
	d := newDrawing(s, t)
	for i := range c.leaves + c.tops {
		record, err := c.mean(i)
		if err != nil {
			return nil, err
		}
		radius, from, n := numbersOf(record)
		point := floatsOf(record[:4*s.dimensions])
		if at := i - c.leaves; at >= 0 {
			if t.first = append(t.first, int(from)); int(from)+int(n) > c.leaves {
				return nil, c.damaged("a mean", errors.New("its cells are beyond all"))
			}
			t.tops.set(at, point)
			continue
		}
		t.leaves.set(i, point)
		d.radii[i] = radius
		if uint64(from)+uint64(n) > uint64(c.rows) {
			return nil, c.damaged("a mean", errors.New("its rows are beyond the list's"))
		}
		for at := from; at < from+n; at++ {
			records, err := c.group(int(at / 64))
			if err != nil {
				return nil, err
			}
			slot := c.slotIn(records, int(at%64))
			if slot < s.slots && s.live.has(slot) && s.listed.has(slot) {
				d.of[slot] = uint32(i)
				d.sizes[i]++
			}
		}
	}
	t.first = append(t.first, c.leaves)
	return d, nil
}
