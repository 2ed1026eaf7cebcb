package transformer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/sluice/sluice/pkg/embed"
)

// product multiplies in fixed point and returns the largest error relative to the product of the two rows' lengths.
func product(t *testing.T, kn *kernel, a, weight, bias []float32, m, n, k int) (c []float32, worst float64) {
	t.Helper()
	c = make([]float32, m*n)
	kn.multiplyFixed(c, n, append(a, make([]float32, kn.rows*k)...), k, m, kn.packFixed(weight, bias, n, k), new(fixedSpace), make([]float32, kn.rows*kn.cols))
	for i := range m {
		for j := range n {
			var sum, aa, bb float64
			for p := range k {
				v, w := float64(a[i*k+p]), float64(weight[j*k+p])
				sum, aa, bb = sum+v*w, aa+v*v, bb+w*w
			}
			if length := math.Sqrt(aa * bb); length > 0 {
				worst = max(worst, math.Abs(float64(c[i*n+j])-float64(bias[j])-sum)/length)
			} else if c[i*n+j] != bias[j] {
				t.Errorf("row %d, column %d of nothing: %v, want the bias %v", i, j, c[i*n+j], bias[j])
			}
		}
	}
	return c, worst
}

func TestFixedPointIsCloseForAnyShapeAndScale(t *testing.T) {
	t.Parallel()
	for _, kn := range kernels() {
		for _, shape := range [][3]int{{1, 1, 1}, {3, 5, 7}, {6, 16, 16}, {13, 33, 17}, {97, 31, 48}, {200, 20, 31}, {7, 17, 1536}} {
			for _, scale := range []float32{1, 1e-12, 1e12, 1e-18, 1e18} {
				t.Run(fmt.Sprint(kn.name, shape, scale), func(t *testing.T) {
					t.Parallel()
					m, n, k := shape[0], shape[1], shape[2]
					r := rand.New(rand.NewPCG(5, uint64(m*n*k)))
					a, weight := randomVector(r, m*k), randomVector(r, n*k)
					for i := range a {
						a[i] *= scale
					}
					for i := range k {
						a[(m-1)*k+i], weight[(n-1)*k+i] = 0, 0
					}
					if _, worst := product(t, kn, a, weight, make([]float32, n), m, n, k); worst > 5e-5 {
						t.Errorf("a value is %v of the lengths of its rows away from the true one", worst)
					}
				})
			}
		}
	}
}

// A sum is largest if both rows have the same direction. A single number is largest if it is the only non-zero number
// in its row.
func TestFixedPointHoldsTheLargestSums(t *testing.T) {
	t.Parallel()
	for _, kn := range kernels() {
		for _, k := range []int{1, 2, 384, 1536, 4096} {
			for name, fill := range map[string]func(i int) float32{
				"equal": func(int) float32 { return 0.37 }, "one": func(i int) float32 { return float32(1 - min(i, 1)) },
				"alternating": func(i int) float32 { return float32(1 - 2*(i%2)) }, "halves": func(i int) float32 { return float32(i*2/k) - 0.5 },
			} {
				for _, sign := range []float32{1, -1} {
					a, weight := make([]float32, k), make([]float32, k)
					for i := range k {
						a[i] = fill(i)
						weight[i] = sign * a[i]
					}
					// The errors do not cancel if all numbers are rounded in the same direction.
					if _, worst := product(t, kn, a, weight, []float32{0}, 1, 1, k); worst > (math.Sqrt(float64(k))+1)/fixedLength {
						t.Errorf("%s, %d numbers, %s, sign %v: %v away", kn.name, k, name, sign, worst)
					}
				}
			}
		}
	}
}

