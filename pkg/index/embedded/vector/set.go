package vector

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

// Set is the vectors of a space at one version. It is immutable once published.
type Set struct {
	Dimensions int
	Slots      uint32 // slots that were ever used: the range of a scan
	Rows       int64  // live slots
	Live       bitmap.Bitmap
	Thresholds Thresholds

	Epoch    int       // of the code files; 0: there are none
	Centroid []float32 // centroid that codes are relative to, of the length dimensions; nil without codes
	CodedAt  uint32    // slots when the centroid was computed

	IVF      *IVF          // nil: there are none
	Assigned bitmap.Bitmap // slots whose rows are in the lists, live or dead
	Written  int64         // rows written since the lists were built

	Full slotfile.View // in full precision
	Bits slotfile.View
	Int8 slotfile.View
}

// Products calls f with the inner product of a query and the vectors in those of the slots that which names. They are live, and in
// ascending order.
func (v *Set) Products(query []float32, slots []uint32, which []int, f func(i int, product float32)) error {
	for n, i := range which {
		if n+1 < len(which) {
			quant.Prefetch(v.Full.Record(slots[which[n+1]]))
		}
		w := int(slots[i] / 64)
		if err := v.Full.Check(w, v.Live.Word(w)); err != nil {
			return err
		}
		f(i, quant.Dot(query, Floats(v.Full.Record(slots[i]))))
	}
	return nil
}

// Vector returns a copy of a live slot's vector, checked.
func (v *Set) Vector(slot uint32) ([]float32, error) {
	if v.Dimensions == 0 {
		return nil, nil
	}
	w := int(slot / 64)
	if err := v.Full.Check(w, v.Live.Word(w)); err != nil {
		return nil, err
	}
	return slices.Clone(Floats(v.Full.Record(slot))), nil
}

// Thresholds says from how many rows on a space has what; zero values mean the constants. Tests have all of it with few rows.
type Thresholds struct {
	Codes  int    // slots from which a space has codes
	Exact  int    // rows up to which every vector is compared
	IVF    int    // rows from which a space has cells
	Radius Radius // of the cells, in place of what is measured
}

func (z Thresholds) codesFrom() int { return cmp.Or(z.Codes, codesFrom) }
func (z Thresholds) exactUpTo() int { return cmp.Or(z.Exact, exactUpTo) }
func (z Thresholds) cellsFrom() int { return cmp.Or(z.IVF, ivfFrom) }

// Floats reads a record as a vector, in place: records are aligned to 4 bytes, and hold this machine's byte order.
func Floats(record []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(record))), len(record)/4)
}

// Bytes is the opposite of floatsOf.
func Bytes(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*4)
}
