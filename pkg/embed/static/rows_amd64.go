package static

import "golang.org/x/sys/cpu"

// addRows is the fastest equivalent of addRowsPortable that the processor supports.
var addRows = selectAddRows()

func selectAddRows() func(sums *[Dimensions]int32, r *rows) {
	if cpu.X86.HasAVX2 {
		return addRowsAVX2
	}
	return addRowsPortable
}

//go:noescape
func addRowsAVX2(sums *[Dimensions]int32, r *rows)
