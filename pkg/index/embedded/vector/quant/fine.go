package quant

import (
	"encoding/binary"
	"math"
)

// A fine code holds a byte for each dimension of the same turned residue, and three numbers: what a step of the bytes is, the
// offset, and how far the bytes are from the residue. It takes a quarter of the vector, and says of a product within which bounds
// it lies, not how likely: what is left of the residue meets at most the whole length of the query.

// fineNumbers are the numbers that follow a fine code's bytes, as 32-bit floats: step, offset, rest.
const fineNumbers = 3 * 4

// FineBytes is how long a fine code is.
func FineBytes(dimensions int) int { return dimensions + fineNumbers }

const (
	// maxByte is the greatest of a fine code's bytes, maxShort of a query's weights.
	maxByte, maxShort = math.MaxInt8, math.MaxInt16
	// maxShorts is more than what all weights of a query add up to, without their signs: then no sum of products leaves 32 bits.
	maxShorts = 16_000_000
	// longest is more than the length of a residue: vectors are of unit length, and a centre is not longer.
	longest = 2.01
	// turning is more than what the arithmetic of turning and adding does to a product.
	turning = 1e-5
)

// encodeFine writes the fine code of the residue, whose product with the centre is offset.
func (c *Coder) encodeFine(dst []byte, offset float64) {
	most := 0.0
	for _, r := range c.residue {
		most = max(most, math.Abs(float64(r)))
	}
	// The step as it is read again: the rest must be that of what the code says.
	step := float64(float32(most / maxByte))
	var rest float64
	for i, r := range c.residue {
		b := 0.0
		if step > 0 {
			b = min(max(math.RoundToEven(float64(r)/step), -maxByte), maxByte)
		}
		dst[i] = byte(int8(b))
		d := float64(r) - b*step
		rest += d * d
	}
	const upwards = 1 + 1e-6 // than what is nearest to it in 32 bits
	for i, x := range [...]float64{step, offset, math.Sqrt(rest) * upwards} {
		binary.LittleEndian.PutUint32(dst[len(c.residue)+4*i:], math.Float32bits(float32(x)))
	}
}

// fineQuestion is what fine codes are compared with.
type fineQuestion struct {
	weight []int16
	step   float32
	length float32 // of the residue
	rest   float32 // what weights lack of it, times the longest that a vector can be
}

// askFine prepares the residue of a query, of this length.
func askFine(residue []float32, length float64) fineQuestion {
	q := fineQuestion{weight: make([]int16, len(residue)), length: float32(length)}
	var most, all, rest float64
	for _, r := range residue {
		most, all = max(most, math.Abs(float64(r))), all+math.Abs(float64(r))
	}
	step := float64(float32(max(most/maxShort, all/maxShorts)))
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

// Fine compares the query with a fine code: their product lies within off of what is returned.
func (q *Question) Fine(code []byte) (product, off float32) {
	n := len(q.fine.weight)
	numbers := code[n : n+fineNumbers : n+fineNumbers]
	step := math.Float32frombits(binary.LittleEndian.Uint32(numbers))
	offset := math.Float32frombits(binary.LittleEndian.Uint32(numbers[4:]))
	rest := math.Float32frombits(binary.LittleEndian.Uint32(numbers[8:]))
	product = q.base + offset + step*q.fine.step*float32(dotBytes(q.fine.weight, code[:n]))
	return product, rest*q.fine.length + q.fine.rest*(longest+rest) + turning
}

// dotBytes is the product of weights and as many bytes.
func dotBytes(weight []int16, code []byte) int32 {
	code = code[:len(weight)]
	whole := len(weight) &^ (bytesWidth - 1)
	if !wide || whole == 0 {
		return dotBytesPortable(weight, code)
	}
	return dotBytesWide(&weight[0], &code[0], whole) + dotBytesPortable(weight[whole:], code[whole:])
}

// bytesWidth is of how many bytes dotBytesWide takes a multiple.
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