func TestFixedPointConfinesNaNToItsRow(t *testing.T) {
	t.Parallel()
	for _, kn := range kernels() {
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
			const m, n, k = 3, 2, 20
			r := rand.New(rand.NewPCG(5, 6))
			a, weight := randomVector(r, m*k), randomVector(r, n*k)
			a[k+3] = bad
			c := make([]float32, m*n)
			kn.multiplyFixed(c, n, append(a, make([]float32, kn.rows*k)...), k, m, kn.packFixed(weight, nil, n, k), new(fixedSpace), make([]float32, kn.rows*kn.cols))
			for i, v := range c {
				if (i/n == 1) != math.IsNaN(float64(v)) {
					t.Errorf("%s, %v in row 1: row %d is %v", kn.name, bad, i/n, v)
				}
			}
		}
	}
}

func TestEveryKernelKnowsSumsAndNorms(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for _, kn := range kernels() {
		for _, size := range []int{1, 7, 8, 15, 16, 17, 32, 48, 100, 384, 400} {
			x, residual := randomVector(r, size), randomVector(r, size)
			n := &layerNorm{weight: randomVector(r, size), bias: randomVector(r, size), epsilon: 1e-12}
			if got, want := kn.largest(x), maxOf(x); got != want {
				t.Errorf("%s: the largest of %d is %v, want %v", kn.name, size, got, want)
			}
			powers, same := append([]float32(nil), x...), append([]float32(nil), x...)
			if got, want := kn.exp(powers, 5), expPortable(same, 5); math.Abs(float64(got-want)) > 1e-5*float64(want) || math.Abs(float64(got-sumOf(powers))) > 1e-5*float64(got) {
				t.Errorf("%s: the sum of %d powers is %v, want %v, of those that it made %v", kn.name, size, got, want, sumOf(powers))
			}
			got, want := append([]float32(nil), x...), append([]float32(nil), x...)
			kn.norm(n, got, residual)
			normPortable(n, want, residual)
			for i := range got {
				if math.Abs(float64(got[i]-want[i])) > 1e-4 {
					t.Errorf("%s: number %d of %d is %v, want %v", kn.name, i, size, got[i], want[i])
				}
			}
		}
	}
}

// TestKernelsAgreeOnARealModel runs the model in the SLUICE_TEST_MODEL directory with every kernel.
func TestKernelsAgreeOnARealModel(t *testing.T) {
	t.Parallel()
	directory := os.Getenv("SLUICE_TEST_MODEL")
	if directory == "" {
		t.Skip("SLUICE_TEST_MODEL names no model")
	}
	texts := append(benchChunks()[:4], benchQueries...)
	var want [][]float32
	for _, kn := range []*kernel{portable, kernels()[0]} {
		e, err := open(Config{Directory: directory}, kn)
		if err != nil {
			t.Fatal(err)
		}
		vectors, err := e.Embed(t.Context(), texts, embed.Passage)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = vectors
			continue
		}
		worst := 1.0
		for i := range vectors {
			worst = min(worst, cosine(vectors[i], want[i]))
		}
		t.Logf("%s: similarity to portable at least %.9f", kn.name, worst)
		if worst < 0.99999 {
			t.Errorf("%s: similarity %v to portable", kn.name, worst)
		}
	}
}

func BenchmarkMultiplyFixed(b *testing.B) {
	for _, kn := range kernels()[1:] {
		for _, shape := range [][2]int{{1152, 384}, {384, 384}, {1536, 384}, {384, 1536}} {
			n, k := shape[0], shape[1]
			b.Run(fmt.Sprintf("%s/%dx%d", kn.name, n, k), func(b *testing.B) {
				const m = 384
				r := rand.New(rand.NewPCG(1, 1))
				a, c, tile := randomVector(r, (m+kn.rows)*k), make([]float32, m*n), make([]float32, kn.rows*kn.cols)
				p, space := kn.packFixed(randomVector(r, n*k), randomVector(r, n), n, k), new(fixedSpace)
				for b.Loop() {
					kn.multiplyFixed(c, n, a, k, m, p, space, tile)
				}
				b.ReportMetric(float64(m*n*k*b.N)/b.Elapsed().Seconds()/1e9, "Gproducts/s")
			})
		}
	}
}
