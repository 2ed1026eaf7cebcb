package static

import "math"

// Minimum number of training texts that must contain an entry for its vector to be trusted.
const minKnown = 3

// weightOf returns the weight of a vocabulary entry that occurs in `frequency` of the `texts` training texts. The
// maximum is 255, for an entry that occurs in none. The weight is the smooth inverse frequency (Arora et al. 2017):
// "the" counts little, and rare words count fully. It is never 0, so even a text of common words has a vector.
func weightOf(frequency, texts uint32) uint8 {
	share := float64(frequency) / float64(max(texts, 1))
	return uint8(max(1, math.Round(255*smoothing/(smoothing+share))))
}

// Share of the training texts that must contain an entry for it to have half the maximum weight. train/fit.py uses the
// same formula.
const smoothing = 0.06
