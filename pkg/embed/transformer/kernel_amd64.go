package transformer

import "golang.org/x/sys/cpu"

var (
	avx2   = &kernel{name: "avx2", rows: 6, cols: 16, tile: tileWide(6, 16, tile6x16), exp: expWide(8, exp8), gelu: geluWide(8, gelu8)}
	avx512 = &kernel{name: "avx512", rows: 12, cols: 32, tile: tileWide(12, 32, tile12x32), exp: expWide(16, exp16), gelu: geluWide(16, gelu16)}
)

// kernels are those that this processor can run, the fastest first. The system must save the wide registers too, which
// the detection asks.
func kernels() []*kernel {
	found := []*kernel{portable}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		found = append([]*kernel{avx2}, found...)
	}
	if cpu.X86.HasAVX512F {
		found = append([]*kernel{avx512}, found...)
	}
	return found
}

// tile6x16 and tile12x32 are kernel.tile for their sizes. They check nothing: lda and ldc are in elements, k is at least 1.
//
//go:noescape
func tile6x16(a *float32, lda int, b, bias, c *float32, ldc, k int)

//go:noescape
func tile12x32(a *float32, lda int, b, bias, c *float32, ldc, k int)

// exp8, exp16, gelu8 and gelu16 are kernel.exp and kernel.gelu for n numbers, n a multiple of their width and not 0.
//
//go:noescape
func exp8(x *float32, n int, shift float32)

//go:noescape
func exp16(x *float32, n int, shift float32)

//go:noescape
func gelu8(x *float32, n int)

//go:noescape
func gelu16(x *float32, n int)

// expWide and geluWide fill the last vector up, so that all numbers are worked out alike.
func expWide(width int, exp func(x *float32, n int, shift float32)) func([]float32, float32) {
	return func(x []float32, shift float32) {
		whole := len(x) / width * width
		if whole > 0 {
			exp(&x[0], whole, shift)
		}
		if whole < len(x) {
			var last [16]float32
			n := copy(last[:], x[whole:])
			for i := range last[n:] {
				last[n+i] = shift
			}
			exp(&last[0], width, shift)
			copy(x[whole:], last[:])
		}
	}
}

func geluWide(width int, gelu func(x *float32, n int)) func([]float32) {
	return func(x []float32) {
		whole := len(x) / width * width
		if whole > 0 {
			gelu(&x[0], whole)
		}
		if whole < len(x) {
			var last [16]float32
			copy(last[:], x[whole:])
			gelu(&last[0], width)
			copy(x[whole:], last[:])
		}
	}
}
