// Package extracttest creates damaged documents, so that tests can show how readers handle them.
//
// The damage depends only on a document's name, its content and a seed, so the same call produces the same bytes on
// every machine.
package extracttest

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
)

// Damage sets how many damaged copies of each kind Cases makes. Zero disables a kind.
type Damage struct {
	Seed uint64
	// Truncations is the number of equal sections of the file. One copy ends after each section except the last. With
	// 10 sections, for example, copies end at 10%, 20%, … 90% of the file.
	Truncations int
	// Flips is the number of copies with randomly changed bytes. The rate cycles from copy to copy: one byte in 10,000,
	// one in 1,000, one in 100.
	Flips int
	// Numbers is the number of copies in which some decimal numbers are replaced by numbers that no file should
	// contain.
	Numbers int
	// Inside is the number of copies whose packed content (zip parts, Flate streams in a PDF) is unpacked, damaged and
	// packed again. No such copies are made of files without packed content.
	Inside int
}

// flipRates are the rates at which bytes are changed; 100 means one byte in 100.
var flipRates = []int{10_000, 1000, 100}

// Cases yields the document itself, named "whole", and then its damaged copies. The bytes must not be modified and are
// only valid until the next iteration.
func (d Damage) Cases(name string, data []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		if !yield("whole", data) {
			return
		}
		for i := 1; i < d.Truncations; i++ {
			if !yield(fmt.Sprintf("cut at %d/%d", i, d.Truncations), data[:len(data)*i/d.Truncations]) {
				return
			}
		}
		for i := range d.Flips {
			rate := flipRates[i%len(flipRates)]
			if !yield(fmt.Sprintf("one byte in %d changed, round %d", rate, i), flipBytes(d.random(name, "flip", i), data, rate)) {
				return
			}
		}
		for i := range d.Numbers {
			if !yield(fmt.Sprintf("numbers changed, round %d", i), replaceNumbers(d.random(name, "number", i), data)) {
				return
			}
		}
		for i := range d.Inside {
			if changed := damagePacked(d.random(name, "inside", i), data); changed != nil &&
				!yield(fmt.Sprintf("changed inside, round %d", i), changed) {
				return
			}
		}
	}
}

// random returns the random source for one copy. It doesn't depend on which other copies are made.
func (d Damage) random(name, kind string, round int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%d", name, kind, round)
	return rand.New(rand.NewPCG(d.Seed, h.Sum64()))
}

// flipBytes returns a copy in which one in `rate` bytes, but at least one byte overall, is changed at random.
func flipBytes(r *rand.Rand, data []byte, rate int) []byte {
	out := append([]byte(nil), data...)
	if len(out) == 0 {
		return out
	}
	for range max(1, len(out)/rate) {
		out[r.IntN(len(out))] = byte(r.IntN(256))
	}
	return out
}

// oddNumbers replace numbers in a file, such as lengths, counts, references and positions.
var oddNumbers = []string{"0", "1", "-1", "65536", "2147483647", "4294967296", "9223372036854775807", "99999999999999999999", "1e308", "0.000001"}

// replaceNumbers returns a copy of the data with up to eight numbers replaced. Its length may differ.
func replaceNumbers(r *rand.Rand, data []byte) []byte {
	numbers := findNumbers(data)
	if len(numbers) == 0 {
		return flipBytes(r, data, 1000)
	}
	replaced := map[int]string{}
	for range 1 + r.IntN(8) {
		replaced[r.IntN(len(numbers))] = oddNumbers[r.IntN(len(oddNumbers))]
	}
	out := make([]byte, 0, len(data)+len(replaced)*20)
	at := 0
	for i, n := range numbers {
		if text, ok := replaced[i]; ok {
			out = append(append(out, data[at:n.start]...), text...)
			at = n.end
		}
	}
	return append(out, data[at:]...)
}

type span struct{ start, end int }

// findNumbers returns the positions of up to a million numbers with at most ten digits.
func findNumbers(data []byte) []span {
	const limit = 1_000_000
	var found []span
	for i := 0; i < len(data) && len(found) < limit; i++ {
		start := i
		for i < len(data) && data[i] >= '0' && data[i] <= '9' {
			i++
		}
		if i > start && i-start <= 10 {
			found = append(found, span{start, i})
		}
	}
	return found
}
