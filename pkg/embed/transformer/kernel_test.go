package transformer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func randomVector(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

// packLinear packs float weights stored as n rows of k numbers, one row per output. A nil bias means zeros.
func (kn *kernel) packLinear(weight, bias []float32, n, k int) *packed {
	p := &packed{k: k, n: n}
	p.panels = make([]float32, roundUp(n, kn.cols)*k)
	p.bias = make([]float32, roundUp(n, kn.cols))
	copy(p.bias, bias)
	kn.packRows(p.panels, weight, k, n, k)
	return p
}

func TestEveryKernelMultipliesMatricesOfAnyShape(t *testing.T) {
	t.Parallel()
	for _, kn := range kernels() {
		for _, shape := range [][3]int{{1, 1, 1}, {3, 5, 7}, {12, 32, 1}, {13, 33, 9}, {24, 64, 48}, {50, 70, 31}, {6, 16, 100}} {
			t.Run(fmt.Sprint(kn.name, shape), func(t *testing.T) {
				t.Parallel()
				m, n, k := shape[0], shape[1], shape[2]
				r := rand.New(rand.NewPCG(1, uint64(m*n*k)))
				lda, ldc := k+3, n+5
				a := randomVector(r, (m+kn.rows)*lda)
				weight, bias := randomVector(r, n*k), randomVector(r, n)
				c := make([]float32, m*ldc)
				for i := range c {
					c[i] = -99
				}
				kn.multiply(c, ldc, a, lda, m, kn.packLinear(weight, bias, n, k), make([]float32, kn.rows*kn.cols))
				for i := range m {
					for j := range ldc {
						want := -99.0
						if j < n {
							want = float64(bias[j])
							for p := range k {
								want += float64(a[i*lda+p]) * float64(weight[j*k+p])
							}
						}
						if got := float64(c[i*ldc+j]); math.Abs(got-want) > 1e-4 {
							t.Fatalf("row %d, column %d: %v, want %v", i, j, got, want)
						}
					}
				}
			})
		}
	}
}

func TestPackingColumnsEqualsPackingTheTranspose(t *testing.T) {
	t.Parallel()
	for _, kn := range kernels() {
		const n, k = 37, 11
		r := rand.New(rand.NewPCG(2, 3))
		byRow := randomVector(r, n*k)
		byColumn := make([]float32, k*(n+2))
		for i := range n {
			for j := range k {
				byColumn[j*(n+2)+i] = byRow[i*k+j]
			}
		}
		want, got := make([]float32, roundUp(n, kn.cols)*k), make([]float32, roundUp(n, kn.cols)*k)
		kn.packRows(want, byRow, k, n, k)
		kn.packColumns(got, byColumn, n+2, n, k)
		for i := range want {
			if want[i] != got[i] {
				t.Fatalf("%s: element %d is %v, want %v", kn.name, i, got[i], want[i])
			}
		}
	}
}

func TestEveryKernelKnowsTheFunctions(t *testing.T) {
	t.Parallel()
	for _, kn := range kernels() {
		t.Run(kn.name, func(t *testing.T) {
			t.Parallel()
			var x []float32
			for v := float32(-12); v <= 12; v += 0.0137 {
				x = append(x, v)
			}
			x = append(x, 0, -1e-20, 1e-20, 100, -100, 1e10, -1e10)
			gelu := append([]float32(nil), x...)
			kn.gelu(gelu)
			for i, v := range x {
				want := 0.5 * float64(v) * math.Erfc(-float64(v)/math.Sqrt2)
				if math.Abs(float64(gelu[i])-want) > 4e-7*math.Max(1, math.Abs(float64(v))) {
					t.Errorf("gelu(%v) = %v, want %v", v, gelu[i], want)
				}
			}
			for i := range x {
				x[i] = -float32(math.Abs(float64(x[i])) * 8)
			}
			exp := append([]float32(nil), x...)
			for i := range exp {
				exp[i] += 3
			}
			kn.exp(exp, 3)
			for i, v := range x {
				if want := math.Exp(float64(v+3) - 3); math.Abs(float64(exp[i])-want) > 1e-6*want+1e-36 {
					t.Errorf("exp(%v) = %v, want %v", v, exp[i], want)
				}
			}
		})
	}
}

func BenchmarkMultiply(b *testing.B) {
	for _, kn := range kernels() {
		b.Run(kn.name, func(b *testing.B) {
			const m, n, k = 256, 384, 384
			r := rand.New(rand.NewPCG(1, 1))
			a, c, tile := randomVector(r, (m+kn.rows)*k), make([]float32, m*n), make([]float32, kn.rows*kn.cols)
			p := kn.packLinear(randomVector(r, n*k), randomVector(r, n), n, k)
			for b.Loop() {
				kn.multiply(c, n, a, k, m, p, tile)
			}
			b.ReportMetric(2*m*n*k*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		})
	}
}

func BenchmarkFunctions(b *testing.B) {
	for _, kn := range kernels() {
		x := randomVector(rand.New(rand.NewPCG(1, 1)), 4096)
		b.Run(kn.name+"/gelu", func(b *testing.B) {
			y := make([]float32, len(x))
			for b.Loop() {
				copy(y, x)
				kn.gelu(y)
			}
			b.ReportMetric(float64(b.N)*float64(len(x))/b.Elapsed().Seconds()/1e6, "M/s")
		})
		b.Run(kn.name+"/exp", func(b *testing.B) {
			y := make([]float32, len(x))
			for b.Loop() {
				copy(y, x)
				kn.exp(y, 5)
			}
			b.ReportMetric(float64(b.N)*float64(len(x))/b.Elapsed().Seconds()/1e6, "M/s")
		})
	}
}
