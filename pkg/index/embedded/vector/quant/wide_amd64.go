package quant

import (
	"math"

	"golang.org/x/sys/cpu"
)

var (
	// wide reports whether AVX2 is in use, and wider whether AVX-512 is. Both are false if the operating system doesn't
	// save the vector registers.
	wide  = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	wider = wide && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW
)

// kernelArgs contains the kernels' arguments.
type kernelArgs struct {
	total     int32 // subtracted from twice a sum
	base      float32
	step      float32
	length    float32
	round     float32
	times     float32
	threshold float32
}

// above implements Above with vector instructions. It returns false if the processor lacks them.
func (q *Query) above(e *Estimates, codes []byte, times, threshold float32) (uint64, bool) {
	if !wide {
		return 0, false
	}
	return q.aboveWide(e, codes, times, threshold, wider), true
}

func (q *Query) aboveWide(e *Estimates, codes []byte, times, threshold float32, wider bool) uint64 {
	columns := q.words * 8
	codes, rest := codes[:columns*Rows:columns*Rows], codes[columns*Rows:]
	_ = rest[Rows*numbers-1]
	e.sums = [Rows]int32{}
	for from := 0; from < columns; from += maxColumns {
		n := min(maxColumns, columns-from)
		at, halves := codes[from*Rows:], q.halves[from*halfTables:]
		if wider {
			columns512(&e.sums[0], &at[0], &halves[0], n)
		} else {
			columns256(&e.sums[0], &at[0], &halves[0], n)
		}
	}
	s := kernelArgs{total: q.total - 2*q.minSum, base: q.base, step: q.step, length: q.length, round: rounding, times: times, threshold: threshold}
	if wider {
		return above512(e, &rest[0], &s)
	}
	return above256(e, &rest[0], &s)
}

const (
	// Total size of a column's two lookup tables, in bytes.
	halfTables = 2 * 16
	// Maximum number of columns whose sum, minus the smallest possible sum, fits into 16 bits. It is a multiple of 8.
	maxColumns = math.MaxUint16 / (8 * maxWeight) / 8 * 8
)

// prepareHalves computes the lookup tables if the processor supports the vector instructions that use them.
func (q *Query) prepareHalves() {
	if !wide {
		return
	}
	q.halves, q.minSum = make([]byte, len(q.weight)/8*halfTables), 0
	for i := range len(q.weight) / 4 {
		q.minSum += fillHalf((*[16]byte)(q.halves[16*i:]), q.weight[4*i:4*i+4])
	}
}

// fillHalf stores, for each nibble, the sum of the weights at its set bits minus the smallest such sum. It returns that
// smallest sum.
func fillHalf(table *[16]byte, weight []int8) (minimum int32) {
	for _, w := range weight {
		minimum += min(int32(w), 0)
	}
	table[0] = byte(-minimum)
	for bit, w := range weight {
		for v := range 1 << bit {
			table[v|1<<bit] = table[v] + byte(w)
		}
	}
	return minimum
}

// columns512 and columns256 look up each column of each code in `halves`, the tables from prepareHalves, and add the
// value to the code's element of `sums`. The codes are a group (see Rows). The number of columns must be a multiple of
// 4 and at most maxColumns. There are no bounds checks.
//
//go:noescape
func columns512(sums *int32, codes, halves *byte, columns int)

//go:noescape
func columns256(sums *int32, codes, halves *byte, columns int)

// above512 and above256 compute the estimates for a group of codes (see Rows) from e.sums and `numbers`: the codes'
// scales, offsets and errors. The result has one bit per code, which is set if the code reaches the threshold. There
// are no bounds checks.
//
//go:noescape
func above512(e *Estimates, numbers *byte, s *kernelArgs) uint64

//go:noescape
func above256(e *Estimates, numbers *byte, s *kernelArgs) uint64

// prefetchWide prefetches n bytes into the processor's cache. n must be positive.
//
//go:noescape
func prefetchWide(p *byte, n int)

// dotWide returns the inner product of two vectors of n numbers. n must be a positive multiple of dotWidth.
//
//go:noescape
func dotWide(a, b *float32, n int) float32

// dotBytesWide returns the inner product of n weights and n bytes. n must be a positive multiple of bytesWidth.
//
//go:noescape
func dotBytesWide(weight *int16, code *byte, n int) int32
