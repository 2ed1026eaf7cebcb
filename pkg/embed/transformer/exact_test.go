package transformer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sluice/sluice/pkg/embed"
)

func sameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(v, w float32) bool { return math.Float32bits(v) == math.Float32bits(w) })
}

// Vectors must not depend on which processor computes them, because a fleet may have different processors.
func TestFixedPointOfEveryKernelIsTheSameToTheLastBit(t *testing.T) {
	t.Parallel()
	for _, shape := range [][3]int{{1, 1, 1}, {5, 3, 15}, {12, 32, 16}, {13, 33, 17}, {95, 31, 47}, {97, 65, 384}, {30, 384, 1536}} {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			t.Parallel()
			m, n, k := shape[0], shape[1], shape[2]
			r := rand.New(rand.NewPCG(9, uint64(m*n*k)))
			a, weight, bias := randomVector(r, m*k), randomVector(r, n*k), randomVector(r, n)
			var want []float32
			for _, kn := range kernels() {
				c, _ := product(t, kn, a, weight, bias, m, n, k)
				if want == nil {
					want = c
				}
				if !sameBits(c, want) {
					t.Errorf("%s differs from %s", kn.name, kernels()[0].name)
				}
			}
		})
	}
}

func TestScalesOfEveryKernelAreTheSameToTheLastBit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(10, 11))
	const factor = float32(math.MaxInt16 / 9.0)
	for _, size := range []int{1, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 384, 1536, 1553} {
		x := randomVector(r, size)
		x[size/2] = -9 // the number of largest magnitude is negative
		wide := roundUp(size, fixedStep)
		var first *kernel
		var squares, top float32
		var numbers []int16
		for _, kn := range kernels() {
			s, m := kn.fixed.extent(x)
			to := slices.Repeat([]int16{7}, wide)
			kn.fixed.round(to, x, factor)
			if first == nil {
				first, squares, top, numbers = kn, s, m, to
			}
			if s != squares || m != 9 || top != 9 || !slices.Equal(to, numbers) {
				t.Errorf("%d numbers: %s has squares %v and magnitude %v, %s %v and %v, the same numbers: %v", size, kn.name, s, m,
					first.name, squares, top, slices.Equal(to, numbers))
			}
			for i, v := range to {
				if i >= size && v != 0 || i < size && v != int16(math.RoundToEven(float64(x[i]*factor))) {
					t.Fatalf("%s, %d numbers: number %d is %d", kn.name, size, i, v)
				}
			}
		}
	}
}

func TestSumsAndNormsOfEveryKernelAreTheSameToTheLastBit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(12, 13))
	for _, size := range []int{1, 8, 15, 16, 17, 31, 32, 33, 48, 64, 80, 127, 128, 183, 384, 400} {
		x, residual := randomVector(r, size), randomVector(r, size)
		n := &layerNorm{weight: randomVector(r, size), bias: randomVector(r, size), epsilon: 1e-12}
		var row, powers, activated []float32
		var sum float32
		for i, kn := range kernels() {
			normed, raised := slices.Clone(x), slices.Clone(x)
			kn.norm(n, normed, residual)
			got := kn.exp(raised, kn.largest(x))
			grown := append(slices.Clone(x), 0, float32(math.Copysign(0, -1)), 14, -14)
			kn.gelu(grown)
			if i == 0 {
				row, powers, activated, sum = normed, raised, grown, got
			}
			if !sameBits(grown, activated) {
				t.Errorf("%d numbers: GELU by %s differs from that by %s", size, kn.name, kernels()[0].name)
			}
			if !sameBits(normed, row) || !sameBits(raised, powers) || got != sum {
				t.Errorf("%d numbers: %s differs from %s: the norm is the same: %v, powers: %v, their sum: %v and %v", size, kn.name,
					kernels()[0].name, sameBits(normed, row), sameBits(raised, powers), got, sum)
			}
		}
	}
}

// A number whose scaled value is just outside the 16-bit range must be rounded to the nearest number in that range.
func TestRoundingStaysWithinSixteenBits(t *testing.T) {
	t.Parallel()
	for _, kn := range kernels() {
		x, to := slices.Repeat([]float32{1.0001, -1.0001}, 12), make([]int16, 32)
		kn.fixed.round(to, x, math.MaxInt16)
		if to[0] != math.MaxInt16 || to[1] != math.MinInt16 || to[23] != math.MinInt16 || to[24] != 0 {
			t.Errorf("%s: %v", kn.name, to)
		}
	}
}

// All numbers in a tile are as large as possible. Partial sums overflow 32 bits, but the total must be correct.
func TestFixedPointTilesAcceptTheLargestNumbers(t *testing.T) {
	t.Parallel()
	for _, kn := range kernels() {
		for _, k := range []int{4, 16, 64} {
			a, b := make([]int16, kn.rows*k), make([]int16, kn.cols*k)
			scales, columns, bias := make([]float32, kn.rows), make([]float32, kn.cols), make([]float32, kn.cols)
			at := func(p, j int) *int16 { return &b[(p/2*kn.cols+j)*2+p%2] }
			for i := range kn.rows {
				scales[i] = float32(i + 1)
				for p := range k {
					a[i*k+p] = math.MaxInt16
				}
			}
			for j := range kn.cols {
				columns[j], bias[j] = float32(j+1), float32(-j)
				for p := range k {
					*at(p, j) = int16(math.MaxInt16 * (1 - 2*(p/2%2))) // alternating signs in pairs, so that the products cancel
					if k > 4 {
						*at(p, j) = int16(math.MaxInt16 * (1 - 2*(p*2/k))) // the first half positive, far beyond 32 bits, and the second half negative
					}
				}
				*at(k-1, j) += int16(j) // the remainder of the sum
			}
			ldc := kn.cols + 3
			c := slices.Repeat([]float32{-99}, kn.rows*ldc)
			kn.fixed.tile(a, k, b, scales, columns, bias, c, ldc, k)
			for i := range kn.rows {
				for j := range ldc {
					want := float32(-99)
					if j < kn.cols {
						want = float32(math.FMA(float64(float32(math.MaxInt16*j)*scales[i]), float64(columns[j]), float64(bias[j])))
					}
					if got := c[i*ldc+j]; got != want {
						t.Fatalf("%s, %d numbers: row %d, column %d is %v, want %v", kn.name, k, i, j, got, want)
					}
				}
			}
		}
	}
}

func TestVectorsOfEveryKernelInFixedPointAreTheSameToTheLastBit(t *testing.T) {
	t.Parallel()
	texts := append([]string{"", "a", "An example of a text that is somewhat longer than the others are, with a few rare words: 0x80070057."}, benchChunks()[:5]...)
	texts = append(texts, benchQueries...)
	for name, m := range tinyModels {
		directory := tinyDirectory(t, m)
		var want [][]float32
		for _, kn := range kernels() {
			e, err := open(Config{Directory: directory}, kn)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Embed(t.Context(), texts, embed.Passage)
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = got
			}
			for i := range got {
				if !sameBits(got[i], want[i]) {
					t.Errorf("%s: the vector of %q by %s is not that by %s", name, texts[i], kn.name, kernels()[0].name)
				}
			}
		}
	}
}
