package vector

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index/embedded/topk"
	"github.com/sluice/sluice/pkg/index/embedded/vector/quant"
)

// TestInt8CodesMissNoResult compares all rows by their int8 codes and rescores those that the codes don't rule out.
// That must give the same result as an exact scan.
func TestInt8CodesMissNoResult(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	for name, source := range drawings {
		rng := rand.New(rand.NewPCG(41, 42))
		s := vectorsOnly(t, source.dimensions, 3000, func() []float32 { return source.next(rng) })
		for range 5 {
			query := source.next(rng)
			exact, err := ScanExact(t.Context(), s, nil, query, 50, int(s.Rows))
			if err != nil {
				t.Fatal(err)
			}
			all := &refined{}
			all.begin(50)
			every := make([]uint32, s.Slots)
			for i := range every {
				every[i] = uint32(i)
			}
			if err := all.compare(t.Context(), s, quant.NewCoder(s.Centroid).Prepare(query), every); err != nil {
				t.Fatal(err)
			}
			found, err := rescoreFull(t.Context(), s, all.slots(), query, 50)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(exact.Best(50), found.Best(50), cmp.AllowUnexported(topk.Scored{})); diff != "" {
				t.Errorf("%s (-exact +by fine codes):\n%s", name, diff)
			}
		}
	}
}
