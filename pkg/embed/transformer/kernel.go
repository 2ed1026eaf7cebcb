package transformer

// kernel implements a network's arithmetic with one instruction set. Its main function, tile, computes one tile of a
// matrix product, from `rows` rows of A and a panel of `cols` columns of B.
type kernel struct {
	name       string
	rows, cols int

	// tile sets c[i*ldc+j] = bias[j] + Σ a[i*lda+p] * b[p*cols+j] for all i < rows, j < cols and p < k. k is at least 1.
	tile func(a []float32, lda int, b, bias, c []float32, ldc, k int)

	// exp replaces each x[i] with e^(x[i]-shift), or with 0 if that is below 1e-37, and returns the sum. No x[i] may
	// exceed shift.
	exp func(x []float32, shift float32) (sum float32)

	// fixed multiplies by weights in fixed point.
	fixed *fixedPoint

	// gelu replaces each x[i] with x[i]·Φ(x[i]), where Φ is the normal distribution function.
	gelu func(x []float32)

	// largest returns the largest of the numbers. There must be at least one.
	largest func(x []float32) float32

	// norm adds residual to row and normalises row. Both are as long as the weights of n.
	norm func(n *layerNorm, row, residual []float32)
}
