package transformer

import (
	"encoding/binary"
	"fmt"
	"math"
)

// dtype is how a tensor's numbers are written.
type dtype uint8

const (
	float32s dtype = iota
	float16s
	bfloat16s
)

func (d dtype) size() int {
	if d == float32s {
		return 4
	}
	return 2
}

// tensor is an array of numbers as it lies in a file, little-endian, the last dimension the closest.
type tensor struct {
	dtype dtype
	shape []int
	data  []byte // exactly as long as dtype and shape say
}

// decode writes the numbers that begin at element first to out, as many as it holds.
func (t tensor) decode(out []float32, first int) {
	data := t.data[first*t.dtype.size():]
	switch t.dtype {
	case float32s:
		data = data[:4*len(out)]
		for i := range out {
			out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
		}
	case float16s:
		data = data[:2*len(out)]
		for i := range out {
			out[i] = half(binary.LittleEndian.Uint16(data[2*i:]))
		}
	case bfloat16s:
		data = data[:2*len(out)]
		for i := range out {
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(data[2*i:])) << 16)
		}
	}
}

// half decodes an IEEE 754 number of 16 bits.
func half(bits uint16) float32 {
	sign := uint32(bits&0x8000) << 16
	exponent, fraction := uint32(bits>>10&0x1f), uint32(bits&0x3ff)
	switch exponent {
	case 0: // subnormal: a whole number of 2^-24
		v := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(v))
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// elements returns how many numbers a shape holds; an error if a dimension is negative or they are more than a file of
// maxWeights can hold.
func elements(shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 || d > maxWeights || d != 0 && n > maxWeights/d {
			return 0, fmt.Errorf("shape %v is out of bounds", shape)
		}
		n *= d
	}
	return n, nil
}

// table is a tensor of rows that are decoded when they are looked up: a vocabulary's vectors are many, and few of them
// are used.
type table struct {
	tensor
}

// read writes row i to out, which has its length.
func (t *table) read(out []float32, i int) { t.decode(out, i*len(out)) }
