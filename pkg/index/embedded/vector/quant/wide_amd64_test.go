package quant

// processors maps instruction sets to the vector kernels for estimates, if this processor supports them.
func processors(q *Query) map[string]func(e *Estimates, codes []byte, times, threshold float32) uint64 {
	out := map[string]func(e *Estimates, codes []byte, times, threshold float32) uint64{}
	if wide {
		out["avx2"] = func(e *Estimates, codes []byte, times, threshold float32) uint64 {
			return q.aboveWide(e, codes, times, threshold, false)
		}
	}
	if wider {
		out["avx512"] = func(e *Estimates, codes []byte, times, threshold float32) uint64 {
			return q.aboveWide(e, codes, times, threshold, true)
		}
	}
	return out
}
