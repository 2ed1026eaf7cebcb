package quant

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
