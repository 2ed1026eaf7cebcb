package retrieve

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// alone counts the shingles that are in only one of the two texts.
func alone(a, b *textFingerprint) int {
	both := 0
	for _, w := range a.distinct() {
		if _, has := slices.BinarySearch(b.distinct(), w); has {
			both++
		}
	}
	return len(a.windows) + len(b.windows) - 2*both
}

func TestDuplicatesAgreeWithAFullComparison(t *testing.T) {
	t.Parallel()
	told := map[bool]int{}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 1))
		vocabulary := words(seed, 1+r.IntN(400))
		text := make([]string, 1+r.IntN(500))
		for i := range text {
			text[i] = vocabulary[r.IntN(len(vocabulary))]
		}
		other := slices.Clone(text)
		for range r.IntN(2 + len(text)/16) {
			other[r.IntN(len(other))] = "changed"
		}
		a, b := new(duplicateFinder).fingerprint(strings.Join(text, " ")), new(duplicateFinder).fingerprint(strings.Join(other, " "))
		if a.whole == b.whole || len(a.windows) == 0 || len(b.windows) == 0 {
			continue
		}
		got := a.isDuplicate(b)
		if n := alone(a, b); got != (n <= maxUnshared(len(a.windows)+len(b.windows))) {
			t.Fatalf("seed %d: like is %v of texts with %d of %d and %d windows in one alone", seed, got, n, len(a.windows), len(b.windows))
		}
		told[got]++
	}
	if told[true] < 100 || told[false] < 100 {
		t.Errorf("the texts do not tell much: %v", told)
	}
}
