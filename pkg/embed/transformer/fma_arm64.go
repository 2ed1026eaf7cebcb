package transformer

// fma32 returns x*y+z, rounded once. The compiler uses an instruction for it on this architecture.
func fma32(x, y, z float32) float32 { return x*y + z }
