// Package extracttest creates damaged documents, so that tests can show how readers handle them.
//
// All damage follows from a document's name and a seed: the same call makes the same bytes on every machine.
package extracttest

import (
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
)

// Damage says how much of each kind of damage Cases makes. A zero field means none.
type Damage struct {
	Seed uint64
	// Truncations is into how many steps the length is cut: with 10, the file ends at 10 %, 20 % … 90 %.
	Truncations int
	// Flips is how many copies have random bytes changed; the rate goes round one in 10,000, 1,000 and 100.
	Flips int
	// Numbers is how many copies have decimal numbers replaced by ones that no file should hold.
	Numbers int
	// Inside is how many copies are changed inside what the file packs and packed again: parts of a zip file, Flate
	// streams of a PDF. Other files have none.
	Inside int
}

// flipRates are how many bytes there are to one that is changed.
var flipRates = []int{10_000, 1000, 100}

// Cases yields the document itself under the name "whole", and then its damaged copies, one in memory at a time.
// The bytes are the caller's to read until the next step.
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
			if !yield(fmt.Sprintf("one byte in %d changed, round %d", rate, i), flip(d.random(name, "flip", i), data, rate)) {
				return
			}
		}
		for i := range d.Numbers {
			if !yield(fmt.Sprintf("numbers changed, round %d", i), odd(d.random(name, "number", i), data)) {
				return
			}
		}
		for i := range d.Inside {
			if changed := inside(d.random(name, "inside", i), data); changed != nil &&
				!yield(fmt.Sprintf("changed inside, round %d", i), changed) {
				return
			}
		}
	}
}

// random is the source for one copy: it depends on nothing else that is made.
func (d Damage) random(name, kind string, round int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%d", name, kind, round)
	return rand.New(rand.NewPCG(d.Seed, h.Sum64()))
}

// flip changes one byte of rate, at least one, in a copy.
func flip(r *rand.Rand, data []byte, rate int) []byte {
	out := append([]byte(nil), data...)
	if len(out) == 0 {
		return out
	}
	for range max(1, len(out)/rate) {
		out[r.IntN(len(out))] = byte(r.IntN(256))
	}
	return out
}

// oddNumbers are what lengths, counts, references and positions are replaced by.
var oddNumbers = []string{"0", "1", "-1", "65536", "2147483647", "4294967296", "9223372036854775807", "99999999999999999999", "1e308", "0.000001"}

// odd replaces up to eight numbers of the text in a copy, which may have another length.
func odd(r *rand.Rand, data []byte) []byte {
	numbers := findNumbers(data)
	if len(numbers) == 0 {
		return flip(r, data, 1000)
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

// findNumbers finds runs of at most ten digits, the first million of them.
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
