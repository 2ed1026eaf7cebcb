package static

import "math"

// Minimum number of training texts that contain an entry, for its vector to be trusted.
const minKnown = 3

// weightOf returns the weight of a vocabulary entry that occurs in frequency of texts training texts, in 1/255 of the
// weight of an entry that occurs in none. It is the smooth inverse frequency (Arora et al. 2017): "the" counts for
// little, rare words fully. It is never 0, so that a text of common words also has a vector.
func weightOf(frequency, texts uint32) uint8 {
	share := float64(frequency) / float64(max(texts, 1))
	return uint8(max(1, math.Round(255*smoothing/(smoothing+share))))
}

// Share of texts at which an entry has half its weight. train/fit.py uses the same formula.
const smoothing = 0.06
