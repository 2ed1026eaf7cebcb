// Package quant quantises vectors and estimates inner products from the codes: RaBitQ with one bit per dimension and
// SQ8 with one byte per dimension. It also contains the vector kernels.
//
// A 1-bit code contains the signs of the rotated residual and three numbers. The residual is the vector minus a
// centroid, and the rotation is random. Estimates of inner products are unbiased. Thanks to the rotation, their errors
// are normally distributed for any vectors, with a known standard deviation for each vector. See Gao and Long, RaBitQ:
// Quantizing High-Dimensional Vectors with a Theoretical Error Bound (SIGMOD 2024).
package quant

import (
	"encoding/binary"
	"math"
)

// Rows is the number of codes compared at a time. They are transposed: the first bytes of all codes come first, then
// their second bytes, and so on. The codes' scales, offsets and errors follow as float32.
const Rows = 64

// Length in bytes of scale, offset and error as float32.
const numbers = 3 * 4

// Words returns the number of 64-bit words for the sign bits of a code.
func Words(dimensions int) int { return (dimensions + 63) / 64 }

// Columns returns the size of a code's sign bits in bytes.
func Columns(dimensions int) int { return Words(dimensions) * 8 }

// CodeBytes returns the length of a 1-bit code in bytes.
func CodeBytes(dimensions int) int { return Words(dimensions)*8 + numbers }

// Coder computes codes. It is not safe for concurrent use.
type Coder struct {
	centroid []float32
	rotation *rotation
	residual []float32 // scratch
}

// NewCoder returns a coder for vectors around a centroid. The coder keeps a reference to the centroid.
func NewCoder(centroid []float32) *Coder {
	return &Coder{centroid: centroid, rotation: rotationOf(len(centroid)), residual: make([]float32, len(centroid))}
}

// storeResidual stores a vector's rotated residual and returns its norm and its inner product with the centroid.
func (c *Coder) storeResidual(v []float32) (length, offset float64) {
	for i, x := range v {
		r := x - c.centroid[i]
		c.residual[i] = r
		length += float64(r) * float64(r)
		offset += float64(r) * float64(c.centroid[i])
	}
	c.rotation.apply(c.residual)
	return math.Sqrt(length), offset
}

// Encode writes a unit vector's 1-bit code to `dst` (CodeBytes long) and its int8 code to `fine` (Int8CodeBytes long).
func (c *Coder) Encode(dst, fine []byte, v []float32) {
	length, offset := c.storeResidual(v)
	c.encodeInt8(fine, offset)
	var sum float64
	words := dst[:Words(len(v))*8]
	clear(words)
	for i, r := range c.residual {
		sum += math.Abs(float64(r))
		if r > 0 {
			words[i/8] |= 1 << (i % 8)
		}
	}
	// Choose `scale` so that projecting scale·signs onto the residual gives the residual itself (each sign is ±1). Their
	// difference is then orthogonal to the residual. The stored error is that difference's norm per dimension.
	var scale, spread float64
	if sum > 0 {
		scale = length * length / sum
		n := float64(len(v))
		spread = math.Sqrt(max(0, scale*scale*n-length*length) / max(1, n-1))
	}
	for i, x := range [...]float64{scale, offset, spread} {
		binary.LittleEndian.PutUint32(dst[len(words)+4*i:], math.Float32bits(float32(x)))
	}
}

// Query is a query prepared for comparison with codes. It is safe for concurrent use.
type Query struct {
	words  int
	weight []int8  // rotated residual in steps, zero-padded to words
	step   float32 // size of a step
	total  int32   // sum of all weights
	base   float32 // inner product of query and centroid
	length float32 // norm of the residual, adjusted for the weights' rounding errors
	tables [][256]int16
	halves []byte // lookup tables for the codes' nibbles, two per column; nil if unsupported by the processor
	minSum int32
	int8   int8Query
}

