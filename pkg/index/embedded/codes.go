package embedded

import (
	"errors"
	"math/bits"

	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

const (
	// codesFrom is from how many slots a space keeps codes; below it every search is exact anyway.
	codesFrom = 16_384
	// recentreFactor is by how much a space grows until the centre of its vectors is taken anew.
	recentreFactor = 4
	// centreSample is from how many vectors the centre is taken.
	centreSample = 16_384
	// codesAtOnce is how many codes are made until they are written.
	codesAtOnce = 1024
	// fineAlign is of what a fine code is a multiple.
	fineAlign = 4
)

// coded reports whether the snapshot has codes, and fine ones.
func (s *vectorSet) coded() bool { return len(s.centre) > 0 }

// wantsCodes reports whether the space has outgrown the centre of its codes, or lacks codes.
func (s *vectorSet) wantsCodes() bool {
	return s.dimensions > 0 && int(s.slots) >= s.sizes.codesFrom() && (!s.coded() || uint64(s.slots) >= recentreFactor*uint64(s.codedAt))
}

// wantsCodesSoon reports whether the space has grown by most of what its codes last for, so that what is made of them had better wait.
func (s *vectorSet) wantsCodesSoon() bool {
	const tenths = 9
	return s.coded() && 10*uint64(s.slots) >= tenths*recentreFactor*uint64(s.codedAt)
}

// writeCodes writes the codes of the live slots in some groups of 64.
func (s *vectorSet) writeCodes(coder *quant.Coder, from, to int, file, fine *slotFile) error {
	var slots []uint32
	var codes, bytes [][]byte
	flush := func() error {
		err := errors.Join(file.write(slots, codes), fine.write(slots, bytes))
		slots, codes, bytes = slots[:0], codes[:0], bytes[:0]
		return err
	}
	err := s.eachGroup(nil, s.vectors, from, to, func(w int, live uint64) error {
		for ; live != 0; live &= live - 1 {
			slot := uint32(w*64 + bits.TrailingZeros64(live))
			code, of := codesOf(coder, floatsOf(s.vectors.record(slot)))
			slots, codes, bytes = append(slots, slot), append(codes, code), append(bytes, of)
		}
		if len(slots) >= codesAtOnce {
			return flush()
		}
		return nil
	})
	return errors.Join(err, flush())
}

// codeShape is how codes lie in their file.
func codeShape(dimensions int) shape {
	return columnsOf(quant.CodeBytes(dimensions), quant.Columns(dimensions))
}

// encoder returns a function that makes the codes of vectors of unit length. One goroutine uses it.
func (s *vectorSet) encoder() func(v []float32) (code, fine []byte) {
	coder := quant.NewCoder(s.centre)
	return func(v []float32) (code, fine []byte) { return codesOf(coder, v) }
}

// codesOf returns a vector's code, and its fine code.
func codesOf(c *quant.Coder, v []float32) (code, fine []byte) {
	code, fine = make([]byte, quant.CodeBytes(len(v))), make([]byte, quant.FineBytes(len(v)))
	c.Encode(code, fine, v)
	return code, fine
}

// centreOf returns the mean of a sample of the live vectors.
func centreOf(s *vectorSet) ([]float32, error) {
	step := max(1, int(s.rows)/centreSample)
	sums := make([]float64, s.dimensions)
	i, n := 0, 0
	err := s.each(s.vectors, func(slot uint32) error {
		if i++; i%step != 0 {
			return nil
		}
		n++
		for d, x := range floatsOf(s.vectors.record(slot)) {
			sums[d] += float64(x)
		}
		return nil
	})
	centre := make([]float32, s.dimensions)
	for d, sum := range sums {
		centre[d] = float32(sum / float64(max(n, 1)))
	}
	return centre, err
}
