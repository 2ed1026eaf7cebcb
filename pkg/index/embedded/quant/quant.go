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
	halves []byte // what half bytes of codes add to least, where there are instructions that look it up
	least  int32
	fine   fineQuestion
}

// Sums are made of bytes over byteWords words before they are made of 16 bits; maxWeight is the greatest weight with which
// bytes hold. It tells a residue's parts well enough: what rounding adds to the error is a hundredth.
const (
	byteWords = 6
	maxWeight = math.MaxInt8 / byteWords
)

// mostWeight is the greatest weight with which sums of 16 bits hold over so many words, of each of which a sum takes four
// weights at most (AVX2 has 16 sums).
func mostWeight(words int) float64 { return min(maxWeight, float64(math.MaxInt16/(4*words))) }

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
		step = most / mostWeight(q.words)
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

// Estimate compares the query with n codes, 1 to Rows, which lie stride bytes from one another.
func (q *Question) Estimate(e *Estimates, codes []byte, stride, n int) {
	q.sum(&e.sums, codes, stride, n)
	at := q.words * 8
	for i := range n {
		c := codes[i*stride+at:]
		c = c[:numbers:numbers]
		scale := math.Float32frombits(binary.LittleEndian.Uint32(c))
		offset := math.Float32frombits(binary.LittleEndian.Uint32(c[4:]))
		spread := math.Float32frombits(binary.LittleEndian.Uint32(c[8:]))
		e.Product[i] = q.base + offset + scale*q.step*float32(2*e.sums[i]-q.total)
		e.Spread[i] = spread*q.length + rounding
	}
}

// Above compares the query with Rows codes, which lie stride bytes from one another, and tells by bits which may have a
// product of floor or more, were it so many times the spread above its estimate.
func (q *Question) Above(e *Estimates, codes []byte, stride int, times, floor float32) uint64 {
	if found, ok := q.above(e, codes, stride, times, floor); ok {
		return found
	}
	q.Estimate(e, codes, stride, Rows)
	var found uint64
	for i := range Rows {
		if e.Product[i]+times*e.Spread[i] >= floor {
			found |= 1 << i
		}
	}
	return found
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
