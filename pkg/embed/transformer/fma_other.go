//go:build !arm64

package transformer

// fma32 returns x*y+z, rounded once.
func fma32(x, y, z float32) float32 { return fmaEmulated(x, y, z) }
