package retrieve

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Two texts are near-duplicates if the Jaccard similarity of their shingles is at least minShared. A shingle is a
// window of windowRunes letters and digits. Short texts keep all their shingles, and longer texts a sample of about
// 1/sampleRate. Sampling depends on the shingle's hash, so all long texts keep or drop the same shingles.
const (
	windowRunes = 8 // one byte each, so that a shingle fits into a uint64
	sampleRate  = 8
	shortText   = 400 // bytes
	minShared   = 0.9
)

// textFingerprint is the fingerprint of a text's letters and digits. It ignores case, spacing and punctuation.
type textFingerprint struct {
	whole   uint64    // hash of all letters and digits in order
	numbers uint64    // hash of all numbers in order: texts with different numbers are not duplicates
	windows []uint64  // hashes of the sampled shingles
	marks   [8]uint64 // bitmap with one bit set per shingle
	sorted  bool      // `windows` is sorted and without duplicates
}

// seed is random, to keep documents from being crafted to collide with others.
var seed = maphash.MakeSeed()

// mix hashes a shingle.
func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xD6E8FEB86659FD93
	return h ^ h>>32
}

// foldASCII maps ASCII letters to lower case, digits to themselves, and other ASCII characters to 0.
var foldASCII = func() (table [utf8.RuneSelf]byte) {
	for c := range table {
		switch r := byte(c); {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			table[c] = r
		case r >= 'A' && r <= 'Z':
			table[c] = r + 'a' - 'A'
		}
	}
	return table
}()

// hashNonASCII maps a non-ASCII letter to one byte. Different letters may collide, but different sequences of letters
// rarely do.
func hashNonASCII(r rune) byte { return 0x80 | byte(uint32(r)*0x9E3779B1>>25) }

// fingerprint returns a text's fingerprint, which is valid until f is released.
func (f *duplicateFinder) fingerprint(text string) *textFingerprint {
	o := new(textFingerprint)
	if f.buffer == nil {
		f.buffer = fingerprintPool.Get().(*fingerprintBuffer)
	}
	letters, digits := f.buffer.letters[:0], f.buffer.digits[:0]
	skip := uint64(sampleRate - 1)
	if len(text) < shortText {
		skip = 0
	}
	o.windows = f.buffer.take(len(text)/int(skip+1) + 1) // rarely exceeded
	var window uint64                                    // the last windowRunes letters and digits
	number := false                                      // the previous character continues a number
	for _, r := range text {
		var digit bool
		var letter byte
		switch {
		case r < utf8.RuneSelf:
			if letter = foldASCII[r]; letter == 0 {
				if number = number && r == '.'; number {
					digits = append(digits, '.')
				}
				continue
			}
			r, digit = rune(letter), letter <= '9'
			letters = append(letters, letter)
		case unicode.IsDigit(r), unicode.IsLetter(r), unicode.IsMark(r):
			r, digit = unicode.ToLower(r), unicode.IsDigit(r)
			letters, letter = utf8.AppendRune(letters, r), hashNonASCII(r)
		default:
			number = false
			continue
		}
		if digit {
			if !number {
				digits = append(digits, ' ')
			}
			digits = utf8.AppendRune(digits, r)
		}
		number = digit
		window = window<<8 | uint64(letter)
		if h := mix(window); h&skip == 0 && window >= 1<<(8*(windowRunes-1)) { // full: its first letter is set
			o.windows = append(o.windows, h)
			o.marks[h>>61] |= 1 << (h >> 55 & 63)
		}
	}
	if len(letters) == 0 {
		letters = append(letters, text...)
	}
	o.whole, o.numbers = maphash.Bytes(seed, letters), maphash.Bytes(seed, digits)
	f.buffer.letters, f.buffer.digits = letters, digits
	return o
}

// maxUnshared returns how many shingles of two near-duplicates may be in only one of the two texts. n is the sum of
// both texts' shingle counts. At similarity s, exactly n(1-s)/(1+s) shingles are in only one text.
func maxUnshared(n int) int { return int(float64(n) * (1 - minShared) / (1 + minShared)) }

