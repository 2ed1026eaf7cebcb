//go:build !amd64

package quant

// processors are the ways that this processor has to make estimates by vector instructions.
func processors(*Query) map[string]func(e *Estimates, codes []byte, times, threshold float32) uint64 {
	return map[string]func(e *Estimates, codes []byte, times, threshold float32) uint64{}
}
