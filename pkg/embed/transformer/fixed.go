package transformer

import "math"

// fixedPoint multiplies matrices by linear layers' weights in fixed point. Each row of both matrices is scaled so that
// its numbers become 16-bit integers and sums of products fit in 32 bits. The sums are then scaled back. This takes
// half as long as floating point on most processors, which have instructions for pairs of 16-bit integers.
//
// Relative to the product of the two rows' lengths, the error of a sum of k products is about 1e-5 in practice. It is
// at most √k/46000, which occurs only if all rounding errors have the same sign. This is seven bits more precise than
// bfloat16, which other software uses for these models.
type fixedPoint struct {
	// tile sets c[i*ldc+j] = bias[j] + rows[i] * columns[j] * Σ a[i*lda+p] * b(p, j) for all i < kernel.rows, j <
	// kernel.cols and p < k. k is a multiple of fixedStep. b contains k/2 × kernel.cols pairs of numbers for consecutive
	// values of p.
	tile func(a []int16, lda int, b []int16, rows, columns, bias, c []float32, ldc, k int)

	// extent returns the sum of squares and the largest magnitude of the numbers. NaN affects only the sum.
	extent func(x []float32) (squares, top float32)

	// round sets to[i] to x[i]*factor, rounded to the nearest integer, which must fit in 16 bits.
	round func(to []int16, x []float32, factor float32)
}

const (
	// Maximum Euclidean length of a row of integers. By the Cauchy–Schwarz inequality, the sum of two rows' products is
	// at most 46000², slightly below 2³¹. The difference between 46000² and 2³¹ covers rounding errors in rows of up to
	// 400,000 numbers. Partial sums may overflow: they wrap around, and the total is still correct.
	fixedLength = 46000
	// Rows are padded with zeros to a multiple of this length.
	fixedStep = 16
	// Number of rows of the left matrix multiplied at a time, chosen to fit in the processor's cache.
	fixedRows = 96
)

// quantScale returns the factor by which to multiply a row before rounding it to integers, given its sum of squares and
// largest magnitude. It returns 0 for a row of zeros.
func quantScale(squares float64, top float32) float64 {
	if squares == 0 {
		return 0
	}
	return min(fixedLength/math.Sqrt(squares), math.MaxInt16/float64(top))
}

// fixedWeights holds the weights of a linear layer with k inputs and n outputs in fixed point, in a kernel's order.
type fixedWeights struct {
	k, n    int
	panels  []int16   // ⌈n/cols⌉ panels of k/2 × cols pairs
	columns []float32 // scale of each column's sums, padded like bias
	bias    []float32
}

// newFixedWeights allocates weights and sets only the bias. wide, the number of rows per panel, is k rounded up to a
// multiple of fixedStep.
func (kn *kernel) newFixedWeights(bias []float32, n, k int) (p *fixedWeights, wide int) {
	wide, cols := roundUp(k, fixedStep), roundUp(n, kn.cols)
	p = &fixedWeights{k: k, n: n, panels: make([]int16, cols*wide), columns: make([]float32, cols), bias: make([]float32, cols)}
	copy(p.bias, bias)
	return p, wide
}

// packIntegers packs weights that are 8-bit integers times the scale of their row: n rows of k numbers, one row per
// output. Rows of up to 129,000 numbers stay below fixedLength.
func (kn *kernel) packIntegers(numbers []byte, scales, bias []float32, n, k int) *fixedWeights {
	p, wide := kn.newFixedWeights(bias, n, k)
	copy(p.columns, scales)
	for j := range n {
		panel := p.panels[j/kn.cols*kn.cols*wide:]
		for i, v := range numbers[j*k:][:k] {
			panel[(i/2*kn.cols+j%kn.cols)*2+i%2] = int16(int8(v))
		}
	}
	return p
}

// packFixed packs weights stored as n rows of k numbers, one row per output.
func (kn *kernel) packFixed(weight, bias []float32, n, k int) *fixedWeights {
	p, wide := kn.newFixedWeights(bias, n, k)
	for j := range n {
		row := weight[j*k:][:k]
		var squares float64
		var top float32
		for _, v := range row {
			squares += float64(v) * float64(v)
			top = max(top, v, -v)
		}
		by := quantScale(squares, top)
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

// fixedSpace is scratch memory for rows of the left matrix in fixed point.
type fixedSpace struct {
	numbers []int16
	scales  [fixedRows + 16]float32 // tiles may read past the last row
}

// multiplyFixed is like multiply, but with weights in fixed point. If a row of A contains NaN or infinity, that row of
// the product is NaN.
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

// row converts x to integers in out, padded with zeros. It returns the factor for converting them back.
func (f *fixedPoint) row(out []int16, x []float32) float32 {
	squares32, top := f.extent(x)
	squares := float64(squares32)
	if !(squares > 1e-30 && squares < 1e30) { // also if it is NaN
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
	by := float32(quantScale(squares, top))
	if by == 0 || math.IsInf(float64(by), 0) { // numbers this small count as zero
		clear(out)
		return 0
	}
	f.round(out, x, by)
	return 1 / by
}
