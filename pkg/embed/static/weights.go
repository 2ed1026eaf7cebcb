package static

import "math"

// minKnown is in how many training texts an entry must occur for its vector to be called known.
const minKnown = 3

// weightOf returns the weight of a vocabulary entry that occurs in frequency of texts training texts, in 1/255 of that
// of an entry that occurs in none: smooth inverse frequency (Arora et al. 2017), so that "the" counts for little and
// rare words fully. It is never 0: a text of common words only has a vector too.
func weightOf(frequency, texts uint32) uint8 {
	share := float64(frequency) / float64(max(texts, 1))
	return uint8(max(1, math.Round(255*smoothing/(smoothing+share))))
}

// smoothing is the share of texts at which an entry has half its weight; train/fit.py weighs by the same formula.
const smoothing = 0.06
