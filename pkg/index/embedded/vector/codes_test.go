package vector

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

// checkCodes compares all stored codes with codes computed from each vector.
func checkCodes(t *testing.T, s *Set) {
	t.Helper()
	coder := quant.NewCoder(s.Centroid)
	got := make([]byte, s.Bits.Payload+4)
	err := s.each(s.Full, func(slot uint32) error {
		code, fine := codesOf(coder, Floats(s.Full.Record(slot)))
		slotfile.Take(got, s.Bits.Group(int(slot/64)), s.Bits.Columns, int(slot%64))
		if !bytes.Equal(code, got[:s.Bits.Payload]) || !bytes.Equal(fine, s.Int8.Record(slot)) {
			return fmt.Errorf("the codes in slot %d are others than those of the vector", slot)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCodesComputedInParallelAreThoseOfTheVectors(t *testing.T) {
	t.Parallel()
	source, rng := clusters(24, 5, 1), rand.New(rand.NewPCG(81, 82))
	for _, n := range []int{1, ParallelRows - 1, 3*ParallelRows + 70} {
		checkCodes(t, vectorsOnly(t, source.dimensions, n, func() []float32 { return source.next(rng) }))
	}
}
