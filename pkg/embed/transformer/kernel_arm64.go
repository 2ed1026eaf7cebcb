package transformer

var neon = &kernel{name: "neon", rows: 8, cols: 8, tile: tileWide(8, 8, tile8x8), exp: expPortable, gelu: geluPortable,
	largest: maxOf, norm: normPortable,
	fixed: &fixedPoint{tile: fixed8x8, extent: extentPortable, round: roundPortable}}

// kernels returns the kernels that this processor supports, fastest first. Every arm64 processor has NEON.
func kernels() []*kernel { return []*kernel{neon, portable} }

// tile8x8 implements kernel.tile for its size, without bounds checks. lda and ldc count elements; k is at least 1.
//
//go:noescape
func tile8x8(a *float32, lda int, b, bias, c *float32, ldc, k int)

// fixed8x8 implements fixedPoint.tile. It processes four rows at a time, because the sums for more rows don't fit in
// the registers.
func fixed8x8(a []int16, lda int, b []int16, rows, columns, bias, c []float32, ldc, k int) {
	_, _ = a[7*lda+k-1], b[8*k-1]
	_, _, _, _ = rows[7], columns[7], bias[7], c[7*ldc+7]
	for i := 0; i < 8; i += 4 {
		fixed4x8(&a[i*lda], lda, &b[0], &rows[i], &columns[0], &bias[0], &c[i*ldc], ldc, k)
	}
}

// fixed4x8 implements fixedPoint.tile for its size, without bounds checks. lda and ldc count elements; k is a positive
// multiple of 2.
//
//go:noescape
func fixed4x8(a *int16, lda int, b *int16, rows, columns, bias, c *float32, ldc, k int)
