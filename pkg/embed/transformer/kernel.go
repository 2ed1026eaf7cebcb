package transformer

// kernel implements the arithmetic of a network with one set of processor instructions. Its main function, tile,
// computes one tile of a matrix product: `rows` rows of A times a panel of `cols` columns of B.
type kernel struct {
	name       string
	rows, cols int

	// tile sets c[i*ldc+j] = bias[j] + Σ a[i*lda+p] * b[p*cols+j] for all i < rows, j < cols and p < k. k is at least
	// 1.
	tile func(a []float32, lda int, b, bias, c []float32, ldc, k int)

	// exp replaces each x[i] by e^(x[i]-shift), or by 0 if that is below 1e-37, and returns the sum of the results. No
	// x[i] may exceed shift.
	exp func(x []float32, shift float32) (sum float32)

	// fixed multiplies by weights in fixed point. It is nil if floats are as fast.
	fixed *fixedPoint

	// gelu replaces each x[i] by x[i]·Φ(x[i]). Φ is the distribution function of the normal distribution.
	gelu func(x []float32)

	// largest returns the largest of the numbers. There must be at least one.
	largest func(x []float32) float32

	// norm adds residual to row and normalises row. Both are as long as the weights of n.
	norm func(n *layerNorm, row, residual []float32)
}

// portable is the kernel that runs on every processor.
var portable = &kernel{name: "portable", rows: 2, cols: 4, tile: tilePortable, exp: expPortable, gelu: geluPortable,
	largest: maxOf, norm: normPortable}

// tilePortable computes 2 × 4 values at a time, because more would not fit into the registers of every processor.
func tilePortable(a []float32, lda int, b, bias, c []float32, ldc, k int) {
	a0, a1 := a[:k], a[lda:][:k]
	c00, c01, c02, c03 := bias[0], bias[1], bias[2], bias[3]
	c10, c11, c12, c13 := c00, c01, c02, c03
	b = b[:4*k]
	for p, v0 := range a0 {
		v1 := a1[p]
		w := (*[4]float32)(b)
		b = b[4:]
		w0 := w[0]
		c00 += v0 * w0
		c10 += v1 * w0
		w1 := w[1]
		c01 += v0 * w1
		c11 += v1 * w1
		w2 := w[2]
		c02 += v0 * w2
		c12 += v1 * w2
		w3 := w[3]
		c03 += v0 * w3
		c13 += v1 * w3
	}
	*(*[4]float32)(c) = [4]float32{c00, c01, c02, c03}
	*(*[4]float32)(c[ldc:]) = [4]float32{c10, c11, c12, c13}
}
