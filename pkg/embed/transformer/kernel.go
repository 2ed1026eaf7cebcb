package transformer

// kernel multiplies one tile of a matrix product: rows rows of A with a panel of cols columns of B. It is the only place
// where the arithmetic of matrices happens, and the only one that a processor's vector instructions speed up.
type kernel struct {
	name       string
	rows, cols int

	// tile sets c[i*ldc+j] = bias[j] + Σ a[i*lda+p] * b[p*cols+j] for all i < rows, j < cols and p < k, k at least 1.
	tile func(a []float32, lda int, b, bias, c []float32, ldc, k int)

	// exp replaces each x[i] by e^(x[i]-shift), or by 0 where that is under 1e-37; x[i] is at most shift.
	exp func(x []float32, shift float32)

	// gelu replaces each x[i] by x[i]·Φ(x[i]), Φ being the normal distribution.
	gelu func(x []float32)
}

// portable is the kernel of every processor.
var portable = &kernel{name: "portable", rows: 4, cols: 4, tile: tilePortable, exp: expPortable, gelu: geluPortable}

// tilePortable computes 4 × 4 values at a time, which is what compiled Go keeps in registers.
func tilePortable(a []float32, lda int, b, bias, c []float32, ldc, k int) {
	a0, a1, a2, a3 := a[:k], a[lda:][:k], a[2*lda:][:k], a[3*lda:][:k]
	b0, b1, b2, b3 := bias[0], bias[1], bias[2], bias[3]
	c00, c01, c02, c03 := b0, b1, b2, b3
	c10, c11, c12, c13 := b0, b1, b2, b3
	c20, c21, c22, c23 := b0, b1, b2, b3
	c30, c31, c32, c33 := b0, b1, b2, b3
	b = b[:4*k]
	for p, v0 := range a0 {
		w := (*[4]float32)(b)
		b = b[4:]
		w0, w1, w2, w3 := w[0], w[1], w[2], w[3]
		c00 += v0 * w0
		c01 += v0 * w1
		c02 += v0 * w2
		c03 += v0 * w3
		v1 := a1[p]
		c10 += v1 * w0
		c11 += v1 * w1
		c12 += v1 * w2
		c13 += v1 * w3
		v2 := a2[p]
		c20 += v2 * w0
		c21 += v2 * w1
		c22 += v2 * w2
		c23 += v2 * w3
		v3 := a3[p]
		c30 += v3 * w0
		c31 += v3 * w1
		c32 += v3 * w2
		c33 += v3 * w3
	}
	*(*[4]float32)(c) = [4]float32{c00, c01, c02, c03}
	*(*[4]float32)(c[ldc:]) = [4]float32{c10, c11, c12, c13}
	*(*[4]float32)(c[2*ldc:]) = [4]float32{c20, c21, c22, c23}
	*(*[4]float32)(c[3*ldc:]) = [4]float32{c30, c31, c32, c33}
}
