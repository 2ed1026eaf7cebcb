package transformer

import "golang.org/x/sys/cpu"

var (
	avx2   = &kernel{name: "avx2", rows: 6, cols: 16, tile: tileWide(6, 16, tile6x16), exp: expPortable, gelu: geluPortable}
	avx512 = &kernel{name: "avx512", rows: 12, cols: 32, tile: tileWide(12, 32, tile12x32), exp: expPortable, gelu: geluPortable}
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

// tileWide guards assembly with the checks that compiled code has of itself: it panics before memory is touched that the
// slices do not hold.
func tileWide(rows, cols int, tile func(a *float32, lda int, b, bias, c *float32, ldc, k int)) func([]float32, int, []float32, []float32, []float32, int, int) {
	return func(a []float32, lda int, b, bias, c []float32, ldc, k int) {
		_, _ = a[(rows-1)*lda+k-1], b[k*cols-1]
		_, _ = bias[cols-1], c[(rows-1)*ldc+cols-1]
		tile(&a[0], lda, &b[0], &bias[0], &c[0], ldc, k)
	}
}
