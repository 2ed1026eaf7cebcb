package quant

import (
	"math"

	"golang.org/x/sys/cpu"
)

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

// survey is what codes are compared with.
type survey struct {
	weight *int8
	words  int
	stride int
	total  int32 // what is taken from twice a sum
	base   float32
	step   float32
	length float32
	round  float32
	times  float32
	floor  float32
	halves *byte // of above256, see halfTables, and where its last block begins
	last   int
}

// above is Above by vector instructions; it reports whether there are such for the query.
func (q *Question) above(e *Estimates, codes []byte, stride int, times, floor float32) (uint64, bool) {
	_ = codes[(Rows-1)*stride+q.words*8+numbers-1]
	s := survey{
		weight: &q.weight[0], words: q.words, stride: stride, total: q.total, base: q.base, step: q.step, length: q.length, round: rounding,
		times: times, floor: floor,
	}
	switch {
	case wider:
		return above512(e, &codes[0], &s), true
	case len(q.halves) > 0:
		s.total, s.halves, s.last = q.total-2*q.least, &q.halves[0], q.words*8-blockBytes
		return above256(e, &codes[0], &s), true
	}
	return 0, false
}

const (
	// blockBytes is of how many bytes of a code above256 takes the columns together.
	blockBytes = 32
	// mostHalves is up to how many words its sums hold in 16 bits, as numbers above the least that they can be.
	mostHalves = math.MaxUint16 / (64 * maxWeight)
)

// prepareHalves makes what above256 looks up, where that is used.
func (q *Question) prepareHalves() {
	if wide && !wider {
		q.halves, q.least = halfTables(q.weight)
	}
}

// halfTables holds, for each half byte of the codes, what each of its values adds to the least that it can add, in the order in
// which above256 takes them: of each block of columns, one after another, the lower half's table of a column and of the sixteenth
// after it, and both upper halves'. The last block ends with the last column, and adds nothing for what the one before has had.
// least is what all can add at least. There are none for codes that are too short or too long for it.
func halfTables(weight []int8) (halves []byte, least int32) {
	columns := len(weight) / 8
	if columns < blockBytes || columns > 8*mostHalves {
		return nil, 0
	}
	blocks := (columns + blockBytes - 1) / blockBytes
	halves = make([]byte, 0, blocks*blockBytes*2*16)
	done := 0 // columns that blocks before have had
	for b := range blocks {
		from := min(b*blockBytes, columns-blockBytes)
		for k := range blockBytes / 2 {
			for half := range 2 {
				for _, column := range [...]int{from + k, from + k + blockBytes/2} {
					var table [16]byte
					if column >= done {
						at := 8*column + 4*half
						least += fillHalf(&table, weight[at:at+4])
					}
					halves = append(halves, table[:]...)
				}
			}
		}
		done = from + blockBytes
	}
	return halves, least
}

// fillHalf sets what each value of four bits adds to the least that they can add, and returns that.
func fillHalf(table *[16]byte, weight []int8) (least int32) {
	for _, w := range weight {
		least += min(int32(w), 0)
	}
	table[0] = byte(-least)
	for bit, w := range weight {
		for v := range 1 << bit {
			table[v|1<<bit] = table[v] + byte(w)
		}
	}
	return least
}

// above512 and above256 make the estimates of Rows codes and tell which are above the floor. They check nothing.
//
//go:noescape
func above512(e *Estimates, codes *byte, s *survey) uint64

//go:noescape
func above256(e *Estimates, codes *byte, s *survey) uint64

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
