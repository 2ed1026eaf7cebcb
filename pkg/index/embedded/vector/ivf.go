package vector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

// Cells are what a large space is parted into, by which vectors are near to one another: each has a centre, which is the mean of
// vectors, and the rows nearest to it. The codes of a cell's rows lie one after the other in a file of their own, so that a search
// reads those of the cells near the query and no others. All of it is made of vectors and codes, beside writes and searches, and is
// made anew when it is damaged, missing, or has been overtaken by what was written since. Rows that came later than the
// cells, the tail, are in none, and are looked at by every search until the cells are listed anew.

const (
	// ivfFrom is from how many rows a space has cells. A search that looks at all codes is as good as exact, and of fewer rows it
	// takes little longer than one by cells.
	ivfFrom = 1_000_000
	// rebuildFactor is by how much a space grows until its cells are cut anew.
	rebuildFactor = RecentreFactor
	// reassignShare is of how many rows one may be in the tail until the cells are listed anew; with one of longestTail in it, all
	// codes are looked at instead.
	reassignShare, maxUnassignedShare = 32, 4
	// deadRowShare: the lists are rebuilt once more than one in so many of their rows is dead.
	deadRowShare = 4
	// listSlotBytes is how many bytes follow a row's code: the number of its slot.
	listSlotBytes = 4
	// centroidNumbers are what follows a centre's fine code, or its mean: the radius, where its rows begin, and how many there are.
	centroidNumbers = 3 * 4
	// centroidAlign is of what a record of a centre is a multiple.
	centroidAlign = 4
)

// IVF are those of a snapshot. All is immutable but broken.
type IVF struct {
	Epoch     int     // names the files
	Coded     int     // epoch of the codes that the lists repeat
	Rows      uint32  // in the lists
	lists     int     // cells
	coarse    int     // groups of cells
	Radius    Radius  // how far from the cells' centres rows are looked for beyond the cells that are looked at in any case
	BuiltAt   int64   // rows when the centres were found
	imbalance float64 // how uneven the cells were then
	Skewed    bool    // they have become more uneven by far
	Broken    *atomic.Bool
	centroids slotfile.View // of the leaves, by fine codes, which is what searches read
	means     slotfile.View // of the leaves, and then of the tops, in full precision
	codes     slotfile.View // by cell
}

// IVFState is what the state tells of cells. A program that has no cells does not tell it, so what it has written has none.
type IVFState struct {
	Epoch  int     `json:"epoch"`
	Coded  int     `json:"coded"`
	Rows   uint32  `json:"rows"`
	Leaves int     `json:"leaves"`
	Tops   int     `json:"tops"`
	Reach  Radius  `json:"reach"`
	CutAt  int64   `json:"cut_at"`
	Uneven float64 `json:"uneven"`
	Skewed bool    `json:"skewed,omitempty"`
	Tail   int64   `json:"tail"`
}

func (c *IVF) State(tail int64) *IVFState {
	if c == nil {
		return nil
	}
	return &IVFState{c.Epoch, c.Coded, c.Rows, c.lists, c.coarse, c.Radius, c.BuiltAt, c.imbalance, c.Skewed, tail}
}

func (b *IVFState) IVF() *IVF {
	return &IVF{
		Epoch: b.Epoch, Coded: b.Coded, Rows: b.Rows, lists: b.Leaves, coarse: b.Tops, Radius: b.Reach, BuiltAt: b.CutAt, imbalance: b.Uneven,
		Skewed: b.Skewed, Broken: new(atomic.Bool),
	}
}

// Usable reports whether the cells can be searched.
func (c *IVF) Usable() bool { return c != nil && c.Radius.Known() && !c.Broken.Load() }

// errIVF says that cells are damaged. Nothing is lost: they are made anew.
var errIVF = errors.New("the cells of a space are damaged")

// damaged notes that cells must be made anew.
func (c *IVF) damaged(what string, err error) error {
	c.Broken.Store(true)
	return fmt.Errorf("%w: %s: %v", errIVF, what, err) //nolint:errorlint // it does not count as damage of the space
}

// wordOf has a bit for each of n items that is among the w-th 64.
func wordOf(w, n int) uint64 {
	if rest := n - w*64; rest < 64 {
		return 1<<max(rest, 0) - 1
	}
	return ^uint64(0)
}

