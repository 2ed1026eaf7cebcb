package transformer

import "math"

// portable is the kernel that runs on every processor. Its results are identical to the vector kernels', because it
// rounds at the same points and adds in the order of their vector registers. Products to be added are either fused with
// the addition (fma32) or converted to float32 first; otherwise, the compiler could choose whether to fuse them.
var portable = &kernel{name: "portable", rows: 2, cols: 4, tile: tilePortable, exp: expPortable, gelu: geluPortable,
	largest: maxOf, norm: normPortable,
	fixed: &fixedPoint{tile: fixedPortable, extent: extentPortable, round: roundPortable}}

// fmaEmulated returns x*y+z, rounded once.
func fmaEmulated(x, y, z float32) float32 {
	product := float64(x) * float64(y) // exact
	sum := float64(product + float64(z))
	// The sum is now rounded to 53 bits, and will be rounded to 24 bits next. Rounding twice matters only if the 53-bit
	// result is exactly between two float32 numbers or the 24-bit result is subnormal.
	bits := math.Float64bits(sum)
	if bits&(1<<29-1) != 1<<28 && math.Abs(sum) >= 0x1p-126 {
		return float32(sum)
	}
	// If the first rounding was inexact (as found with 2Sum by Knuth and Møller), round to odd instead. The second
	// rounding then gives the correct result.
	b := float64(sum - product)
	lost := float64(product-float64(sum-b)) + float64(float64(z)-b)
	if bits&1 == 0 && (lost > 0 || lost < 0) {
		if (lost > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
	}
	return float32(math.Float64frombits(bits))
}

// tilePortable computes 2 × 4 values at a time, because some processors don't have enough registers for more.
func tilePortable(a []float32, lda int, b, bias, c []float32, ldc, k int) {
	a0, a1 := a[:k], a[lda:][:k]
	c00, c01, c02, c03 := bias[0], bias[1], bias[2], bias[3]
	c10, c11, c12, c13 := c00, c01, c02, c03
	b = b[:4*k]
	for p, v0 := range a0 {
		v1 := a1[p]
		w := (*[4]float32)(b)
		b = b[4:]
		c00, c10 = fma32(v0, w[0], c00), fma32(v1, w[0], c10)
		c01, c11 = fma32(v0, w[1], c01), fma32(v1, w[1], c11)
		c02, c12 = fma32(v0, w[2], c02), fma32(v1, w[2], c12)
		c03, c13 = fma32(v0, w[3], c03), fma32(v1, w[3], c13)
	}
	*(*[4]float32)(c) = [4]float32{c00, c01, c02, c03}
	*(*[4]float32)(c[ldc:]) = [4]float32{c10, c11, c12, c13}
}

// fixedPortable implements fixedPoint.tile for 2 × 4 values.
func fixedPortable(a []int16, lda int, b []int16, rows, columns, bias, c []float32, ldc, k int) {
	a0, a1 := a[:k], a[lda:][:k]
	var sums [2][4]int32
	b = b[:4*k]
	for p := 0; p+1 < k; p += 2 {
		w := (*[8]int16)(b)
		b = b[8:]
		v, next := int32(a0[p]), int32(a0[p+1])
		sums[0][0] += v*int32(w[0]) + next*int32(w[1])
		sums[0][1] += v*int32(w[2]) + next*int32(w[3])
		sums[0][2] += v*int32(w[4]) + next*int32(w[5])
		sums[0][3] += v*int32(w[6]) + next*int32(w[7])
		v, next = int32(a1[p]), int32(a1[p+1])
		sums[1][0] += v*int32(w[0]) + next*int32(w[1])
		sums[1][1] += v*int32(w[2]) + next*int32(w[3])
		sums[1][2] += v*int32(w[4]) + next*int32(w[5])
		sums[1][3] += v*int32(w[6]) + next*int32(w[7])
	}
	for i, row := range sums {
		for j, sum := range row {
			c[i*ldc+j] = fma32(float32(sum)*rows[i], columns[j], bias[j])
		}
	}
}

// lanes holds the partial sums of two 512-bit or four 256-bit registers.
type lanes [32]float32

// total adds the partial sums in the same order as the vector kernels: it repeatedly adds the upper half to the lower
// half.
func (l *lanes) total() float32 {
	for n := len(l) / 2; n > 0; n /= 2 {
		for i := range n {
			l[i] += l[n+i]
		}
	}
	return l[0]
}

// extentPortable implements fixedPoint.extent.
func extentPortable(x []float32) (squares, top float32) {
	var l lanes
	whole := len(x) / fixedStep * fixedStep
	for i, v := range x[:whole] {
		l[i%len(l)] = fma32(v, v, l[i%len(l)])
	}
	squares = l.total()
	for _, v := range x[whole:] {
		squares += float32(v * v)
	}
	for _, v := range x {
		top = max(top, v, -v)
	}
	return squares, top
}

// roundPortable implements fixedPoint.round.
func roundPortable(to []int16, x []float32, factor float32) {
	for i, v := range x {
		rounded := math.RoundToEven(float64(float32(v * factor)))
		to[i] = int16(max(math.MinInt16, min(math.MaxInt16, rounded)))
	}
	clear(to[len(x):roundUp(len(x), fixedStep)])
}

const (
	log2e  = 1.44269504088896341
	ln2Hi  = 0.693145751953125 // leading bits of ln 2; its product with a small integer is exact
	ln2Lo  = 1.42860682030941723e-6
	minExp = -85 // e^-85 is about 1e-37; smaller results would be subnormal
)

// exponential returns e^x for x in [minExp, 0], with a relative error below 2e-7, and 0 for smaller x. It computes
// 2^n·e^r with |r| ≤ ln 2 / 2.
func exponential(x float32) float32 {
	if !(x >= minExp) {
		return 0
	}
	const magic = 3 << 22 // adding and subtracting it rounds to the nearest integer
	n := float32(x*log2e) + magic
	n -= magic
	r := fma32(-n, ln2Lo, fma32(-n, ln2Hi, x))
	p := fma32(float32(1.0/720), r, 1.0/120)
	p = fma32(p, r, 1.0/24)
	p = fma32(p, r, 1.0/6)
	p = fma32(p, r, 0.5)
	p = fma32(p, r, 1)
	p = fma32(p, r, 1)
	return p * math.Float32frombits(uint32(int32(n)+127)<<23)
}

// expPortable implements kernel.exp.
func expPortable(x []float32, shift float32) (sum float32) {
	for i, v := range x {
		x[i] = exponential(v - shift)
	}
	var l lanes
	whole := len(x) / 16 * 16
	for i, v := range x[:whole] {
		l[i%16] += v
	}
	sum = l.total()
	if whole < len(x) {
		sum += sumOf(x[whole:])
	}
	return sum
}

// geluPortable implements kernel.gelu. It approximates the error function with formula 7.1.26 of Abramowitz and Stegun,
// with an error below 1.5e-7.
func geluPortable(x []float32) {
	for i, v := range x {
		z := float32(math.Abs(float64(v))) * (math.Sqrt2 / 2)
		t := 1 / fma32(z, 0.3275911, 1)
		p := fma32(float32(1.061405429), t, -1.453152027)
		p = fma32(p, t, 1.421413741)
		p = fma32(p, t, -0.284496736)
		p = fma32(p, t, 0.254829592)
		tail := float32(p * t * 0.5 * exponential(float32(-z*z))) // 1 - Φ(|v|)
		if v >= 0 {
			tail = 1 - tail
		}
		x[i] = v * tail
	}
}

// normPortable implements kernel.norm.
func normPortable(n *layerNorm, row, residual []float32) {
	for i, v := range residual[:len(row)] {
		row[i] += v
	}
	if len(row)%16 != 0 {
		n.row(row)
		return
	}
	var sums, squares lanes
	for i, v := range row {
		sums[i%len(sums)] += v
	}
	mean := sums.total() / float32(len(row))
	for i, v := range row {
		squares[i%len(squares)] = fma32(v-mean, v-mean, squares[i%len(squares)])
	}
	variance := squares.total() / float32(len(row))
	scale := 1 / float32(math.Sqrt(float64(variance+float32(n.epsilon))))
	for i, v := range row {
		row[i] = fma32((v-mean)*scale, n.weight[i], n.bias[i])
	}
}
