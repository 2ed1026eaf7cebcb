package transformer

import "math"

// fixedPoint multiplies with the weights of linear layers in fixed point: each row of either matrix is scaled so that its
// numbers are whole ones of 16 bits and the sum of products fits into 32, and the sum is scaled back. With instructions for
// pairs of such numbers that takes half the time of floats. A sum of k products is within √k/46000 of the true one times the lengths
// of the two rows if rounding goes the same way in all of them, and within some 1e-5 as it falls: seven bits more than bfloat16
// has, in which others run the same models.
type fixedPoint struct {
	// tile sets c[i*ldc+j] = bias[j] + rows[i] * columns[j] * Σ a[i*lda+p] * b(p, j) for all i < kernel.rows, j < kernel.cols
	// and p < k, a multiple of fixedStep. b has k/2 times kernel.cols pairs of numbers, which follow each other in p.
	tile func(a []int16, lda int, b []int16, rows, columns, bias, c []float32, ldc, k int)

	// extent is the sum of the squares of the numbers, and the largest magnitude of them; what is not a number counts for the sum.
	extent func(x []float32) (squares, top float32)

	// round sets to[i] to x[i]*factor, rounded to the nearest whole number, which must be one of 16 bits.
	round func(to []int16, x []float32, factor float32)
}

const (
	// fixedLength is the most that a row of whole numbers is long. By Cauchy and Schwarz the sum of the products of two of
	// them is at most its square, which leaves 31 bits room for what rounding adds to rows of up to 400,000 numbers. Sums on the
	// way may be beyond that: they come back, since they wrap.
	fixedLength = 46000
	// fixedStep is what the length of rows is a multiple of; zeros fill them up.
	fixedStep = 16
	// fixedRows is how many rows of A are multiplied before the next, so that they stay in the processor's cache.
	fixedRows = 96
)

// factor is what a row is to be multiplied with, given its sum of squares and its largest magnitude; 0 for a row of zeros.
func factor(squares float64, top float32) float64 {
	if squares == 0 {
		return 0
	}
	return min(fixedLength/math.Sqrt(squares), math.MaxInt16/float64(top))
}

// fixedWeights are the weights of a linear layer of k inputs and n outputs in fixed point, in the order in which a kernel
// reads them.
type fixedWeights struct {
	k, n    int
	panels  []int16   // ⌈n/cols⌉ panels of k/2 × cols pairs
	columns []float32 // what a sum of each column has to be multiplied with, filled up like bias
	bias    []float32
}

// packFixed packs weights, which lie as n rows of k, one for each output.
func (kn *kernel) packFixed(weight, bias []float32, n, k int) *fixedWeights {
	wide, cols := roundUp(k, fixedStep), roundUp(n, kn.cols)
	p := &fixedWeights{k: k, n: n, panels: make([]int16, cols*wide), columns: make([]float32, cols), bias: make([]float32, cols)}
	copy(p.bias, bias)
	for j := range n {
		row := weight[j*k:][:k]
		var squares float64
		var top float32
		for _, v := range row {
			squares += float64(v) * float64(v)
			top = max(top, v, -v)
		}
		by := factor(squares, top)
		if p.columns[j] = float32(1 / by); by == 0 {
			p.columns[j] = 0
		}
		panel := p.panels[j/kn.cols*kn.cols*wide:]
		for i, v := range row {
			panel[(i/2*kn.cols+j%kn.cols)*2+i%2] = int16(math.RoundToEven(float64(v) * by))
		}
	}
	return p
}

// fixedSpace is the rows of A in fixed point.
type fixedSpace struct {
	numbers []int16
	scales  [fixedRows + 16]float32 // tiles may read past the last row
}

// multiplyFixed is multiply for weights in fixed point. A row that holds what is not a number, or is infinite, gives rows
// of what is not a number.
func (kn *kernel) multiplyFixed(c []float32, ldc int, a []float32, lda, m int, b *fixedWeights, space *fixedSpace, tile []float32) {
	wide := roundUp(b.k, fixedStep)
	if need := (fixedRows + kn.rows) * wide; len(space.numbers) < need {
		space.numbers = make([]int16, need)
	}
	for first := 0; first < m; first += fixedRows {
		rows := min(fixedRows, m-first)
		for i := range rows {
			space.scales[i] = kn.fixed.row(space.numbers[i*wide:][:wide], a[(first+i)*lda:][:b.k])
		}
		for column := 0; column < b.n; column += kn.cols {
			panel := b.panels[column*wide:][:wide*kn.cols]
			columns, bias := b.columns[column:][:kn.cols], b.bias[column:][:kn.cols]
			for row := 0; row < rows; row += kn.rows {
				numbers, scales := space.numbers[row*wide:], space.scales[row:]
				out := (first+row)*ldc + column
				if rows-row >= kn.rows && b.n-column >= kn.cols {
					kn.fixed.tile(numbers, wide, panel, scales, columns, bias, c[out:], ldc, wide)
					continue
				}
				kn.fixed.tile(numbers, wide, panel, scales, columns, bias, tile, kn.cols, wide)
				width := min(kn.cols, b.n-column)
				for i := range min(kn.rows, rows-row) {
					copy(c[out+i*ldc:][:width], tile[i*kn.cols:])
				}
			}
		}
	}
}

// row writes x to out, which zeros fill up, and returns what one of its numbers stands for.
func (f *fixedPoint) row(out []int16, x []float32) float32 {
	squares32, top := f.extent(x)
	squares := float64(squares32)
	if !(squares > 1e-30 && squares < 1e30) { // what is not a number, too
		squares, top = 0, 0
		for _, v := range x {
			squares += float64(v) * float64(v)
			top = max(top, v, -v)
		}
		if math.IsNaN(squares) || math.IsInf(squares, 0) {
			clear(out)
			return float32(math.NaN())
		}
	}
	by := float32(factor(squares, top))
	if by == 0 || math.IsInf(float64(by), 0) { // numbers this small are nothing
		clear(out)
		return 0
	}
	f.round(out, x, by)
	return 1 / by
}
