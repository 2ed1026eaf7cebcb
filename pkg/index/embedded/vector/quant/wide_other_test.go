//go:build !amd64

package quant

// processors are the ways that this processor has to make estimates by vector instructions.
func processors(*Question) map[string]func(e *Estimates, codes []byte, times, floor float32) uint64 {
	return map[string]func(e *Estimates, codes []byte, times, floor float32) uint64{}
}
