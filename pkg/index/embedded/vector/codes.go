package vector

import (
	"errors"
	"math/bits"

	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

const (
	// codesFrom is from how many slots a space keeps codes; below it every search is exact anyway.
	codesFrom = 16_384
	// RecentreFactor is by how much a space grows until the centre of its vectors is taken anew.
	RecentreFactor = 4
	// centroidSample is from how many vectors the centre is taken.
	centroidSample = 16_384
	// codesPerWrite is how many codes are made until they are written.
	codesPerWrite = 1024
	// int8Align is of what a fine code is a multiple.
	int8Align = 4
)

// HasCodes reports whether the snapshot has codes, and fine ones.
func (s *Set) HasCodes() bool { return len(s.Centroid) > 0 }

// NeedsCodes reports whether the space has outgrown the centre of its codes, or lacks codes.
func (s *Set) NeedsCodes() bool {
	return s.Dimensions > 0 && int(s.Slots) >= s.Thresholds.codesFrom() && (!s.HasCodes() || uint64(s.Slots) >= RecentreFactor*uint64(s.CodedAt))
}

// needsCodesSoon reports whether the space has grown by most of what its codes last for, so that what is made of them had better wait.
func (s *Set) needsCodesSoon() bool {
	const tenths = 9
	return s.HasCodes() && 10*uint64(s.Slots) >= tenths*RecentreFactor*uint64(s.CodedAt)
}

// writeCodes writes the codes of the live slots in some groups of 64.
func (s *Set) writeCodes(coder *quant.Coder, from, to int, file, fine *slotfile.File) error {
	var slots []uint32
	var codes, bytes [][]byte
	flush := func() error {
		err := errors.Join(file.Write(slots, codes), fine.Write(slots, bytes))
		slots, codes, bytes = slots[:0], codes[:0], bytes[:0]
		return err
	}
	err := s.eachGroup(nil, s.Full, from, to, func(w int, live uint64) error {
		for ; live != 0; live &= live - 1 {
			slot := uint32(w*64 + bits.TrailingZeros64(live))
			code, of := codesOf(coder, Floats(s.Full.Record(slot)))
			slots, codes, bytes = append(slots, slot), append(codes, code), append(bytes, of)
		}
		if len(slots) >= codesPerWrite {
			return flush()
		}
		return nil
	})
	return errors.Join(err, flush())
}

// bitsLayout is how codes lie in their file.
func bitsLayout(dimensions int) slotfile.Layout {
	return slotfile.Columns(quant.CodeBytes(dimensions), quant.Columns(dimensions))
}

// Encoder returns a function that makes the codes of vectors of unit length. One goroutine uses it.
func (s *Set) Encoder() func(v []float32) (code, fine []byte) {
	coder := quant.NewCoder(s.Centroid)
	return func(v []float32) (code, fine []byte) { return codesOf(coder, v) }
}

// codesOf returns a vector's code, and its fine code.
func codesOf(c *quant.Coder, v []float32) (code, fine []byte) {
	code, fine = make([]byte, quant.CodeBytes(len(v))), make([]byte, quant.FineBytes(len(v)))
	c.Encode(code, fine, v)
	return code, fine
}

// centroidOf returns the mean of a sample of the live vectors.
func centroidOf(s *Set) ([]float32, error) {
	step := max(1, int(s.Rows)/centroidSample)
	sums := make([]float64, s.Dimensions)
	i, n := 0, 0
	err := s.each(s.Full, func(slot uint32) error {
		if i++; i%step != 0 {
			return nil
		}
		n++
		for d, x := range Floats(s.Full.Record(slot)) {
			sums[d] += float64(x)
		}
		return nil
	})
	centre := make([]float32, s.Dimensions)
	for d, sum := range sums {
		centre[d] = float32(sum / float64(max(n, 1)))
	}
	return centre, err
}