// centroid returns the record of a leaf's centre, checked.
func (c *IVF) centroid(i int) ([]byte, error) {
	if err := c.centroids.Check(i/64, wordOf(i/64, c.lists)); err != nil {
		return nil, c.damaged("a centre", err)
	}
	return c.centroids.Record(uint32(i)), nil
}

// mean returns the record of a mean, checked.
func (c *IVF) mean(i int) ([]byte, error) {
	if err := c.means.Check(i/64, wordOf(i/64, c.lists+c.coarse)); err != nil {
		return nil, c.damaged("a mean", err)
	}
	return c.means.Record(uint32(i)), nil
}

// group returns the records of the w-th 64 rows of the lists, checked, as far as there are such.
func (c *IVF) group(w int) ([]byte, error) {
	if err := c.codes.Check(w, wordOf(w, int(c.Rows))); err != nil {
		return nil, c.damaged("a list", err)
	}
	return c.codes.Group(w), nil
}

// slotOf reads the slot of the i-th row of a group of the lists.
func (c *IVF) slotOf(group []byte, i int) uint32 {
	return c.codes.Uint32(group, i, c.codes.Payload-listSlotBytes)
}

// numbersOf reads what follows a centre.
func numbersOf(record []byte) (radius float32, from, n uint32) {
	at := record[len(record)-centroidNumbers:]
	return math.Float32frombits(binary.LittleEndian.Uint32(at)), binary.LittleEndian.Uint32(at[4:]), binary.LittleEndian.Uint32(at[8:])
}

// Verify reads all of the cells, and notes when they are damaged.
func (c *IVF) Verify() error {
	for i := range c.lists {
		if _, err := c.centroid(i); err != nil {
			return err
		}
	}
	for i := range c.lists + c.coarse {
		if _, err := c.mean(i); err != nil {
			return err
		}
	}
	for w := range (int(c.Rows) + 63) / 64 {
		if _, err := c.group(w); err != nil {
			return err
		}
	}
	return nil
}

func centroidBytes(dimensions int) int { return quant.FineBytes(dimensions) + centroidNumbers }

func meanBytes(dimensions int) int { return dimensions*4 + centroidNumbers }

// listLayout is how the codes of cells' rows lie, each with its slot.
func listLayout(dimensions int) slotfile.Layout {
	return slotfile.Columns(quant.CodeBytes(dimensions)+listSlotBytes, quant.Columns(dimensions))
}

// SkipsIVF reports whether a search had better look at all codes: cells are not there or not used, too few rows are left, or
// too many have come since.
func (s *Set) SkipsIVF() bool {
	return !s.IVF.Usable() || s.Rows < int64(s.Thresholds.cellsFrom()) || s.Written > s.Rows/maxUnassignedShare
}

// Work is what is to be done about a space's cells.
type Work uint8

const (
	NoWork  Work = iota
	Assign       // rows that have come since are to be put into the cells that there are
	Rebuild      // centres are to be found anew
)

// IVFWork tells what is to be done about the cells of a space that is quiet or not.
func (s *Set) IVFWork(quiet bool) Work {
	if s.Dimensions == 0 || !s.HasCodes() || s.NeedsCodes() || s.Rows < int64(s.Thresholds.cellsFrom()) {
		return NoWork
	}
	c := s.IVF
	switch {
	case c == nil && s.needsCodesSoon() && !quiet: // cells of codes that are about to be made anew would be cut twice
		return NoWork
	case c == nil || c.Broken.Load() || c.Skewed || s.Rows >= rebuildFactor*c.BuiltAt || s.Rows*rebuildFactor <= c.BuiltAt:
		return Rebuild
	case !c.Radius.Known():
		return NoWork
	case s.Written > s.Rows/reassignShare, int64(c.Rows)+s.Written-s.Rows > int64(c.Rows)/deadRowShare: // a tail, or dead rows
		return Assign
	}
	return NoWork
}

// unassigned returns those of the w-th group of 64 slots that are live and in no cell.
func (s *Set) unassigned(w int) uint64 { return s.Live.Word(w) &^ s.Assigned.Word(w) }

// AssignedAmong returns those of slots that are in cells.
func (s *Set) AssignedAmong(slots []uint32) (in []uint32) {
	for _, slot := range slots {
		if s.Assigned.Has(slot) {
			in = append(in, slot)
		}
	}
	return in
}

// CountUnassigned counts the rows that are in no cell.
func (s *Set) CountUnassigned() int {
	n := 0
	for w := range s.Groups() {
		n += bits.OnesCount64(s.unassigned(w))
	}
	return n
}
