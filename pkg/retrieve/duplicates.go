package retrieve

import (
	"hash/maphash"
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
	whole   uint64   // of all letters and digits in order
	numbers uint64   // of all numbers in order: texts that differ in one say different things
	windows []uint64 // sampled, sorted, none twice
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

func outlineOf(text string) outline {
	letters := make([]byte, 0, len(text))
	digits := make([]byte, 0, 32)
	taken, skip := make([]uint64, 0, 2*len(text)/sampleOneIn), uint64(sampleOneIn-1)
	if len(text) < shortText {
		skip = 0
	}
	var window uint64 // the last windowRunes letters and digits
	number := false   // a digit stands before, or a point after one
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
			taken = append(taken, h)
		}
	}
	if len(letters) == 0 {
		letters = append(letters, text...)
	}
	slices.Sort(taken)
	return outline{whole: maphash.Bytes(seed, letters), numbers: maphash.Bytes(seed, digits), windows: slices.Compact(taken)}
}

// like reports whether the two texts say the same: their letters and digits are equal, or nearly so with all numbers
// equal.
func (o outline) like(other outline) bool {
	if o.numbers != other.numbers {
		return false
	}
	if o.whole == other.whole {
		return true
	}
	a, b := o.windows, other.windows
	least, most := min(len(a), len(b)), max(len(a), len(b))
	if least == 0 { // too short to be nearly the same
		return false
	}
	if float64(least) < minShared*float64(most) {
		return false
	}
	// With a share s of the windows of either in both, (a+b)(1-s)/(1+s) are in one of them alone.
	odd := int(float64(len(a)+len(b)) * (1 - minShared) / (1 + minShared))
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
	outlines []outline
	of       []*candidate
}

// folds reports whether the candidate says what a better one has said: its text is much the same, and it holds no word of
// the query that the other lacks. The candidate then knows the better one. It asks about each candidate once.
func (f *folder) folds(c *candidate) bool {
	if c.compared {
		return c.like != nil
	}
	c.compared = true
	o := outlineOf(c.hit.Text)
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
