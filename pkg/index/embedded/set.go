package embedded

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

// vectorSet is the vectors of a space at one version. It is immutable once published.
type vectorSet struct {
	dimensions int
	slots      uint32 // slots that were ever used: the range of a scan
	rows       int64  // live slots
	live       bitset
	sizes      sizes

	epoch   int       // of the code files; 0: there are none
	centre  []float32 // centroid that codes are relative to, of the length dimensions; nil without codes
	codedAt uint32    // slots when the centroid was computed

	cells   *cells // nil: there are none
	listed  bitset // slots whose rows are in the lists, live or dead
	written int64  // rows written since the lists were built

	vectors slotView // in full precision
	codes   slotView
	fine    slotView
}

// products calls f with the inner product of a query and the vectors in those of the slots that which names. They are live, and in
// ascending order.
func (v *vectorSet) products(query []float32, slots []uint32, which []int, f func(i int, product float32)) error {
	for n, i := range which {
		if n+1 < len(which) {
			quant.Prefetch(v.vectors.record(slots[which[n+1]]))
		}
		w := int(slots[i] / 64)
		if err := v.vectors.check(w, v.live.word(w)); err != nil {
			return err
		}
		f(i, quant.Dot(query, floatsOf(v.vectors.record(slots[i]))))
	}
	return nil
}

// vector returns a copy of a live slot's vector, checked.
func (v *vectorSet) vector(slot uint32) ([]float32, error) {
	if v.dimensions == 0 {
		return nil, nil
	}
	w := int(slot / 64)
	if err := v.vectors.check(w, v.live.word(w)); err != nil {
		return nil, err
	}
	return slices.Clone(floatsOf(v.vectors.record(slot))), nil
}

// sizes says from how many rows on a space has what; zero values mean the constants. Tests have all of it with few rows.
type sizes struct {
	codes int   // slots from which a space has codes
	exact int   // rows up to which every vector is compared
	cells int   // rows from which a space has cells
	reach reach // of the cells, in place of what is measured
}

func (z sizes) codesFrom() int { return cmp.Or(z.codes, codesFrom) }
func (z sizes) exactRows() int { return cmp.Or(z.exact, exactRows) }
func (z sizes) cellsFrom() int { return cmp.Or(z.cells, cellsFrom) }

// floatsOf reads a record as a vector, in place: records are aligned to 4 bytes, and hold this machine's byte order.
func floatsOf(record []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(record))), len(record)/4)
}

// bytesOf is the opposite of floatsOf.
func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*4)
}
