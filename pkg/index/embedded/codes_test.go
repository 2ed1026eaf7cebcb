package embedded

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sluice/sluice/pkg/index/embedded/quant"
)

// checkCodes compares all codes with those that are made of the vectors one by one.
func checkCodes(t *testing.T, s *vectorSet) {
	t.Helper()
	coder := quant.NewCoder(s.centre)
	got := make([]byte, s.codes.payload+4)
	err := s.each(s.vectors, func(slot uint32) error {
		code, fine := codesOf(coder, floatsOf(s.vectors.record(slot)))
		TakeRecord(got, s.codes.group(int(slot/64)), s.codes.columns, int(slot%64))
		if !bytes.Equal(code, got[:s.codes.payload]) || !bytes.Equal(fine, s.fine.record(slot)) {
			return fmt.Errorf("the codes in slot %d are others than those of the vector", slot)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCodesThatSeveralMakeAreThoseOfTheVectors(t *testing.T) {
	t.Parallel()
	source, rng := clusters(24, 5, 1), rand.New(rand.NewPCG(81, 82))
	for _, n := range []int{1, parallelRows - 1, 3*parallelRows + 70} {
		checkCodes(t, vectorsOnly(t, source.dimensions, n, func() []float32 { return source.next(rng) }))
	}
}