// differsFrom reports whether the bitmaps alone rule out near-duplicates. A bit that is set in only one bitmap stands
// for at least one shingle that the other text lacks.
func (o *textFingerprint) differsFrom(other *textFingerprint) bool {
	alone := 0
	for i, m := range o.marks {
		alone += bits.OnesCount64(m ^ other.marks[i])
	}
	return alone > maxUnshared(len(o.windows)+len(other.windows))
}

// distinct returns the shingles, sorted and without duplicates.
func (o *textFingerprint) distinct() []uint64 {
	if !o.sorted {
		slices.Sort(o.windows)
		o.windows, o.sorted = slices.Compact(o.windows), true
	}
	return o.windows
}

// isDuplicate reports whether the texts are duplicates or near-duplicates. Texts with different numbers, such as two
// prices, never are.
func (o *textFingerprint) isDuplicate(other *textFingerprint) bool {
	switch {
	case o.numbers != other.numbers:
		return false
	case o.whole == other.whole:
		return true
	case o.differsFrom(other):
		return false
	}
	a, b := o.distinct(), other.distinct()
	fewer, more := min(len(a), len(b)), max(len(a), len(b))
	if fewer == 0 { // too short for near-duplicates
		return false
	}
	if float64(fewer) < minShared*float64(more) {
		return false
	}
	odd := maxUnshared(len(a) + len(b))
	i, j := 0, 0
	for i < len(a) && j < len(b) && odd >= 0 {
		switch {
		case a[i] < b[j]:
			i, odd = i+1, odd-1
		case a[i] > b[j]:
			j, odd = j+1, odd-1
		default:
			i, j = i+1, j+1
		}
	}
	return odd >= len(a)-i+len(b)-j
}

// duplicateFinder finds candidates that repeat a better one. Pass candidates to it best first.
type duplicateFinder struct {
	outlines []*textFingerprint
	of       []*candidate
	buffer   *fingerprintBuffer // nil until needed
}

// release returns the fingerprints' memory to the pool. The finder must not be used afterwards.
func (f *duplicateFinder) release() {
	if f.buffer != nil && cap(f.buffer.letters) <= maxPooledLetters {
		f.buffer.hashes = f.buffer.hashes[:0]
		fingerprintPool.Put(f.buffer)
	}
	f.buffer, f.outlines, f.of = nil, nil, nil
}

// fingerprintBuffer is the memory for a result's fingerprints.
type fingerprintBuffer struct {
	letters, digits []byte
	hashes          []uint64 // in use up to its length
}

const (
	pooledHashes     = 4096 // rarely exceeded by a result of 20 fragments
	maxPooledLetters = 64 << 10
)

var fingerprintPool = sync.Pool{New: func() any { return &fingerprintBuffer{hashes: make([]uint64, 0, pooledHashes)} }}

// take returns an empty slice with the given capacity.
func (b *fingerprintBuffer) take(capacity int) []uint64 {
	used := len(b.hashes)
	if capacity > cap(b.hashes)-used {
		return make([]uint64, 0, capacity)
	}
	b.hashes = b.hashes[:used+capacity]
	return b.hashes[used : used : used+capacity]
}

// isRepeated reports whether the candidate repeats a better one, i.e. the texts are near-duplicates, and the better one
// contains all of the candidate's query terms. It sets c.duplicateOf and caches the result in the candidate.
func (f *duplicateFinder) isRepeated(c *candidate) bool {
	if c.compared {
		return c.duplicateOf != nil
	}
	c.compared = true
	o := f.fingerprint(c.hit.Text)
	for i := range f.of {
		if f.outlines[i].isDuplicate(o) && (f.outlines[i].whole == o.whole || hasAllTerms(f.of[i].hit.Terms, c.hit.Terms)) {
			c.duplicateOf = f.of[i]
			return true
		}
	}
	f.outlines, f.of = append(f.outlines, o), append(f.of, c)
	return false
}

// hasAllTerms reports whether a better candidate's terms include the given ones.
func hasAllTerms(better, terms []string) bool {
	for _, t := range terms {
		if !slices.Contains(better, t) {
			return false
		}
	}
	return true
}
