//go:build !amd64

package quant

// processors returns no kernels, because there are none with vector instructions for this architecture.
func processors(*Query) map[string]func(e *Estimates, codes []byte, times, threshold float32) uint64 {
	return map[string]func(e *Estimates, codes []byte, times, threshold float32) uint64{}
}