// Largest absolute value of a weight, which is a component of the query rounded to an integer. Rounding increases the
// error of estimates by less than 1%. A sum of up to eight weights, minus the smallest such sum, must fit into a byte.
const maxWeight = math.MaxUint8 / 8

// scaleToError is the ratio of scale²·dimensions to error²·dimensions: (π/2)/(π/2-1), because the rotation makes the
// components normally distributed.
const scaleToError = (math.Pi / 2) / (math.Pi/2 - 1)

// Upper bound on the rounding difference between two ways to compute an inner product of unit vectors.
const rounding = 1e-6

// Prepare prepares a query of unit length.
func (c *Coder) Prepare(query []float32) *Query {
	length, offset := c.storeResidual(query)
	q := &Query{words: Words(len(query)), weight: make([]int8, Words(len(query))*64)}
	base := offset // (query-c)·c + c·c
	for _, x := range c.centroid {
		base += float64(x) * float64(x)
	}
	q.int8 = newInt8Query(c.residual, length)
	limit := 0.0
	for _, x := range c.residual {
		limit = max(limit, math.Abs(float64(x)))
	}
	step := 1.0
	if limit > 0 {
		step = limit / maxWeight
		// Adjust `length` for the weights' rounding errors. They are uniformly distributed over a step, and the estimate
		// multiplies them by `scale`.
		length = math.Sqrt(length*length + scaleToError*float64(len(query))*step*step/12)
	}
	for i, x := range c.residual {
		w := math.RoundToEven(float64(x) / step)
		q.weight[i] = int8(w)
		q.total += int32(w)
	}
	q.step, q.base, q.length = float32(step), float32(base), float32(length)
	if !wide {
		q.tables = tables(q.weight)
	}
	q.prepareHalves()
	return q
}

// Estimates holds a query's estimated inner products with the codes in a group (see Rows), and the estimates' standard
// deviations.
type Estimates struct {
	Product [Rows]float32
	Spread  [Rows]float32
	sums    [Rows]int32
}

// Above compares the query with a group of transposed codes (see Rows). In the result, a code's bit is set if its
// estimate plus times·σ is at least `threshold`, where σ is the estimate's standard deviation.
func (q *Query) Above(e *Estimates, codes []byte, times, threshold float32) uint64 {
	if found, ok := q.above(e, codes, times, threshold); ok {
		return found
	}
	return q.abovePortable(e, codes, times, threshold)
}

// abovePortable is Above without vector instructions.
func (q *Query) abovePortable(e *Estimates, codes []byte, times, threshold float32) (found uint64) {
	e.sums = [Rows]int32{}
	for i := range q.tables {
		table := &q.tables[i]
		for row, b := range (*[Rows]byte)(codes[i*Rows:]) {
			e.sums[row] += int32(table[b])
		}
	}
	at := codes[len(q.tables)*Rows:]
	at = at[: Rows*numbers : Rows*numbers]
	for i := range Rows {
		scale := math.Float32frombits(binary.LittleEndian.Uint32(at[4*i:]))
		offset := math.Float32frombits(binary.LittleEndian.Uint32(at[4*(Rows+i):]))
		spread := math.Float32frombits(binary.LittleEndian.Uint32(at[4*(2*Rows+i):]))
		e.Product[i] = q.base + offset + scale*q.step*float32(2*e.sums[i]-q.total)
		e.Spread[i] = spread*q.length + rounding
		if e.Product[i]+times*e.Spread[i] >= threshold {
			found |= 1 << i
		}
	}
	return found
}

// tables returns one table for each byte in a code. A table maps each possible value of the byte to the sum of the
// weights at the value's set bits.
func tables(weight []int8) [][256]int16 {
	out := make([][256]int16, len(weight)/8)
	for i := range out {
		table := &out[i]
		for bit, w := range weight[i*8 : i*8+8] {
			for v := range 1 << bit {
				table[v|1<<bit] = table[v] + int16(w)
			}
		}
	}
	return out
}
