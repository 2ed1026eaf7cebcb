package quant

import (
	"math"

	"golang.org/x/sys/cpu"
)

var (
	// wide reports whether AVX2 is used, wider whether AVX-512 is used. The detection includes whether the operating
	// system saves the registers.
	wide  = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	wider = wide && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW
)

// kernelArgs contains the arguments of the kernels.
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
	// Number of bytes of the two tables of a column.
	halfTables = 2 * 16
	// Number of columns whose sums, minus their minimum, fit into 16 bits; a multiple of 8.
	maxColumns = math.MaxUint16 / (8 * maxWeight) / 8 * 8
)

// prepareHalves computes the lookup tables, if the processor uses them.
func (q *Query) prepareHalves() {
	if !wide {
		return
	}
	q.halves, q.minSum = make([]byte, len(q.weight)/8*halfTables), 0
	for i := range len(q.weight) / 4 {
		q.minSum += fillHalf((*[16]byte)(q.halves[16*i:]), q.weight[4*i:4*i+4])
	}
}

// fillHalf stores the sum of weights for each nibble, minus the smallest sum, which it returns.
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

// columns512 and columns256 add the weights selected by columns of Rows codes to the sums, minus their minimum, with
// the tables of prepareHalves. The number of columns must be a multiple of 4, at most maxColumns. There are no bounds
// checks.
//
//go:noescape
func columns512(sums *int32, codes, halves *byte, columns int)

//go:noescape
func columns256(sums *int32, codes, halves *byte, columns int)

// above512 and above256 compute the estimates of Rows codes from their sums and the numbers after their columns, and
// return which of them reach the threshold. There are no bounds checks.
//
//go:noescape
func above512(e *Estimates, numbers *byte, s *kernelArgs) uint64

//go:noescape
func above256(e *Estimates, numbers *byte, s *kernelArgs) uint64

// prefetchWide prefetches n bytes, n above 0, into the processor's cache.
//
//go:noescape
func prefetchWide(p *byte, n int)

// dotWide returns the inner product of n numbers, n a positive multiple of dotWidth.
//
//go:noescape
func dotWide(a, b *float32, n int) float32

// dotBytesWide returns the inner product of n weights and bytes, n a positive multiple of bytesWidth.
//
//go:noescape
func dotBytesWide(weight *int16, code *byte, n int) int32
