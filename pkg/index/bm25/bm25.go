// Package bm25 implements the BM25 ranking function. All index engines use it, so a row gets the same score in each.
package bm25

import "math"

const (
	// K1 controls how quickly term frequency saturates.
	K1 = 1.2
	// B controls how much a row's length matters.
	B = 0.75
	// ContextWeight is the weight of a word in a row's context, relative to one in its text. It is above 1 because a title
	// says more than a sentence.
	ContextWeight = 2
	// PageWeight is the assumed frequency of a row's page term (see analysis.PageTerm). It doesn't count towards the row's
	// length.
	PageWeight = 2
	// MaxTerms is the maximum number of query terms to score; if there are more, only the rarest count. The limit lets a
	// uint64 represent a set of terms.
	MaxTerms = 64
	// Ceiling is the limit of Saturated as the frequency grows. It is never reached.
	Ceiling = K1 + 1
)

// Weight returns a term's inverse document frequency, which is never negative. `rows` is the total number of rows, and
// `having` is the number of rows with the term.
func Weight(rows, having float64) float64 {
	return math.Log(1 + (rows-having+0.5)/(having+0.5))
}

// k3 controls how quickly repeating a query word stops adding weight.
const k3 = 2

// Repeated returns the weight factor for a word that occurs `count` times in a query. It is 1 for a single occurrence
// and always less than 1 + k3.
func Repeated(count int) float64 {
	n := float64(max(count, 1))
	return (k3 + 1) * n / (k3 + n)
}

// Norm returns the length-dependent part of BM25's denominator. `length` is the number of terms in the row, and
// `average` is the mean over all rows, which must be positive.
func Norm(length, average float64) float64 {
	return K1 * (1 - B + B*length/average)
}

// Saturated returns the saturated frequency, between 0 and Ceiling, of a term that occurs `frequency` times in a row.
// `norm` is the row's Norm. A row's score is the sum of saturated frequency times Weight over its terms.
func Saturated(frequency, norm float64) float64 {
	return frequency * Ceiling / (frequency + norm)
}
