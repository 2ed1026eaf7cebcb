// Package bm25 implements the BM25 ranking function. All index engines use it, so a row has the same score in all of
// them.
package bm25

import "math"

const (
	// K1 controls how soon the frequency of a term saturates.
	K1 = 1.2
	// B controls how much the length of a row matters.
	B = 0.75
	// ContextWeight is the weight of a word in a row's context, relative to a word in its text: a title says more than
	// a sentence.
	ContextWeight = 2
	// MaxTerms is the maximum number of query terms that are scored. If a query has more, only the rarest are scored.
	// The limit is the number of bits in a uint64, so that each term can have a bit of its own.
	MaxTerms = 64
	// Ceiling is the limit that Saturated approaches, but never reaches, as the frequency grows.
	Ceiling = K1 + 1
)

// Weight returns a term's inverse document frequency, which is never negative. `rows` is the total number of rows, and
// `having` is the number of rows that contain the term.
func Weight(rows, having float64) float64 {
	return math.Log(1 + (rows-having+0.5)/(having+0.5))
}

// Norm returns the part of BM25's denominator that depends on a row's length. Lengths are counted in terms. average is
// the mean length of all rows and must be positive.
func Norm(length, average float64) float64 {
	return K1 * (1 - B + B*length/average)
}

// Saturated returns the saturated frequency (0 to Ceiling) of a term that occurs `frequency` times in a row. norm is
// the row's Norm. The score of a row is the sum of its terms' saturated frequencies, each multiplied by the term's
// Weight.
func Saturated(frequency, norm float64) float64 {
	return frequency * Ceiling / (frequency + norm)
}
