package static

import "math"

// Minimum number of training texts in which an entry must occur for its vector to be trusted.
const minKnown = 3

// weightOf returns the weight of an entry that occurs in `frequency` of all `texts` training texts. The unit is 1/255
// of the weight of an entry that occurs in none. The weight is the smooth inverse frequency (Arora et al. 2017): "the"
// counts little, rare words count fully. It is never 0, so that a text of common words has a vector too.
func weightOf(frequency, texts uint32) uint8 {
	share := float64(frequency) / float64(max(texts, 1))
	return uint8(max(1, math.Round(255*smoothing/(smoothing+share))))
}

// smoothing is the share of the training texts in which an entry must occur to have half the maximum weight.
// train/fit.py uses the same formula.
const smoothing = 0.06
