package quant

import "golang.org/x/sys/cpu"

var (
	// wide says whether vector instructions are used, wider whether those of AVX-512 are. The system must save the wide
	// registers too, which the detection asks.
	wide  = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	wider = wide && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW
)

// sum adds up the weights whose bits are set, for each of n codes.
func (q *Question) sum(sums *[Rows]int32, codes []byte, stride, n int) {
	_ = codes[(n-1)*stride+q.words*8-1]
	switch {
	case wider:
		sum512(&codes[0], stride, n, &q.weight[0], q.words, &sums[0])
	case wide:
		sum256(&codes[0], stride, n, &q.weight[0], q.words, &sums[0])
	default:
		q.sumPortable(sums, codes, stride, n)
	}
}

// survey is what above512 compares codes with.
type survey struct {
	weight *int8
	words  int
	stride int
	total  int32
	base   float32
	step   float32
	length float32
	round  float32
	times  float32
	floor  float32
}

// above is Above by the instructions of AVX-512; it reports whether there are such.
func (q *Question) above(e *Estimates, codes []byte, stride int, times, floor float32) (uint64, bool) {
	if !wider {
		return 0, false
	}
	_ = codes[(Rows-1)*stride+q.words*8+numbers-1]
	s := survey{&q.weight[0], q.words, stride, q.total, q.base, q.step, q.length, rounding, times, floor}
	return above512(e, &codes[0], &s), true
}

// above512 makes the estimates of Rows codes and tells which are above the floor. It checks nothing.
//
//go:noescape
func above512(e *Estimates, codes *byte, s *survey) uint64

// prefetchWide has n bytes, more than 0, brought near the processor.
//
//go:noescape
func prefetchWide(p *byte, n int)

// dotWide is the inner product of n numbers, a multiple of dotWidth and not 0.
//
//go:noescape
func dotWide(a, b *float32, n int) float32

// sum512 and sum256 add up weights as sum does. They check nothing; rows and words are not 0.
//
//go:noescape
func sum512(codes *byte, stride, rows int, weight *int8, words int, sums *int32)

//go:noescape
func sum256(codes *byte, stride, rows int, weight *int8, words int, sums *int32)

// dotBytesWide is the product of n weights and bytes, a multiple of bytesWidth and not 0.
//
//go:noescape
func dotBytesWide(weight *int16, code *byte, n int) int32
