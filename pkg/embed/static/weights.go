package static

import "math"

// An entry's vector is trusted only if at least this many training texts contain it.
const minKnown = 3

// weightOf returns the weight of a vocabulary entry that occurs in `frequency` of the `texts` training texts. It is the
// smooth inverse frequency (Arora et al. 2017), scaled so that an entry that occurs in no text has the weight 255.
// "The" has a small weight, and rare words have nearly the full weight. The weight is never 0, so even a text of common
// words has a vector.
func weightOf(frequency, texts uint32) uint8 {
	share := float64(frequency) / float64(max(texts, 1))
	return uint8(max(1, math.Round(255*smoothing/(smoothing+share))))
}

// An entry that occurs in this fraction of the training texts has half the maximum weight. train/fit.py uses the same
// formula.
const smoothing = 0.06
