package embedded

import "unsafe"

// dot is the inner product, in eight independent sums that the processor overlaps.
func dot(a, b []float32) float32 {
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

// floatsOf reads a record as a vector, in place: records are aligned to 4 bytes, and hold this machine's byte order.
func floatsOf(record []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(record))), len(record)/4)
}

// bytesOf is the opposite of floatsOf.
func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*4)
}

// signWords is how many words the sign bits of a vector take.
func signWords(dimensions int) int { return (dimensions + 63) / 64 }

// signs returns the sign bits of a vector from which the centre has been taken.
func signs(v, centre []float32) []byte {
	words := make([]uint64, signWords(len(v)))
	for i, x := range v {
		if x > centre[i] {
			words[i/64] |= 1 << (i % 64)
		}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*8)
}
