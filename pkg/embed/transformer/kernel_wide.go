//go:build amd64 || arm64

package transformer

// tileWide wraps an assembly function with bounds checks, so that it panics instead of accessing memory outside the
// slices.
func tileWide(rows, cols int, tile func(a *float32, lda int, b, bias, c *float32, ldc, k int)) func([]float32, int, []float32, []float32, []float32, int, int) {
	return func(a []float32, lda int, b, bias, c []float32, ldc, k int) {
		_, _ = a[(rows-1)*lda+k-1], b[k*cols-1]
		_, _ = bias[cols-1], c[(rows-1)*ldc+cols-1]
		tile(&a[0], lda, &b[0], &bias[0], &c[0], ldc, k)
	}
}
