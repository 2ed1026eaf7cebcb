package textid

import (
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"strings"
	"unicode"
)

const (
	sketchBins = 128 // number of values in a sketch; the standard error of an estimate near minSimilarity is 0.035
	shingle    = 3   // words per shingle
	// maxShingles bounds the work for one text.
	maxShingles = 200_000
	// minSimilarity is the fraction of shingles that similar texts must have in common. A page and its print version
	// have this much in common, but two different pages with the same template don't.
	minSimilarity = 0.8
)

// Hash returns a hash of a text and its title. Texts that differ only in parts deleted by RemoveVolatile have the same
// hash. If a text has no letters or digits, its hash is "".
func Hash(title, text string) string { return hashStable(title, RemoveVolatile(text)) }

func hashStable(title, steady string) string {
	if !hasWords(steady) {
		return ""
	}
	h := sha256.New()
	h.Write([]byte(RemoveVolatile(title)))
	h.Write([]byte{0})
	h.Write([]byte(steady))
	return hex.EncodeToString(h.Sum(nil))
}

// Identify returns the Hash of a page's title and text, and the Sketch of `own`. `own` is the part of the text that the
// page doesn't share with other pages, or the whole text.
func Identify(title, text, own string) (hash string, sketch []byte) {
	steady := RemoveVolatile(text)
	hash = hashStable(title, steady)
	if own == text {
		return hash, sketchStable(steady)
	}
	return hash, Sketch(own)
}

func hasWords(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// Sketch returns a 128-byte summary of a text for comparison with IsSimilar. It is nil for a text without letters or
// digits.
func Sketch(text string) []byte { return sketchStable(RemoveVolatile(text)) }

func sketchStable(steady string) []byte {
	var mins [sketchBins]uint64
	var filled [sketchBins]bool
	var last [shingle]uint64
	words := 0
	add := func(n int) {
		h := uint64(0)
		for i := range n {
			h = mix(h ^ last[(words-n+i)%shingle])
		}
		bin := h % sketchBins
		if v := h / sketchBins; !filled[bin] || v < mins[bin] {
			mins[bin], filled[bin] = v, true
		}
	}
	eachWord(steady, func(word uint64) bool {
		last[words%shingle] = word
		words++
		if words >= shingle {
			add(shingle)
		}
		return words < maxShingles
	})
	if words == 0 {
		return nil
	}
	if words < shingle {
		add(words)
	}
	out := make([]byte, sketchBins) // 0: empty bin
	for i, v := range mins {
		if filled[i] {
			out[i] = byte(1 + v%255)
		}
	}
	return out
}

// IsSimilar reports whether two texts have at least four fifths of their shingles in common, as estimated from their
// sketches. It returns false if either sketch is nil.
func IsSimilar(a, b []byte) bool { return Resemblance(a, b) >= minSimilarity }

// Resemblance estimates, from two sketches, the fraction of shingles that the texts have in common. It is 0 if either
// sketch is nil.
func Resemblance(a, b []byte) float64 {
	if len(a) != sketchBins || len(b) != sketchBins {
		return 0
	}
	equal, either := 0, 0
	for i := range a {
		if a[i] == 0 && b[i] == 0 {
			continue
		}
		either++
		if a[i] == b[i] {
			equal++
		}
	}
	if either == 0 {
		return 0
	}
	return float64(equal) / float64(either)
}

// eachWord calls `do` with the hash of each word, until `do` returns false. A word is a run of letters and digits; in
// scripts without spaces, each letter is a word.
func eachWord(text string, do func(uint64) bool) {
	h := fnv.New64a()
	var buf []byte
	end := func() bool {
		if len(buf) == 0 {
			return true
		}
		h.Reset()
		h.Write(buf)
		buf = buf[:0]
		return do(h.Sum64())
	}
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			if !end() {
				return
			}
			buf = append(buf, string(r)...)
			if !end() {
				return
			}
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			buf = append(buf, string(r)...)
		default:
			if !end() {
				return
			}
		}
	}
	end()
}

// mix spreads a number's bits over all 64 bits (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}
