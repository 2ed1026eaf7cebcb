package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

// Cells are what a large space is parted into, by which vectors are near to one another: each has a centre, which is the mean of
// vectors, and the rows nearest to it. The codes of a cell's rows lie one after the other in a file of their own, so that a search
// reads those of the cells near the query and no others. All of it is made of vectors and codes, beside writes and searches, and is
// made anew when it is damaged, missing, or has been overtaken by what was written since. Rows that came later than the
// cells, the tail, are in none, and are looked at by every search until the cells are listed anew.

const (
	// cellsFrom is from how many rows a space has cells. A search that looks at all codes is as good as exact, and of fewer rows it
	// takes little longer than one by cells.
	cellsFrom = 1_000_000
	// recutFactor is by how much a space grows until its cells are cut anew.
	recutFactor = recentreFactor
	// tailShare is of how many rows one may be in the tail until the cells are listed anew; with one of longestTail in it, all
	// codes are looked at instead.
	tailShare, longestTail = 32, 4
	// deadRowShare: the lists are rebuilt once more than one in so many of their rows is dead.
	deadRowShare = 4
	// cellSlotBytes is how many bytes follow a row's code: the number of its slot.
	cellSlotBytes = 4
	// centreNumbers are what follows a centre's fine code, or its mean: the radius, where its rows begin, and how many there are.
	centreNumbers = 3 * 4
	// centreAlign is of what a record of a centre is a multiple.
	centreAlign = 4
)

// cells are those of a snapshot. All is immutable but broken.
type cells struct {
	epoch   int     // names the files
	coded   int     // epoch of the codes that the lists repeat
	rows    uint32  // in the lists
	leaves  int     // cells
	tops    int     // groups of cells
	reach   reach   // how far from the cells' centres rows are looked for beyond the cells that are looked at in any case
	cutAt   int64   // rows when the centres were found
	uneven  float64 // how uneven the cells were then
	skewed  bool    // they have become more uneven by far
	broken  *atomic.Bool
	centres slotView // of the leaves, by fine codes, which is what searches read
	means   slotView // of the leaves, and then of the tops, in full precision
	lists   slotView // by cell
}

// cellsBody is what the state tells of cells. A program that has no cells does not tell it, so what it has written has none.
type cellsBody struct {
	Epoch  int     `json:"epoch"`
	Coded  int     `json:"coded"`
	Rows   uint32  `json:"rows"`
	Leaves int     `json:"leaves"`
	Tops   int     `json:"tops"`
	Reach  reach   `json:"reach"`
	CutAt  int64   `json:"cut_at"`
	Uneven float64 `json:"uneven"`
	Skewed bool    `json:"skewed,omitempty"`
	Tail   int64   `json:"tail"`
}

func (c *cells) body(tail int64) *cellsBody {
	if c == nil {
		return nil
	}
	return &cellsBody{c.epoch, c.coded, c.rows, c.leaves, c.tops, c.reach, c.cutAt, c.uneven, c.skewed, tail}
}

func (b *cellsBody) cells() *cells {
	return &cells{
		epoch: b.Epoch, coded: b.Coded, rows: b.Rows, leaves: b.Leaves, tops: b.Tops, reach: b.Reach, cutAt: b.CutAt, uneven: b.Uneven,
		skewed: b.Skewed, broken: new(atomic.Bool),
	}
}

// usable reports whether the cells can be searched.
func (c *cells) usable() bool { return c != nil && c.reach.known() && !c.broken.Load() }

// errCells says that cells are damaged. Nothing is lost: they are made anew.
var errCells = errors.New("the cells of a space are damaged")

// damaged notes that cells must be made anew.
func (c *cells) damaged(what string, err error) error {
	c.broken.Store(true)
	return fmt.Errorf("%w: %s: %v", errCells, what, err) //nolint:errorlint // it does not count as damage of the space
}

// wordOf has a bit for each of n items that is among the w-th 64.
func wordOf(w, n int) uint64 {
	if rest := n - w*64; rest < 64 {
		return 1<<max(rest, 0) - 1
	}
	return ^uint64(0)
}

