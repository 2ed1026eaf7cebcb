package vector

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
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

const (
	// Number of lists relative to the square root of the number of rows.
	listsPerRoot = 8
	// Number of training vectors per list.
	samplesPerList = 32
	// noList marks slots that are in no list.
	noList = math.MaxUint32
	// Factor by which the imbalance of list sizes must grow before the centroids are retrained.
	skewFactor = 2
)

// builder assigns a set's rows to lists.
type builder struct {
	set   *Set
	tree  *tree
	list  []uint32 // list of each slot, or noList
	sizes []uint32 // number of rows in each list
	radii []float32
}

func newBuilder(s *Set, t *tree) *builder {
	d := &builder{set: s, tree: t, list: make([]uint32, s.Slots), sizes: make([]uint32, t.lists.len()), radii: make([]float32, t.lists.len())}
	for i := range d.list {
		d.list[i] = noList
	}
	return d
}

// sample picks random live slots: up to n for training, in ascending order, and up to `more` to hold out.
func sample(s *Set, n, more int, rng *rand.Rand) (drawn, held []uint32) {
	n = min(n, int(s.Rows)/2)
	more = min(more, int(s.Rows)/4)
	seen := make(map[uint32]bool, n+more)
	for len(seen) < n+more {
		slot := rng.Uint32N(s.Slots)
		if seen[slot] || !s.Live.Has(slot) {
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

// buildLists trains centroids and assigns all rows to lists. It also returns the slots it held out.
func buildLists(ctx context.Context, s *Set, rng *rand.Rand) (d *builder, held []uint32, err error) {
	n := max(1, int(listsPerRoot*math.Sqrt(float64(s.Rows))))
	drawn, held := sample(s, n*samplesPerList, heldOutRows, rng)
	for _, slot := range append(slices.Clone(drawn), held...) {
		if err := s.Full.Check(int(slot/64), s.Live.Word(int(slot/64))); err != nil {
			return nil, nil, err
		}
	}
	t, err := growTree(ctx, s, drawn, n, rng)
	if err != nil {
		return nil, nil, err
	}
	d = newBuilder(s, t)
	return d, held, d.assign(ctx)
}

// assign assigns each unassigned row to the nearest list.
func (d *builder) assign(ctx context.Context) error {
	find := finder{tree: d.tree}
	squares, counts := make([]float64, len(d.sizes)), make([]float64, len(d.sizes))
	for i, r := range d.radii { // rows already in lists
		squares[i], counts[i] = float64(r)*float64(r)*float64(d.sizes[i]), float64(d.sizes[i])
	}
	n := 0
	err := d.set.eachGroup(nil, d.set.Full, 0, d.set.Groups(), func(w int, live uint64) error {
		if n++; n%(checkEvery/64) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for ; live != 0; live &= live - 1 {
			slot := uint32(w*64 + bits.TrailingZeros64(live))
			if d.list[slot] != noList {
				continue
			}
			at, square := find.leaf(Floats(d.set.Full.Record(slot)))
			d.list[slot] = uint32(at)
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

// imbalance is the mean size of the list that contains a random row, relative to the mean size of all lists. It is 1 if
// all lists have the same size.
func (d *builder) imbalance() float64 {
	var rows, squares float64
	for _, n := range d.sizes {
		rows += float64(n)
		squares += float64(n) * float64(n)
	}
	return squares * float64(len(d.sizes)) / max(1, rows*rows)
}

// store writes the list files and returns the IVF for the next version.
func (d *builder) store(ctx context.Context, in *Files, epoch int) (_ *IVF, _ *IVFFiles, err error) {
	f := &IVFFiles{}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Remove())
		}
	}()
	c := &IVF{IVFState: IVFState{Epoch: epoch, Coded: d.set.Epoch, Lists: d.tree.lists.len(), Coarse: d.tree.coarse.len()}, Broken: new(atomic.Bool)}
	from := make([]uint32, len(d.sizes))
	for i, n := range d.sizes {
		from[i] = c.Rows
		c.Rows += n
	}
	if f.centroids, err = slotfile.Create(in.ivfPath(epoch, "centres"), slotfile.Records(centroidBytes(d.set.Dimensions), centroidAlign)); err != nil {
		return nil, nil, err
	}
	if f.means, err = slotfile.Create(in.ivfPath(epoch, "means"), slotfile.Records(meanBytes(d.set.Dimensions), centroidAlign)); err != nil {
		return nil, nil, err
	}
	if f.codes, err = slotfile.Create(in.ivfPath(epoch, "lists"), listLayout(d.set.Dimensions)); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(d.storeCentroids(f.centroids, f.means, from), d.storeLists(ctx, f.codes, from, c.Rows)); err != nil {
		return nil, nil, err
	}
	if err := errors.Join(f.centroids.Sync(), f.means.Sync(), f.codes.Sync(), durable.Dir(in.Dir)); err != nil {
		return nil, nil, err
	}
	c.centroids, c.means, c.codes = f.centroids.View, f.means.View, f.codes.View
	return c, f, nil
}

// storeCentroids writes the lists' centroids, both as int8 codes and in full precision, and the coarse centroids.
func (d *builder) storeCentroids(centres, means *slotfile.File, from []uint32) error {
	t, coder := d.tree, quant.NewCoder(d.set.Centroid)
	leaves := t.lists.len()
	n := leaves + t.coarse.len()
	if err := errors.Join(centres.Grow(uint32(leaves)), means.Grow(uint32(n))); err != nil {
		return err
	}
	slots := make([]uint32, n)
	fine, full := make([][]byte, leaves), make([][]byte, n)
	for i := range n {
		slots[i] = uint32(i)
		if at := i - leaves; at >= 0 {
			full[i] = withNumbers(Bytes(t.coarse.point(at)), 0, uint32(t.first[at]), uint32(t.first[at+1]-t.first[at]))
			continue
		}
		_, code := codesOf(coder, t.lists.point(i))
		fine[i] = withNumbers(code, d.radii[i], from[i], d.sizes[i])
		full[i] = withNumbers(Bytes(t.lists.point(i)), d.radii[i], from[i], d.sizes[i])
	}
	return errors.Join(centres.Write(slots[:leaves], fine), means.Write(slots, full))
}

// withNumbers returns a copy of a centroid, followed by its list's radius, first row and number of rows.
func withNumbers(centroid []byte, radius float32, from, n uint32) []byte {
	out := append(make([]byte, 0, len(centroid)+centroidNumbers), centroid...)
	for _, x := range [...]uint32{math.Float32bits(radius), from, n} {
		out = binary.LittleEndian.AppendUint32(out, x)
	}
	return out
}

// storeLists writes all rows' 1-bit codes, list by list, each followed by its slot.
func (d *builder) storeLists(ctx context.Context, file *slotfile.File, from []uint32, rows uint32) error {
	if err := file.Grow(rows); err != nil {
		return err
	}
	order, next := make([]uint32, rows), slices.Clone(from)
	for slot, at := range d.list {
		if at != noList {
			order[next[at]] = uint32(slot)
			next[at]++
		}
	}
	length := file.View.Payload
	buf := make([]byte, slotfile.ExtentSlots*length)
	places, payloads := make([]uint32, 0, slotfile.ExtentSlots), make([][]byte, 0, slotfile.ExtentSlots)
	for len(order) > 0 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n := min(slotfile.ExtentSlots, len(order))
		first := rows - uint32(len(order))
		places, payloads = places[:0], payloads[:0]
		for i, slot := range order[:n] {
			w := int(slot / 64)
			if err := d.set.Bits.Check(w, d.set.Live.Word(w)); err != nil {
				return err
			}
			record := buf[i*length : (i+1)*length]
			slotfile.Take(record[:length-listSlotBytes], d.set.Bits.Group(w), d.set.Bits.Columns, int(slot%64))
			binary.LittleEndian.PutUint32(record[length-listSlotBytes:], slot)
			places, payloads = append(places, first+uint32(i)), append(payloads, record)
		}
		if err := file.Write(places, payloads); err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}

// builderOf returns a builder with a set's existing lists. Rows written since the last build are unassigned.
func builderOf(s *Set) (*builder, error) {
	c := s.IVF
	t := &tree{coarse: newMeans(s.Dimensions, c.Coarse), lists: newMeans(s.Dimensions, c.Lists)}
	d := newBuilder(s, t)
	for i := range c.Lists + c.Coarse {
		record, err := c.mean(i)
		if err != nil {
			return nil, err
		}
		radius, from, n := numbersOf(record)
		point := Floats(record[:4*s.Dimensions])
		if at := i - c.Lists; at >= 0 {
			if t.first = append(t.first, int(from)); int(from)+int(n) > c.Lists {
				return nil, c.damaged("a mean", errors.New("a coarse centroid refers to lists that do not exist"))
			}
			t.coarse.set(at, point)
			continue
		}
		t.lists.set(i, point)
		d.radii[i] = radius
		if uint64(from)+uint64(n) > uint64(c.Rows) {
			return nil, c.damaged("a mean", errors.New("its list ends beyond the last row"))
		}
		for at := from; at < from+n; at++ {
			records, err := c.group(int(at / 64))
			if err != nil {
				return nil, err
			}
			slot := c.slotOf(records, int(at%64))
			if slot < s.Slots && s.Live.Has(slot) && s.Assigned.Has(slot) {
				d.list[slot] = uint32(i)
				d.sizes[i]++
			}
		}
	}
	t.first = append(t.first, c.Lists)
	return d, nil
}
