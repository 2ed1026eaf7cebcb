package transformer

import (
	"encoding/binary"
	"fmt"
	"math"
)

// dtype is a tensor's number type.
type dtype uint8

const (
	float32s dtype = iota
	float16s
	bfloat16s
	int8s // integers, each times its row's scale
)

func (d dtype) size() int {
	switch d {
	case float32s:
		return 4
	case int8s:
		return 1
	}
	return 2
}

// tensor is an array of numbers from a file, little-endian and in row-major order.
type tensor struct {
	dtype  dtype
	shape  []int
	data   []byte    // its length matches dtype and shape
	scales []float32 // for int8s: one number per row; a row has at least one element
}

// decode decodes len(out) of the tensor's numbers into out, starting at index first.
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
			out[i] = float16(binary.LittleEndian.Uint16(data[2*i:]))
		}
	case bfloat16s:
		data = data[:2*len(out)]
		for i := range out {
			out[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(data[2*i:])) << 16)
		}
	case int8s:
		width := len(t.data) / len(t.scales)
		for len(out) > 0 {
			row, column := first/width, first%width
			n := min(len(out), width-column)
			scale := t.scales[row]
			for i, v := range data[:n] {
				out[i] = float32(int8(v)) * scale
			}
			out, data, first = out[n:], data[n:], first+n
		}
	}
}

// float16 decodes a 16-bit IEEE 754 number.
func float16(bits uint16) float32 {
	sign := uint32(bits&0x8000) << 16
	exponent, fraction := uint32(bits>>10&0x1f), uint32(bits&0x3ff)
	switch exponent {
	case 0: // subnormal: a multiple of 2^-24
		v := float32(fraction) * (1.0 / (1 << 24))
		return math.Float32frombits(sign | math.Float32bits(v))
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// elements returns the number of elements in a tensor of this shape. It fails if a dimension is negative or the tensor
// would exceed maxWeights bytes.
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

// table is a tensor whose rows are decoded on lookup, because most vectors in a vocabulary are never used.
type table struct {
	tensor
}

// read decodes row i into `out`, which must be as long as a row.
func (t *table) read(out []float32, i int) { t.decode(out, i*len(out)) }
