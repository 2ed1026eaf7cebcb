// Package quant compares vectors: in full, and by codes of one bit for each dimension.
//
// A code holds the signs of a vector from which a centre was taken and that was then turned at random, and three numbers
// that make an estimate of inner products from them: unbiased, with an error that is known for each vector and distributed
// normally whatever the vectors are, for the turning makes its direction a random one. So a search knows how far it must
// look to find all but a known share of what is nearest. The method is RaBitQ's (Gao and Long, SIGMOD 2024).
package quant

import (
	"encoding/binary"
	"math"
)

// Rows is how many codes Estimate compares at most.
const Rows = 64

// numbers are the three that follow a code's bits, as 32-bit floats: scale, offset, error.
const numbers = 3 * 4

// Words is how many words of 64 bits the signs of a vector take.
func Words(dimensions int) int { return (dimensions + 63) / 64 }

// CodeBytes is how long a code is.
func CodeBytes(dimensions int) int { return Words(dimensions)*8 + numbers }

// Coder makes codes. It is not safe for concurrent use.
type Coder struct {
	centre  []float32
	turn    *rotation
	residue []float32 // scratch
}

// NewCoder returns a coder for vectors that lie around a centre, of which it keeps no copy.
func NewCoder(centre []float32) *Coder {
	return &Coder{centre: centre, turn: newRotation(len(centre)), residue: make([]float32, len(centre))}
}

// take sets the residue to what is left of a vector without the centre, turned, and returns its length, and its product
// with the centre.
func (c *Coder) take(v []float32) (length, offset float64) {
	for i, x := range v {
		r := x - c.centre[i]
		c.residue[i] = r
		length += float64(r) * float64(r)
		offset += float64(r) * float64(c.centre[i])
	}
	c.turn.apply(c.residue)
	return math.Sqrt(length), offset
}

// Encode writes a vector's code to dst, which is CodeBytes long.
func (c *Coder) Encode(dst []byte, v []float32) {
	length, offset := c.take(v)
	var sum float64
	words := dst[:Words(len(v))*8]
	clear(words)
	for i, r := range c.residue {
		sum += math.Abs(float64(r))
		if r > 0 {
			words[i/8] |= 1 << (i % 8)
		}
	}
	// The signs, as numbers of 1 and -1, times scale are as long in the residue's direction as the residue itself. Across it
	// they have a rest, which meets a part of the query that lies in any direction.
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

// Question is a query's vector, prepared for comparing it with codes. It may be used by several goroutines.
type Question struct {
	words  int
	weight []int8  // the turned residue in steps, filled up with 0 to whole words
	step   float64 // what a step is
	total  float64 // of all weights, as steps
	base   float64 // product of query and centre
	length float64 // of the residue
	tables [][256]int16
}

// maxWeight bounds weights.
const maxWeight = 127

// mostWeight is the greatest weight with which sums of 16 bits hold over so many words, of each of which a sum takes four
// weights at most (AVX2 has 16 sums).
func mostWeight(words int) float64 { return min(maxWeight, float64(math.MaxInt16/(4*words))) }

// rounding is by how much two ways to work out the same product differ at most, of vectors of unit length.
const rounding = 3e-7

// Ask prepares a query of unit length.
func (c *Coder) Ask(query []float32) *Question {
	length, offset := c.take(query)
	q := &Question{words: Words(len(query)), length: length, weight: make([]int8, Words(len(query))*64), step: 1}
	q.base = offset // (query-centre)·centre, and the centre's product with itself
	for _, x := range c.centre {
		q.base += float64(x) * float64(x)
	}
	most := 0.0
	for _, x := range c.residue {
		most = max(most, math.Abs(float64(x)))
	}
	if most > 0 {
		q.step = most / mostWeight(q.words)
	}
	for i, x := range c.residue {
		w := math.RoundToEven(float64(x) / q.step)
		q.weight[i] = int8(w)
		q.total += w
	}
	if !wide {
		q.tables = tables(q.weight)
	}
	return q
}

// Estimates are those of a group of codes: what the product of each vector and the query seems to be, and how far it is off
// in one of three cases at most (the standard deviation).
type Estimates struct {
	Product [Rows]float64
	Spread  [Rows]float64
	sums    [Rows]int32
}

// Estimate compares the query with n codes, 1 to Rows, which lie stride bytes from one another.
func (q *Question) Estimate(e *Estimates, codes []byte, stride, n int) {
	q.sum(&e.sums, codes, stride, n)
	at := q.words * 8
	for i := range n {
		c := codes[i*stride+at:]
		c = c[:numbers:numbers]
		scale := float64(math.Float32frombits(binary.LittleEndian.Uint32(c)))
		offset := float64(math.Float32frombits(binary.LittleEndian.Uint32(c[4:])))
		spread := float64(math.Float32frombits(binary.LittleEndian.Uint32(c[8:])))
		e.Product[i] = q.base + offset + scale*q.step*(2*float64(e.sums[i])-q.total)
		e.Spread[i] = spread*q.length + rounding
	}
}

// sumPortable adds up the weights whose bits are set, for each of n codes.
func (q *Question) sumPortable(sums *[Rows]int32, codes []byte, stride, n int) {
	for i := range n {
		tables, record := q.tables, codes[i*stride:]
		record = record[:len(tables)]
		var a, b, c, d int32
		for len(tables) >= 4 && len(record) >= 4 { // always a multiple of 8
			a += int32(tables[0][record[0]])
			b += int32(tables[1][record[1]])
			c += int32(tables[2][record[2]])
			d += int32(tables[3][record[3]])
			tables, record = tables[4:], record[4:]
		}
		sums[i] = a + b + c + d
	}
}

// tables holds, for each byte of the bits, what each of its values adds.
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
