package static

import (
	"math/rand/v2"
	"testing"
)

func TestEveryKernelAddsRowsEqually(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		var r rows
		var want, got [Dimensions]int32
		for i := range r.vectors {
			r.vectors[i] = new([Dimensions]byte)
			for j := range r.vectors[i] {
				r.vectors[i][j] = byte(random.Uint32())
			}
			r.weights[i] = int16(random.IntN(256))
		}
		if round == 0 { // the largest possible sums
			for i := range r.vectors {
				r.weights[i] = 255
				for j := range r.vectors[i] {
					r.vectors[i][j] = []byte{127, 128}[j%2]
				}
			}
		}
		for j := range want {
			want[j] = int32(random.Uint32() >> 8)
		}
		got = want
		addRowsPortable(&want, &r)
		addRows(&got, &r)
		if got != want {
			t.Fatalf("round %d: %v, want %v", round, got, want)
		}
	}
}
