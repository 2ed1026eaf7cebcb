package transformer

import "golang.org/x/sys/cpu"

var (
	avx2 = &kernel{name: "avx2", rows: 6, cols: 16, tile: tileWide(6, 16, tile6x16), exp: expWide8, gelu: geluWide(8, gelu8),
		largest: largestWide(largest8), norm: normWide(norm8),
		fixed: &fixedPoint{tile: fixedTile(6, 16, fixed6x16), extent: extentWide(extent8), round: roundWide(round8)}}
	// avx512 and avx512vnni differ only in how they multiply pairs of integers.
	avx512 = &kernel{name: "avx512", rows: 12, cols: 32, tile: tileWide(12, 32, tile12x32), exp: expWide16, gelu: geluWide(16, gelu16),
		largest: largestWide(largest16), norm: normWide(norm16),
		fixed: &fixedPoint{tile: fixedTile(12, 32, fixed12x32), extent: extentWide(extent16), round: roundWide(round16)}}
	avx512vnni = &kernel{name: "avx512vnni", rows: avx512.rows, cols: avx512.cols, tile: avx512.tile, exp: avx512.exp, gelu: avx512.gelu,
		largest: avx512.largest, norm: avx512.norm,
		fixed: &fixedPoint{tile: fixedTile(12, 32, fixedVNNI12x32), extent: avx512.fixed.extent, round: avx512.fixed.round}}
)

// features records which of the relevant instruction sets the processor has.
type features struct{ avx2, avx512, vnni bool }

// kernels returns the kernels for this processor, fastest first. AVX2 and AVX-512 count only if the operating system
// saves the wide registers as well.
func kernels() []*kernel {
	x := &cpu.X86
	return kernelsWith(features{avx2: x.HasAVX2 && x.HasFMA, avx512: x.HasAVX512F && x.HasAVX512BW, vnni: x.HasAVX512VNNI})
}

// kernelsWith returns the kernels supported by a processor with these features, fastest first.
func kernelsWith(f features) []*kernel {
	found := []*kernel{portable}
	if !f.avx2 {
		return found
	}
	found = append([]*kernel{avx2}, found...)
	if f.avx512 {
		found = append([]*kernel{avx512}, found...)
	}
	if f.avx512 && f.vnni {
		found = append([]*kernel{avx512vnni}, found...)
	}
	return found
}

// tile6x16 and tile12x32 implement kernel.tile for their sizes, without bounds checks. lda and ldc count elements; k is
// at least 1.
//
//go:noescape
func tile6x16(a *float32, lda int, b, bias, c *float32, ldc, k int)

//go:noescape
func tile12x32(a *float32, lda int, b, bias, c *float32, ldc, k int)

// fixed6x16, fixed12x32 and fixedVNNI12x32 implement fixedPoint.tile for their sizes, without bounds checks. lda and
// ldc count elements; k is a positive multiple of 4.
//
//go:noescape
func fixed6x16(a *int16, lda int, b *int16, rows, columns, bias, c *float32, ldc, k int)

//go:noescape
func fixed12x32(a *int16, lda int, b *int16, rows, columns, bias, c *float32, ldc, k int)

//go:noescape
func fixedVNNI12x32(a *int16, lda int, b *int16, rows, columns, bias, c *float32, ldc, k int)

// extent8 and extent16 implement fixedPoint.extent; round8 and round16 implement fixedPoint.round. n is the number of
// values, a positive multiple of 16.
//
//go:noescape
func extent8(x *float32, n int) (squares, top float32)

//go:noescape
func extent16(x *float32, n int) (squares, top float32)

//go:noescape
func round8(to *int16, x *float32, n int, factor float32)

//go:noescape
func round16(to *int16, x *float32, n int, factor float32)

// fixedTile wraps an assembly function with bounds checks, like tileWide.
func fixedTile(rows, cols int, tile func(a *int16, lda int, b *int16, rows, columns, bias, c *float32, ldc, k int)) func([]int16, int, []int16, []float32, []float32, []float32, []float32, int, int) {
	return func(a []int16, lda int, b []int16, scales, columns, bias, c []float32, ldc, k int) {
		_, _ = a[(rows-1)*lda+k-1], b[k*cols-1]
		_, _, _, _ = scales[rows-1], columns[cols-1], bias[cols-1], c[(rows-1)*ldc+cols-1]
		tile(&a[0], lda, &b[0], &scales[0], &columns[0], &bias[0], &c[0], ldc, k)
	}
}

