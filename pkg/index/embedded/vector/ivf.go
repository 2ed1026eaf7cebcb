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

// A large space has an inverted file (IVF): k-means splits the vectors into lists, each around a centroid. A list's
// 1-bit codes are contiguous, and a search reads only the lists near the query. An IVF is built in the background while
// searches and writes continue. If it is damaged, missing or outgrown, it is dropped and rebuilt. Rows written since
// the last build are unassigned, and every search scans their codes.

const (
	// Minimum number of rows for an IVF. Below that, scanning all codes is nearly as fast and more accurate.
	ivfFrom = 1_000_000
	// Factor by which the space must grow or shrink before the centroids are retrained.
	rebuildFactor = RecentreFactor
	// Unassigned rows are assigned once they make up more than 1/reassignShare of all rows.
	reassignShare = 32
	// The IVF is not used while more than 1/maxUnassignedShare of the rows are unassigned.
	maxUnassignedShare = 4
	// The lists are rewritten once more than 1/deadRowShare of their rows are dead.
	deadRowShare = 4
	// Length in bytes of the slot number after each code in a list.
	listSlotBytes = 4
	// Length in bytes of a list's radius, first row and number of rows, which follow its centroid.
	centroidNumbers = 3 * 4
	// Alignment of centroid records in bytes.
	centroidAlign = 4
)

// IVFState is the IVF's part of the space's committed state. Program versions without IVF support drop it.
type IVFState struct {
	Epoch      int     `json:"epoch"`            // part of the file names
	Coded      int     `json:"coded"`            // epoch of the codes in the lists
	Rows       uint32  `json:"rows"`             // number of rows in all lists, including dead ones
	Lists      int     `json:"leaves"`           // number of lists
	Coarse     int     `json:"tops"`             // number of coarse centroids for training and assignment
	Radius     Radius  `json:"reach"`            // radius factors for lists beyond the first round
	BuiltAt    int64   `json:"cut_at"`           // number of rows when the centroids were trained
	Imbalance  float64 `json:"uneven"`           // imbalance when the centroids were trained; see builder.imbalance
	Skewed     bool    `json:"skewed,omitempty"` // the lists became far less balanced, so the centroids must be trained again
	Unassigned int64   `json:"tail"`             // Set.Written, filled in by State
}

// IVF is a set's inverted file. It is immutable, but a search may mark it as broken.
type IVF struct {
	IVFState
	Broken    *atomic.Bool
	centroids slotfile.View // the lists' centroids as int8 codes, for searches
	means     slotfile.View // the lists' centroids and then the coarse ones, in full precision
	codes     slotfile.View // list by list: 1-bit code and slot
}

// State returns the IVF's state to commit, or nil if there is no IVF. `written` is the number of rows written since the
// IVF was built.
func (c *IVF) State(written int64) *IVFState {
	if c == nil {
		return nil
	}
	state := c.IVFState
	state.Unassigned = written
	return &state
}

// IVF returns the IVF that b describes, without files.
func (b *IVFState) IVF() *IVF { return &IVF{IVFState: *b, Broken: new(atomic.Bool)} }

// Usable reports whether searches can use the IVF.
func (c *IVF) Usable() bool { return c != nil && c.Radius.Known() && !c.Broken.Load() }

// errIVF means that the IVF is damaged. No data is lost, because the IVF can be rebuilt.
var errIVF = errors.New("the IVF index of a space is damaged")

// damaged marks the IVF as broken and returns errIVF with the cause.
func (c *IVF) damaged(what string, err error) error {
	c.Broken.Store(true)
	return fmt.Errorf("%w: %s: %v", errIVF, what, err) //nolint:errorlint // it does not count as damage to the space
}

// wordOf returns a word whose bit i is set if 64w+i is less than n.
func wordOf(w, n int) uint64 {
	if rest := n - w*64; rest < 64 {
		return 1<<max(rest, 0) - 1
	}
	return ^uint64(0)
}

// centroid returns the i-th list's verified record: the centroid's int8 code and the list's radius, first row and
// number of rows.
func (c *IVF) centroid(i int) ([]byte, error) {
	if err := c.centroids.Check(i/64, wordOf(i/64, c.Lists)); err != nil {
		return nil, c.damaged("a centroid", err)
	}
	return c.centroids.Record(uint32(i)), nil
}

