// Package bm25 is the ranking function that every index engine scores words by, so that a row has the same score
// whichever of them holds it.
package bm25

import "math"

const (
	// K1 says how soon a term's frequency saturates.
	K1 = 1.2
	// B says how much a row's length counts.
	B = 0.75
	// ContextWeight is how often a word of a row's context counts: a title says more than a sentence.
	ContextWeight = 2
	// MaxTerms is how many terms of a query are scored: of more, the rarest. Their number fits the bits of an uint64.
	MaxTerms = 64
	// Ceiling is what Saturated approaches, and never reaches, for a term that a row has ever more often.
	Ceiling = K1 + 1
)

// Weight is the inverse document frequency of a term that so many of all rows have, 0 to rows. It is never negative.
func Weight(rows, having float64) float64 {
	return math.Log(1 + (rows-having+0.5)/(having+0.5))
}

// Norm is the part of the denominator that depends on a row's length, in terms. average is the mean length of the rows
// that it is compared with, above 0.
func Norm(length, average float64) float64 {
	return K1 * (1 - B + B*length/average)
}

// Saturated is what a term counts that a row has so often, 0 to Ceiling. A row's score is the sum of its terms' saturated
// frequencies, each multiplied with the term's Weight.
func Saturated(frequency, norm float64) float64 {
	return frequency * Ceiling / (frequency + norm)
}
