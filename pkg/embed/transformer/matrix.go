package transformer

// packed is a matrix of k rows and n columns in a kernel's order: panels of kernel.cols columns, row by row. The last
// panel is padded with zeros.
type packed struct {
	k, n   int
	panels []float32 // ⌈n/cols⌉ panels of k × cols
	bias   []float32 // one number per column, padded like panels
}

// roundUp returns the smallest multiple of `step` that is at least n.
func roundUp(n, step int) int { return (n + step - 1) / step * step }

// linear is a linear layer with weights in fixed point.
type linear = fixedWeights

// newLinear returns a layer with these weights, stored as n rows of k numbers, one row per output, and one bias per
// output.
func (kn *kernel) newLinear(weight, bias []float32, n, k int) *linear {
	return kn.packFixed(weight, bias, n, k)
}

// newIntegerLinear returns a layer whose weights are 8-bit integers times the scale of their row, stored as n rows of k
// numbers, one row per output. It does not round them further.
func (kn *kernel) newIntegerLinear(numbers []byte, scales, bias []float32, n, k int) *linear {
	return kn.packIntegers(numbers, scales, bias, n, k)
}

// apply feeds the first m rows of a through the layer and writes the output to c. The rows in each of the two slices
// are contiguous. Both slices must have room for whole tiles of rows; their contents after row m are arbitrary.
func (kn *kernel) apply(l *linear, w *workspace, c, a []float32, m int) {
	kn.multiplyFixed(c, l.n, a, l.k, m, l, &w.fixed, w.tile)
}

// packRows packs a matrix whose columns are stored as n rows of k numbers. The rows start `stride` numbers apart.
func (kn *kernel) packRows(to, from []float32, stride, n, k int) {
	cols := kn.cols
	for first := 0; first < n; first += cols {
		panel := to[first*k:][:k*cols]
		width := min(cols, n-first)
		if width < cols {
			clear(panel)
		}
		j := 0
		for ; j+4 <= width; j += 4 { // four rows at a time, in order to write consecutive elements
			a, b := from[(first+j)*stride:][:k], from[(first+j+1)*stride:][:k]
			c, d := from[(first+j+2)*stride:][:k], from[(first+j+3)*stride:][:k]
			for i, v := range a {
				*(*[4]float32)(panel[i*cols+j:]) = [4]float32{v, b[i], c[i], d[i]}
			}
		}
		for ; j < width; j++ {
			for i, v := range from[(first+j)*stride:][:k] {
				panel[i*cols+j] = v
			}
		}
	}
}

// packColumns packs a matrix of k rows and n columns, stored row by row. The rows start `stride` numbers apart.
func (kn *kernel) packColumns(to, from []float32, stride, n, k int) {
	cols := kn.cols
	for first := 0; first < n; first += cols {
		panel := to[first*k:][:k*cols]
		width := min(cols, n-first)
		if width < cols {
			clear(panel)
		}
		for i := range k {
			copy(panel[i*cols:][:width], from[i*stride+first:])
		}
	}
}

// multiply sets the m rows of c to the product of a and b. The rows of c start ldc numbers apart, and those of a start
// lda numbers apart. a must have room for whole tiles of rows; its contents after row m are arbitrary. tile is scratch
// memory for one tile.
//
// Sums are added in the same order in every row, so that a text's vector does not depend on the other texts in the
// batch.
func (kn *kernel) multiply(c []float32, ldc int, a []float32, lda, m int, b *packed, tile []float32) {
	for column := 0; column < b.n; column += kn.cols {
		panel := b.panels[column*b.k:][:b.k*kn.cols]
		bias := b.bias[column:][:kn.cols]
		for row := 0; row < m; row += kn.rows {
			if m-row >= kn.rows && b.n-column >= kn.cols {
				kn.tile(a[row*lda:], lda, panel, bias, c[row*ldc+column:], ldc, b.k)
				continue
			}
			kn.tile(a[row*lda:], lda, panel, bias, tile, kn.cols, b.k)
			width := min(kn.cols, b.n-column)
			for i := range min(kn.rows, m-row) {
				copy(c[(row+i)*ldc+column:][:width], tile[i*kn.cols:])
			}
		}
	}
}
