package retrieve

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Two texts are near-duplicates when of the windows of windowRunes letters and digits that either has, both have at least
// minShared. Windows are sampled by their hash, one of sampleOneIn, so that few need be kept and the same ones are taken
// of every text; short texts keep all.
const (
	windowRunes = 8 // of a byte each in 64 bits
	sampleOneIn = 8
	shortText   = 400 // bytes
	minShared   = 0.9
)

// outline is what of a text is compared: its letters and digits in lower case, not as it is set.
type outline struct {
	whole   uint64    // of all letters and digits in order
	numbers uint64    // of all numbers in order: texts that differ in one say different things
	windows []uint64  // sampled
	marks   [8]uint64 // a bit for each window, by its hash
	sorted  bool      // the windows are, and none is there twice
}

// seed makes hashes of whole texts that no document can be written to collide with.
var seed = maphash.MakeSeed()

// mix makes a hash of a window.
func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= 0xD6E8FEB86659FD93
	return h ^ h>>32
}

// plain is what of an ASCII character is compared: letters in lower case and digits as they are, of others nothing.
var plain = func() (table [utf8.RuneSelf]byte) {
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

// beyond stands for a letter beyond ASCII in a window. Several are the same there, few of many next to one another.
func beyond(r rune) byte { return 0x80 | byte(uint32(r)*0x9E3779B1>>25) }

// outline returns that of a text.
func (f *folder) outline(text string) *outline {
	o := new(outline)
	letters, digits := f.letters[:0], f.digits[:0]
	skip := uint64(sampleOneIn - 1)
	if len(text) < shortText {
		skip = 0
	}
	o.windows = make([]uint64, 0, len(text)/int(skip+1)+1) // hardly ever more
	var window uint64                                      // the last windowRunes letters and digits
	number := false                                        // a digit stands before, or a point after one
	for _, r := range text {
		var digit bool
		var letter byte
		switch {
		case r < utf8.RuneSelf:
			if letter = plain[r]; letter == 0 {
				if number = number && r == '.'; number {
					digits = append(digits, '.')
				}
				continue
			}
			r, digit = rune(letter), letter <= '9'
			letters = append(letters, letter)
		case unicode.IsDigit(r), unicode.IsLetter(r), unicode.IsMark(r):
			r, digit = unicode.ToLower(r), unicode.IsDigit(r)
			letters, letter = utf8.AppendRune(letters, r), beyond(r)
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
		if h := mix(window); h&skip == 0 && window >= 1<<(8*(windowRunes-1)) { // which has its first letter
			o.windows = append(o.windows, h)
			o.marks[h>>61] |= 1 << (h >> 55 & 63)
		}
	}
	if len(letters) == 0 {
		letters = append(letters, text...)
	}
	o.whole, o.numbers = maphash.Bytes(seed, letters), maphash.Bytes(seed, digits)
	f.letters, f.digits = letters, digits
	return o
}

// odd is how many of n windows of two texts can be in one of them alone where minShared of either are in both: with a
// share s of them in both, n(1-s)/(1+s) are not.
func odd(n int) int { return int(float64(n) * (1 - minShared) / (1 + minShared)) }

// apart reports whether it takes no counting to see that too many windows are in one of the texts alone: a mark that the
// other lacks is of one that the other lacks.
func (o *outline) apart(other *outline) bool {
	alone := 0
	for i, m := range o.marks {
		alone += bits.OnesCount64(m ^ other.marks[i])
	}
	return alone > odd(len(o.windows)+len(other.windows))
}

// distinct returns the windows in order, each once.
func (o *outline) distinct() []uint64 {
	if !o.sorted {
		slices.Sort(o.windows)
		o.windows, o.sorted = slices.Compact(o.windows), true
	}
	return o.windows
}

// like reports whether the two texts say the same: their letters and digits are equal, or nearly so with all numbers
// equal.
func (o *outline) like(other *outline) bool {
	switch {
	case o.numbers != other.numbers:
		return false
	case o.whole == other.whole:
		return true
	case o.apart(other):
		return false
	}
	a, b := o.distinct(), other.distinct()
	least, most := min(len(a), len(b)), max(len(a), len(b))
	if least == 0 { // too short to be nearly the same
		return false
	}
	if float64(least) < minShared*float64(most) {
		return false
	}
	odd := odd(len(a) + len(b))
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

// folder tells candidates that repeat a better one, in the order in which they are shown to it.
type folder struct {
	outlines []*outline
	of       []*candidate

	letters, digits []byte // of the text that was outlined last, for their room
}

// folds reports whether the candidate says what a better one has said: its text is much the same, and it holds no word of
// the query that the other lacks. The candidate then knows the better one. It asks about each candidate once.
func (f *folder) folds(c *candidate) bool {
	if c.compared {
		return c.like != nil
	}
	c.compared = true
	o := f.outline(c.hit.Text)
	for i := range f.of {
		if f.outlines[i].like(o) && (f.outlines[i].whole == o.whole || covers(f.of[i].hit.Terms, c.hit.Terms)) {
			c.like = f.of[i]
			return true
		}
	}
	f.outlines, f.of = append(f.outlines, o), append(f.of, c)
	return false
}

// covers reports whether all of the terms are among those of a better candidate.
func covers(better, terms []string) bool {
	for _, t := range terms {
		if !slices.Contains(better, t) {
			return false
		}
	}
	return true
}
