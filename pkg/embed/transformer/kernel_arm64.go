package transformer

var neon = &kernel{name: "neon", rows: 8, cols: 8, tile: tileWide(8, 8, tile8x8), exp: expPortable, gelu: geluPortable,
	largest: largest, norm: normPortable}

// kernels are those that this processor can run, the fastest first. Every one of this kind has NEON.
func kernels() []*kernel { return []*kernel{neon, portable} }

// tile8x8 is kernel.tile for its size. It checks nothing: lda and ldc are in elements, k is at least 1.
//
//go:noescape
func tile8x8(a *float32, lda int, b, bias, c *float32, ldc, k int)
