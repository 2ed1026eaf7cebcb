package embedded

import (
	"math"
	"math/bits"
)

// questionRange bounds the sums of a question's tables, so that they fit 16 bits.
const questionRange = math.MaxInt16

// question estimates inner products of a query's vector and vectors of which the sign bits are known: a component is taken
// to lie as far from the centre as it does on average, to the side that its bit tells. What the query has in full goes in
// in full, and so a dimension counts as much as it does in the query and varies in the rows.
type question struct {
	tables [][256]int16 // by byte of the bits: what each of its values adds
}

// newQuestion prepares a query for rows whose components are so far from their centre on average.
func newQuestion(query, spread []float32) *question {
	total := 0.0
	for i, x := range query {
		total += math.Abs(float64(x) * float64(spread[i]))
	}
	q := &question{tables: make([][256]int16, signWords(len(query))*8)}
	if total == 0 {
		return q
	}
	weights := make([]int16, len(q.tables)*8)
	for i, x := range query {
		weights[i] = int16(float64(x) * float64(spread[i]) / total * questionRange) // rounded towards 0: their sum is in range
	}
	for i := range q.tables {
		table, weights := &q.tables[i], weights[i*8:i*8+8]
		for _, w := range weights {
			table[0] -= w
		}
		for v := 1; v < len(table); v++ {
			table[v] = table[v&(v-1)] + 2*weights[bits.TrailingZeros(uint(v))] // one bit more is set
		}
	}
	return q
}

// distance tells how far a vector with these sign bits seems to be, from 0 to levels-1.
func (q *question) distance(record []byte) uint16 {
	tables := q.tables
	record = record[:len(tables)]
	var a, b, c, d int32
	for len(tables) >= 4 && len(record) >= 4 { // always a multiple of 8
		a += int32(tables[0][record[0]])
		b += int32(tables[1][record[1]])
		c += int32(tables[2][record[2]])
		d += int32(tables[3][record[3]])
		tables, record = tables[4:], record[4:]
	}
	return uint16((questionRange - (a + b + c + d)) / (2*questionRange/levels + 1))
}