func extentWide(extent func(x *float32, n int) (squares, top float32)) func([]float32) (float32, float32) {
	return func(x []float32) (squares, top float32) {
		whole := len(x) / fixedStep * fixedStep
		if whole > 0 {
			squares, top = extent(&x[0], whole)
		}
		for _, v := range x[whole:] {
			squares += float32(v * v)
			top = max(top, v, -v)
		}
		return squares, top
	}
}

// roundWide returns an implementation of fixedPoint.round for vectors of any length, with bounds checks. It also zeroes
// the padding after the last value.
func roundWide(round func(to *int16, x *float32, n int, factor float32)) func([]int16, []float32, float32) {
	return func(to []int16, x []float32, factor float32) {
		whole := len(x) / fixedStep * fixedStep
		if whole > 0 {
			_ = to[whole-1]
			round(&to[0], &x[0], whole, factor)
		}
		if whole < len(x) {
			var last [fixedStep]float32
			copy(last[:], x[whole:])
			round(&to[whole:][:fixedStep][0], &last[0], fixedStep, factor)
		}
	}
}

// exp8, exp16, gelu8 and gelu16 implement kernel.exp and kernel.gelu. n is the number of values and must be a positive
// multiple of the number in the function's name.
//
//go:noescape
func exp8(x *float32, n int, shift float32)

//go:noescape
func exp16(x *float32, n int, shift float32) (sum float32)

//go:noescape
func gelu8(x *float32, n int)

//go:noescape
func gelu16(x *float32, n int)

// largest8 and largest16 implement kernel.largest; total8 implements sumOf; norm8 and norm16 implement kernel.norm. n
// is the number of values, a positive multiple of 16.
//
//go:noescape
func largest8(x *float32, n int) float32

//go:noescape
func largest16(x *float32, n int) float32

//go:noescape
func total8(x *float32, n int) float32

//go:noescape
func norm8(x, residual, weight, bias *float32, n int, epsilon float32)

//go:noescape
func norm16(x, residual, weight, bias *float32, n int, epsilon float32)

func largestWide(largestOf func(x *float32, n int) float32) func([]float32) float32 {
	return func(x []float32) float32 {
		whole := len(x) / 16 * 16
		if whole == 0 {
			return maxOf(x)
		}
		top := largestOf(&x[0], whole)
		for _, v := range x[whole:] {
			top = max(top, v)
		}
		return top
	}
}

func normWide(norm func(x, residual, weight, bias *float32, n int, epsilon float32)) func(*layerNorm, []float32, []float32) {
	return func(n *layerNorm, row, residual []float32) {
		if len(row) == 0 || len(row)%16 != 0 {
			normPortable(n, row, residual)
			return
		}
		_, _, _ = residual[:len(row)], n.weight[:len(row)], n.bias[:len(row)]
		norm(&row[0], &residual[0], &n.weight[0], &n.bias[0], len(row), float32(n.epsilon))
	}
}

// expWide8 and expWide16 pad the last vector, so that all numbers are computed in the same way and added in the same
// order.
func expWide8(x []float32, shift float32) (sum float32) {
	whole := len(x) / 16 * 16
	if whole > 0 {
		exp8(&x[0], whole, shift)
		sum = total8(&x[0], whole)
	}
	if x = x[whole:]; len(x) > 0 {
		last := lastPowers(x, shift)
		exp8(&last[0], len(last), shift)
		sum += sumOf(last[:copy(x, last[:])])
	}
	return sum
}

func expWide16(x []float32, shift float32) (sum float32) {
	whole := len(x) / 16 * 16
	if whole > 0 {
		sum = exp16(&x[0], whole, shift)
	}
	if x = x[whole:]; len(x) > 0 {
		last := lastPowers(x, shift)
		exp16(&last[0], len(last), shift)
		sum += sumOf(last[:copy(x, last[:])])
	}
	return sum
}

// lastPowers copies x, which has fewer than 16 numbers, to an array for exp8 or exp16. It sets the remaining elements
// to shift.
func lastPowers(x []float32, shift float32) (last [16]float32) {
	n := copy(last[:], x)
	for i := range last[n:] {
		last[n+i] = shift
	}
	return last
}

// geluWide pads the last vector, so that all numbers are computed in the same way.
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