// mean returns the i-th full-precision centroid's verified record. The coarse centroids start at index c.Lists.
func (c *IVF) mean(i int) ([]byte, error) {
	if err := c.means.Check(i/64, wordOf(i/64, c.Lists+c.Coarse)); err != nil {
		return nil, c.damaged("a mean", err)
	}
	return c.means.Record(uint32(i)), nil
}

func (c *IVF) group(w int) ([]byte, error) {
	if err := c.codes.Check(w, wordOf(w, int(c.Rows))); err != nil {
		return nil, c.damaged("a list", err)
	}
	return c.codes.Group(w), nil
}

func (c *IVF) slotOf(group []byte, i int) uint32 {
	return c.codes.Uint32(group, i, c.codes.Payload-listSlotBytes)
}

// numbersOf returns a list's radius, first row and number of rows.
func numbersOf(record []byte) (radius float32, from, n uint32) {
	at := record[len(record)-centroidNumbers:]
	return math.Float32frombits(binary.LittleEndian.Uint32(at)), binary.LittleEndian.Uint32(at[4:]), binary.LittleEndian.Uint32(at[8:])
}

// Verify verifies all checksums in the IVF. If one does not match, it marks the IVF as broken.
func (c *IVF) Verify() error {
	for i := range c.Lists {
		if _, err := c.centroid(i); err != nil {
			return err
		}
	}
	for i := range c.Lists + c.Coarse {
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

func centroidBytes(dimensions int) int { return quant.Int8CodeBytes(dimensions) + centroidNumbers }

func meanBytes(dimensions int) int { return dimensions*4 + centroidNumbers }

func listLayout(dimensions int) slotfile.Layout {
	return slotfile.Columns(quant.CodeBytes(dimensions)+listSlotBytes, quant.Columns(dimensions))
}

// SkipsIVF reports whether searches should scan all codes, because there is no usable IVF, the space is small, or too
// many rows are unassigned.
func (s *Set) SkipsIVF() bool {
	return !s.IVF.Usable() || s.Rows < int64(s.Thresholds.ivfFrom()) || s.Written > s.Rows/maxUnassignedShare
}

// Work is pending work on a space's IVF.
type Work uint8

// Types of work.
const (
	NoWork  Work = iota
	Assign       // assign the rows written since the last build
	Rebuild      // train new centroids
)

// IVFWork returns the IVF's pending work. If `idle` is set, that includes work postponed until writes pause.
func (s *Set) IVFWork(idle bool) Work {
	if s.Dimensions == 0 || !s.HasCodes() || s.NeedsCodes() || s.Rows < int64(s.Thresholds.ivfFrom()) {
		return NoWork
	}
	c := s.IVF
	switch {
	case c == nil && s.needsCodesSoon() && !idle: // otherwise the IVF would be built twice
		return NoWork
	case c == nil || c.Broken.Load() || c.Skewed || s.Rows >= rebuildFactor*c.BuiltAt || s.Rows*rebuildFactor <= c.BuiltAt:
		return Rebuild
	case !c.Radius.Known():
		return NoWork
	case s.Written > s.Rows/reassignShare, int64(c.Rows)+s.Written-s.Rows > int64(c.Rows)/deadRowShare:
		return Assign // too many unassigned or dead rows
	}
	return NoWork
}

// unassigned returns the live slots among 64w to 64w+63 that are in no list.
func (s *Set) unassigned(w int) uint64 { return s.Live.Word(w) &^ s.Assigned.Word(w) }

// AssignedAmong returns the slots that are in an IVF list.
func (s *Set) AssignedAmong(slots []uint32) (in []uint32) {
	for _, slot := range slots {
		if s.Assigned.Has(slot) {
			in = append(in, slot)
		}
	}
	return in
}

// CountUnassigned returns the number of live rows that are in no list.
func (s *Set) CountUnassigned() int {
	n := 0
	for w := range s.Groups() {
		n += bits.OnesCount64(s.unassigned(w))
	}
	return n
}
