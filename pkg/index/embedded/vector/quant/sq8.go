package quant

import (
	"encoding/binary"
	"math"
)

// An int8 code (SQ8) contains one byte per dimension of the rotated residual and three numbers: the quantisation step,
// the offset, and the quantisation error's norm. It is about a quarter of the vector's size. It gives strict bounds on
// an inner product: by the Cauchy–Schwarz inequality, the product of query and quantisation error is at most the
// product of their norms.

// Length in bytes of step, offset and error norm as float32.
const int8Numbers = 3 * 4

// Int8CodeBytes returns the length of an int8 code in bytes.
func Int8CodeBytes(dimensions int) int { return dimensions + int8Numbers }

const (
	// Largest byte in a code and largest weight in a query.
	maxByte, maxShort = math.MaxInt8, math.MaxInt16
	// Maximum sum of a query's absolute weights. It keeps every sum of products within 32 bits.
	maxShorts = 16_000_000
	// Upper bound on a residual's norm: vectors have unit length, and no centroid is longer.
	longest = 2.01
	// Upper bound on the rounding errors in the rotation and the sum.
	rotationError = 1e-5
)

// encodeInt8 writes the residual's int8 code. `offset` is the inner product of residual and centroid.
func (c *Coder) encodeInt8(dst []byte, offset float64) {
	limit := 0.0
	for _, r := range c.residual {
		limit = max(limit, math.Abs(float64(r)))
	}
	// Round the step first, so that the stored error matches the stored step.
	step := float64(float32(limit / maxByte))
	var rest float64
	for i, r := range c.residual {
		b := 0.0
		if step > 0 {
			b = min(max(math.RoundToEven(float64(r)/step), -maxByte), maxByte)
		}
		dst[i] = byte(int8(b))
		d := float64(r) - b*step
		rest += d * d
	}
	const upwards = 1 + 1e-6 // rounds up in float32
	for i, x := range [...]float64{step, offset, math.Sqrt(rest) * upwards} {
		binary.LittleEndian.PutUint32(dst[len(c.residual)+4*i:], math.Float32bits(float32(x)))
	}
}

// int8Query is a query prepared for comparison with int8 codes.
type int8Query struct {
	weight []int16
	step   float32
	length float32 // norm of the residual
	rest   float32 // norm of the query's quantisation error
}

// newInt8Query prepares a query's residual. `length` is the residual's norm.
func newInt8Query(residue []float32, length float64) int8Query {
	q := int8Query{weight: make([]int16, len(residue)), length: float32(length)}
	var limit, all, rest float64
	for _, r := range residue {
		limit, all = max(limit, math.Abs(float64(r))), all+math.Abs(float64(r))
	}
	step := float64(float32(max(limit/maxShort, all/maxShorts)))
	for i, r := range residue {
		w := 0.0
		if step > 0 {
			w = min(max(math.RoundToEven(float64(r)/step), -maxShort), maxShort)
		}
		q.weight[i] = int16(w)
		d := float64(r) - w*step
		rest += d * d
	}
	q.step, q.rest = float32(step), float32(math.Sqrt(rest))
	return q
}

// Int8 estimates the query's inner product with an int8 code's vector. The exact inner product differs from `product`
// by at most `off`.
func (q *Query) Int8(code []byte) (product, off float32) {
	n := len(q.int8.weight)
	numbers := code[n : n+int8Numbers : n+int8Numbers]
	step := math.Float32frombits(binary.LittleEndian.Uint32(numbers))
	offset := math.Float32frombits(binary.LittleEndian.Uint32(numbers[4:]))
	rest := math.Float32frombits(binary.LittleEndian.Uint32(numbers[8:]))
	product = q.base + offset + step*q.int8.step*float32(dotBytes(q.int8.weight, code[:n]))
	return product, rest*q.int8.length + q.int8.rest*(longest+rest) + rotationError
}

// dotBytes returns the inner product of the weights and the signed bytes in code.
func dotBytes(weight []int16, code []byte) int32 {
	code = code[:len(weight)]
	whole := len(weight) &^ (bytesWidth - 1)
	if !wide || whole == 0 {
		return dotBytesPortable(weight, code)
	}
	return dotBytesWide(&weight[0], &code[0], whole) + dotBytesPortable(weight[whole:], code[whole:])
}

// Number of bytes that dotBytesWide processes per iteration. A code's length must be a multiple of it.
const bytesWidth = 64

func dotBytesPortable(weight []int16, code []byte) int32 {
	code = code[:len(weight)]
	var a, b, c, d int32
	for len(weight) >= 4 && len(code) >= 4 {
		a += int32(weight[0]) * int32(int8(code[0]))
		b += int32(weight[1]) * int32(int8(code[1]))
		c += int32(weight[2]) * int32(int8(code[2]))
		d += int32(weight[3]) * int32(int8(code[3]))
		weight, code = weight[4:], code[4:]
	}
	for i, w := range weight {
		a += int32(w) * int32(int8(code[i]))
	}
	return a + b + c + d
}