// centre returns the record of a leaf's centre, checked.
func (c *cells) centre(i int) ([]byte, error) {
	if err := c.centres.check(i/64, wordOf(i/64, c.leaves)); err != nil {
		return nil, c.damaged("a centre", err)
	}
	return c.centres.record(uint32(i)), nil
}

// mean returns the record of a mean, checked.
func (c *cells) mean(i int) ([]byte, error) {
	if err := c.means.check(i/64, wordOf(i/64, c.leaves+c.tops)); err != nil {
		return nil, c.damaged("a mean", err)
	}
	return c.means.record(uint32(i)), nil
}

// group returns the records of the w-th 64 rows of the lists, checked, as far as there are such.
func (c *cells) group(w int) ([]byte, error) {
	if err := c.lists.check(w, wordOf(w, int(c.rows))); err != nil {
		return nil, c.damaged("a list", err)
	}
	return c.lists.group(w), nil
}

// slotIn reads the slot of the i-th row of a group of the lists.
func (c *cells) slotIn(group []byte, i int) uint32 {
	return c.lists.number(group, i, c.lists.payload-cellSlotBytes)
}

// numbersOf reads what follows a centre.
func numbersOf(record []byte) (radius float32, from, n uint32) {
	at := record[len(record)-centreNumbers:]
	return math.Float32frombits(binary.LittleEndian.Uint32(at)), binary.LittleEndian.Uint32(at[4:]), binary.LittleEndian.Uint32(at[8:])
}

// verify reads all of the cells, and notes when they are damaged.
func (c *cells) verify() error {
	for i := range c.leaves {
		if _, err := c.centre(i); err != nil {
			return err
		}
	}
	for i := range c.leaves + c.tops {
		if _, err := c.mean(i); err != nil {
			return err
		}
	}
	for w := range (int(c.rows) + 63) / 64 {
		if _, err := c.group(w); err != nil {
			return err
		}
	}
	return nil
}

func centreBytes(dimensions int) int { return quant.FineBytes(dimensions) + centreNumbers }

func meanBytes(dimensions int) int { return dimensions*4 + centreNumbers }

// listShape is how the codes of cells' rows lie, each with its slot.
func listShape(dimensions int) shape {
	return columnsOf(quant.CodeBytes(dimensions)+cellSlotBytes, quant.Columns(dimensions))
}

// outgrown reports whether a search had better look at all codes: cells are not there or not used, too few rows are left, or
// too many have come since.
func (s *vectorSet) outgrown() bool {
	return !s.cells.usable() || s.rows < int64(s.sizes.cellsFrom()) || s.written > s.rows/longestTail
}

// cellWork is what is to be done about a space's cells.
type cellWork uint8

const (
	cellsDone cellWork = iota
	listCells          // rows that have come since are to be put into the cells that there are
	cutCells           // centres are to be found anew
)

// wantsCells tells what is to be done about the cells of a space that is quiet or not.
func (s *vectorSet) wantsCells(quiet bool) cellWork {
	if s.dimensions == 0 || !s.coded() || s.wantsCodes() || s.rows < int64(s.sizes.cellsFrom()) {
		return cellsDone
	}
	c := s.cells
	switch {
	case c == nil && s.wantsCodesSoon() && !quiet: // cells of codes that are about to be made anew would be cut twice
		return cellsDone
	case c == nil || c.broken.Load() || c.skewed || s.rows >= recutFactor*c.cutAt || s.rows*recutFactor <= c.cutAt:
		return cutCells
	case !c.reach.known():
		return cellsDone
	case s.written > s.rows/tailShare, int64(c.rows)+s.written-s.rows > int64(c.rows)/deadRowShare: // a tail, or dead rows
		return listCells
	}
	return cellsDone
}

// inTail returns those of the w-th group of 64 slots that are live and in no cell.
func (s *vectorSet) inTail(w int) uint64 { return s.live.word(w) &^ s.listed.word(w) }

// listedAmong returns those of slots that are in cells.
func (s *vectorSet) listedAmong(slots []uint32) (in []uint32) {
	for _, slot := range slots {
		if s.listed.has(slot) {
			in = append(in, slot)
		}
	}
	return in
}

// tail counts the rows that are in no cell.
func (s *vectorSet) tail() int {
	n := 0
	for w := range s.groups() {
		n += bits.OnesCount64(s.inTail(w))
	}
	return n
}
