//go:build !amd64

package quant

// sums are the ways that this processor has to add up weights, beside the portable one.
func sums(*Question) map[string]func(sums *[Rows]int32, codes []byte, stride, n int) {
	return map[string]func(sums *[Rows]int32, codes []byte, stride, n int){}
}
