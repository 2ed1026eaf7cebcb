// Package bm25 implements the BM25 ranking function. All index engines use it, so a row has the same score in each.
package bm25

import "math"

const (
	// K1 controls how soon the frequency of a term saturates.
	K1 = 1.2
	// B controls how much the length of a row matters.
	B = 0.75
	// ContextWeight is the weight of a word in a row's context, relative to a word in its text. A title says more than
	// a sentence.
	ContextWeight = 2
	// PageWeight is the frequency with which a row's page term (see analysis.PageTerm) counts in the score. The page
	// term does not count towards the row's length.
	PageWeight = 2
	// MaxTerms is the maximum number of query terms to score. If a query has more, only the rarest count. So a set of
	// terms fits into a uint64, one bit per term.
	MaxTerms = 64
	// Ceiling is the limit that Saturated approaches, but never reaches, as the frequency grows.
	Ceiling = K1 + 1
)

// Weight returns a term's inverse document frequency, which is never negative. `rows` is the number of all rows, and
// `having` the number of rows with the term.
func Weight(rows, having float64) float64 {
	return math.Log(1 + (rows-having+0.5)/(having+0.5))
}

// k3 controls how soon the number of occurrences of a word in a query saturates.
const k3 = 2

// Repeated returns the weight factor of a word that occurs `count` times in a query. It is 1 for a single occurrence,
// and always less than 1 + k3.
func Repeated(count int) float64 {
	n := float64(max(count, 1))
	return (k3 + 1) * n / (k3 + n)
}

// Norm returns the part of BM25's denominator that depends on a row's length. `length` is the row's number of terms.
// `average` is the mean over all rows, which must be positive.
func Norm(length, average float64) float64 {
	return K1 * (1 - B + B*length/average)
}

// Saturated returns the saturated frequency of a term that occurs `frequency` times in a row. It is between 0 and
// Ceiling. `norm` is the row's Norm. A row's score is the sum, over its terms, of the saturated frequency times the
// Weight.
func Saturated(frequency, norm float64) float64 {
	return frequency * Ceiling / (frequency + norm)
}
