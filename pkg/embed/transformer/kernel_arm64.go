package transformer

var neon = &kernel{name: "neon", rows: 8, cols: 8, tile: tileWide(8, 8, tile8x8), exp: expPortable, gelu: geluPortable,
	largest: maxOf, norm: normPortable}

// kernels returns the kernels that this processor supports, starting with the fastest. Every arm64 processor has NEON.
func kernels() []*kernel { return []*kernel{neon, portable} }

// tile8x8 implements kernel.tile for its size, without bounds checks. lda and ldc count elements; k is at least 1.
//
//go:noescape
func tile8x8(a *float32, lda int, b, bias, c *float32, ldc, k int)
