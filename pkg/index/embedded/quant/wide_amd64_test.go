package quant

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Codes of all bits, of none and of any, and weights as great as there are: what half bytes add up to is what the bits do.
func TestHalfBytesTellToTheLastDigitWhatBitsDo(t *testing.T) {
	t.Parallel()
	if !wide {
		t.Skip("this processor has no vector instructions")
	}
	r := rand.New(rand.NewPCG(15, 16))
	for words := 4; words <= mostHalves; words++ {
		stride := 8*words + numbers
		codes := make([]byte, Rows*stride)
		for i := range Rows {
			code := codes[i*stride : (i+1)*stride]
			for j := range code[:8*words] {
				code[j] = [...]byte{0, 0xff, byte(r.Uint32())}[min(i, 2)]
			}
			for j := range 3 {
				x := math.Float32bits(r.Float32())
				code[8*words+4*j], code[8*words+4*j+1], code[8*words+4*j+2], code[8*words+4*j+3] = byte(x), byte(x>>8), byte(x>>16), byte(x>>24)
			}
		}
		for name, weight := range map[string]func() int8{
			"any": func() int8 { return int8(r.IntN(2*maxWeight+1) - maxWeight) }, "greatest": func() int8 { return maxWeight }, "least": func() int8 { return -maxWeight },
		} {
			q := &Question{words: words, weight: make([]int8, 64*words), step: 0.01, base: 0.3, length: 0.7}
			for i := range q.weight {
				q.weight[i] = weight()
				q.total += int32(q.weight[i])
			}
			if q.halves, q.least = halfTables(q.weight); q.halves == nil {
				t.Fatalf("%d words have no tables", words)
			}
			var want, got Estimates
			q.Estimate(&want, codes, stride, Rows)
			floor := want.Product[5] + 2*want.Spread[5]
			s := survey{
				words: words, stride: stride, total: q.total - 2*q.least, base: q.base, step: q.step, length: q.length, round: rounding,
				times: 2, floor: floor, halves: &q.halves[0], last: words*8 - blockBytes,
			}
			found := above256(&got, &codes[0], &s)
			for i := range Rows {
				if got.Product[i] != want.Product[i] || got.Spread[i] != want.Spread[i] {
					t.Fatalf("%d words, %s weights, code %d: %v ± %v, want %v ± %v", words, name, i, got.Product[i], got.Spread[i], want.Product[i], want.Spread[i])
				}
				if above := want.Product[i]+2*want.Spread[i] >= floor; above != (found>>i&1 == 1) {
					t.Errorf("%d words, %s weights, code %d: above is %v, want %v", words, name, i, !above, above)
				}
			}
		}
	}
	for _, words := range []int{1, 3, mostHalves + 1} {
		if halves, _ := halfTables(make([]int8, 64*words)); halves != nil {
			t.Errorf("%d words have tables", words)
		}
	}
}

// sums are the ways that this processor has to add up weights.
func sums(q *Question) map[string]func(sums *[Rows]int32, codes []byte, stride, n int) {
	out := map[string]func(sums *[Rows]int32, codes []byte, stride, n int){}
	if wide {
		out["avx2"] = func(sums *[Rows]int32, codes []byte, stride, n int) {
			sum256(&codes[0], stride, n, &q.weight[0], q.words, &sums[0])
		}
	}
	if wider {
		out["avx512"] = func(sums *[Rows]int32, codes []byte, stride, n int) {
			sum512(&codes[0], stride, n, &q.weight[0], q.words, &sums[0])
		}
	}
	return out
}
