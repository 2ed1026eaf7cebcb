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
