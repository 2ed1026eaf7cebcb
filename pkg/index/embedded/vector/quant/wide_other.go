//go:build !amd64

package quant

// wide reports whether vector instructions are used.
const wide = false

func (q *Query) above(*Estimates, []byte, float32, float32) (uint64, bool) { return 0, false }

func (q *Query) prepareHalves() {}

func prefetchWide(*byte, int) {}

func dotWide(*float32, *float32, int) float32 { panic("quant: there are no vector instructions") }

func dotBytesWide(*int16, *byte, int) int32 { panic("quant: there are no vector instructions") }
