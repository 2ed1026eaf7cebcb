package quant

// Dot returns the inner product of two vectors of the same length.
func Dot(a, b []float32) float32 {
	b = b[:len(a)]
	whole := len(a) &^ (dotWidth - 1)
	if !wide || whole == 0 {
		return dotPortable(a, b)
	}
	return dotWide(&a[0], &b[0], whole) + dotPortable(a[whole:], b[whole:])
}

// Prefetch hints to the processor that the record is about to be read.
func Prefetch(record []byte) {
	if wide && len(record) > 0 {
		prefetchWide(&record[0], len(record))
	}
}

// Number of components that dotWide processes per iteration. A vector's length must be a multiple of it.
const dotWidth = 32

// dotPortable keeps eight independent sums, which lets the processor overlap the additions.
func dotPortable(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for len(a) >= 8 && len(b) >= 8 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		s4 += a[4] * b[4]
		s5 += a[5] * b[5]
		s6 += a[6] * b[6]
		s7 += a[7] * b[7]
		a, b = a[8:], b[8:]
	}
	for i, x := range a {
		s0 += x * b[i]
	}
	return (s0 + s1 + s2 + s3) + (s4 + s5 + s6 + s7)
}
