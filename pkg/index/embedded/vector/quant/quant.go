// Package quant compares vectors: in full, by codes of one bit for each dimension, and by fine codes of one byte.
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

// Rows is how many codes are compared together. They lie by columns: the first byte of each, the second of each, and so on, and
// then, as 32-bit floats, the scale of each, the offset of each, and the error of each.
const Rows = 64

// numbers are the three that follow a code's bits, as 32-bit floats: scale, offset, error.
const numbers = 3 * 4

// Words is how many words of 64 bits the signs of a vector take.
func Words(dimensions int) int { return (dimensions + 63) / 64 }

// Columns is how many bytes the signs take, which are the columns of codes.
func Columns(dimensions int) int { return Words(dimensions) * 8 }

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
	return &Coder{centre: centre, turn: rotationOf(len(centre)), residue: make([]float32, len(centre))}
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

// Encode writes a vector's code to dst, which is CodeBytes long, and its fine code to fine, which is FineBytes long.
func (c *Coder) Encode(dst, fine []byte, v []float32) {
	length, offset := c.take(v)
	c.encodeFine(fine, offset)
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
	step   float32 // what a step is
	total  int32   // of all weights
	base   float32 // product of query and centre
	length float32 // of the residue, with what rounding weights adds to the error
	tables [][256]int16
	halves []byte // what half bytes of codes add to least, two tables for each column, where there are instructions that look it up
	least  int32
	fine   fineQuestion
}

// maxWeight is the greatest weight with which what eight bits let pass holds in a byte, as a number above the least that it can
// be. It tells a residue's parts well enough: what rounding adds to the error is less than a hundredth.
const maxWeight = math.MaxUint8 / 8

// ofScale is how many times a code's scale, squared and times the dimensions, is its spread, squared and times the same:
// π/2 to π/2-1 where the parts of residues are distributed normally, as turning makes them.
const ofScale = (math.Pi / 2) / (math.Pi/2 - 1)

// rounding is by how much two ways to work out the same product differ at most, of vectors of unit length.
const rounding = 1e-6

// Ask prepares a query of unit length.
func (c *Coder) Ask(query []float32) *Question {
	length, offset := c.take(query)
	q := &Question{words: Words(len(query)), weight: make([]int8, Words(len(query))*64)}
	base := offset // (query-centre)·centre, and the centre's product with itself
	for _, x := range c.centre {
		base += float64(x) * float64(x)
	}
	q.fine = askFine(c.residue, length)
	most := 0.0
	for _, x := range c.residue {
		most = max(most, math.Abs(float64(x)))
	}
	step := 1.0
	if most > 0 {
		step = most / maxWeight
		// What rounding does to a part is spread evenly over a step, and scale times as much of it goes into the estimate.
		length = math.Sqrt(length*length + ofScale*float64(len(query))*step*step/12)
	}
	for i, x := range c.residue {
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

// Estimates are those of a group of codes: what the product of each vector and the query seems to be, and how far it is off
// in one of three cases at most (the standard deviation).
type Estimates struct {
	Product [Rows]float32
	Spread  [Rows]float32
	sums    [Rows]int32
}

// Above compares the query with Rows codes, which lie by columns, and tells by bits which may have a product of floor or more, were
// it so many times the spread above its estimate.
func (q *Question) Above(e *Estimates, codes []byte, times, floor float32) uint64 {
	if found, ok := q.above(e, codes, times, floor); ok {
		return found
	}
	return q.abovePortable(e, codes, times, floor)
}

// abovePortable is Above without vector instructions.
func (q *Question) abovePortable(e *Estimates, codes []byte, times, floor float32) (found uint64) {
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
		if e.Product[i]+times*e.Spread[i] >= floor {
			found |= 1 << i
		}
	}
	return found
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
