// Package vector searches a space's vectors: exactly, by quantised codes, and by an inverted file (IVF) over the codes.
//
// A Set belongs to one snapshot. Files are the open files that belong to the space's writer. The package knows nothing
// about rows or the database: it works only with slots, and its callers commit. See docs/embedded-index.md.
package vector

import (
	"cmp"
	"slices"
	"unsafe"

	"github.com/sluice/sluice/pkg/index/embedded/bitmap"
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

// Set holds a space's vectors at one version. It is immutable once published.
type Set struct {
	Dimensions int
	Slots      uint32 // number of slots ever used: the range of a scan
	Rows       int64  // number of live slots
	Live       bitmap.Bitmap
	Thresholds Thresholds

	Epoch    int       // epoch of the code files; 0 if there are none
	Centroid []float32 // centroid of the codes, of length Dimensions; nil without codes
	CodedAt  uint32    // number of slots when the centroid was computed

	IVF      *IVF          // nil if there is none
	Assigned bitmap.Bitmap // slots whose rows are in the lists, live or dead
	Written  int64         // number of rows written since the lists were built

	Full slotfile.View // float32, in this machine's byte order
	Bits slotfile.View // 1-bit codes (RaBitQ)
	Int8 slotfile.View // int8 codes (SQ8)
}

// Products calls f for each index i in `which` with i and the inner product of the query and the vector in slots[i].
// The slots must be live and ascending. It returns index.ErrCorrupt if a checksum does not match.
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

// Vector returns a copy of a live slot's vector, or nil if the space has no vectors. It returns index.ErrCorrupt if the
// checksum does not match.
func (v *Set) Vector(slot uint32) ([]float32, error) {
	if v.Dimensions == 0 {
		return nil, nil
	}
	if err := v.Full.Check(int(slot/64), v.Live.Word(int(slot/64))); err != nil {
		return nil, err
	}
	return slices.Clone(Floats(v.Full.Record(slot))), nil
}

// Thresholds are the sizes at which a space gets codes and an IVF. Zero values select the defaults; tests lower them.
type Thresholds struct {
	Codes  int    // minimum number of slots for codes; default 16,384
	Exact  int    // maximum number of rows for exact searches; default 20,000
	IVF    int    // minimum number of rows for an IVF; default 1,000,000
	Radius Radius // radius factors to use instead of calibrated ones
}

func (z Thresholds) codesFrom() int { return cmp.Or(z.Codes, codesFrom) }
func (z Thresholds) exactUpTo() int { return cmp.Or(z.Exact, exactUpTo) }
func (z Thresholds) ivfFrom() int   { return cmp.Or(z.IVF, ivfFrom) }

// Floats reinterprets a record as a vector that shares its memory. The record must be aligned to four bytes.
func Floats(record []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(record))), len(record)/4)
}

// Bytes is the inverse of Floats.
func Bytes(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*4)
}
