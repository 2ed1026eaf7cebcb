package quant

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/index/embedded/slotfile"
)

// unit returns a random unit vector. The vectors share a common centre and vary most in the first dimensions.
func unit(r *rand.Rand, dimensions int) []float32 {
	out := make([]float32, dimensions)
	var sum float64
	for i := range out {
		out[i] = float32(0.5 + r.NormFloat64()/float64(1+i/4))
		sum += float64(out[i]) * float64(out[i])
	}
	for i := range out {
		out[i] /= float32(math.Sqrt(sum))
	}
	return out
}

func product(a, b []float32) (sum float64) {
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

var lengths = []int{1, 2, 3, 16, 63, 64, 65, 100, 255, 256, 384, 511, 768, 1000, 1024, 4096, 8192}

func TestDotIsTheInnerProductOfAnyLength(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range append(lengths, 0, 31, 33) {
		a, b := unit(r, n), unit(r, n)
		want := product(a, b)
		if got := float64(Dot(a, b)); math.Abs(got-want) > rounding {
			t.Errorf("of %d numbers: %v, want %v", n, got, want)
		}
		if got := float64(dotPortable(a, b)); math.Abs(got-want) > rounding {
			t.Errorf("of %d numbers, portable: %v, want %v", n, got, want)
		}
	}
}

func TestARotationKeepsProducts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range lengths {
		a, b := unit(r, n), unit(r, n)
		want := product(a, b)
		rotation := newRotation(n)
		rotation.apply(a)
		rotation.apply(b)
		if got := product(a, b); math.Abs(got-want) > 1e-5 {
			t.Errorf("of %d dimensions: %v, want %v", n, got, want)
		}
	}
}

func TestARotationSpreadsEveryDimensionOverAll(t *testing.T) {
	t.Parallel()
	for _, n := range []int{100, 255, 384, 511, 768, 1000, 1024} {
		rotation := newRotation(n)
		for i := range n {
			v := make([]float32, n)
			v[i] = 1
			rotation.apply(v)
			for j, x := range v {
				if math.Abs(float64(x)) > 8/math.Sqrt(float64(n)) {
					t.Fatalf("of %d dimensions, %d gives %d %v", n, i, j, x)
				}
			}
		}
	}
}

// TestTheRotationMatchesStoredCodes fails if the rotation changes, because that would make stored codes useless.
func TestTheRotationMatchesStoredCodes(t *testing.T) {
	t.Parallel()
	v := []float32{1, 2, 3, 4, 5}
	newRotation(5).apply(v)
	want := []float32{-2.5, 5.25, -1.25, -4.25, 1.25}
	for i, x := range v {
		if math.Abs(float64(x-want[i])) > 1e-5 {
			t.Fatalf("turned %v, want %v", v, want)
		}
	}
}

func TestEstimatesAreOffByTheirSpread(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	for _, dimensions := range []int{3, 64, 100, 384, 1000} {
		t.Run(fmt.Sprint(dimensions), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(5, 6))
			centroid := make([]float32, dimensions)
			const sample = 200
			for range sample {
				for i, x := range unit(r, dimensions) {
					centroid[i] += x / sample
				}
			}
			c := NewCoder(centroid)
			const rounds = 60
			var bias, variance, beyond float64
			for range rounds {
				vectors := make([][]float32, Rows)
				for i := range vectors {
					vectors[i] = unit(r, dimensions)
				}
				query := unit(r, dimensions)
				e := estimates(c.Prepare(query), groupOf(c, vectors...))
				for i, v := range vectors {
					off := (float64(e.Product[i]) - product(query, v)) / float64(e.Spread[i])
					bias += off / rounds / Rows
					variance += off * off / rounds / Rows
					if math.Abs(off) > 3.2 {
						beyond += 1. / rounds / Rows
					}
				}
			}
			if math.Abs(bias) > 0.25 || variance > 1.5 || variance < 0.3 || beyond > 0.01 {
				t.Errorf("estimates are off by %.3f of their spread, squared %.3f, and by more than 3.2 times in %.4f", bias, variance, beyond)
			}
		})
	}
}

// groupOf returns the vectors' codes as a transposed group.
func groupOf(c *Coder, vectors ...[]float32) []byte {
	dimensions := len(c.centroid)
	group := make([]byte, Rows*CodeBytes(dimensions))
	for i, v := range vectors {
		code := make([]byte, CodeBytes(dimensions))
		c.Encode(code, make([]byte, Int8CodeBytes(dimensions)), v)
		slotfile.Put(group, Columns(dimensions), i, code)
	}
	return group
}

// estimates returns the estimates that Above computes.
func estimates(q *Query, group []byte) (e Estimates) {
	q.Above(&e, group, 0, 0)
	return e
}

// anyGroup returns a group of codes with the given number of words. The first code has no bits set, the second has all
// set, and the others are random.
func anyGroup(r *rand.Rand, words int) []byte {
	group := make([]byte, Rows*(8*words+numbers))
	for i := range Rows {
		code := make([]byte, 8*words+numbers)
		for j := range code[:8*words] {
			code[j] = [...]byte{0, 0xff, byte(r.Uint32())}[min(i, 2)]
		}
		for j := range 3 {
			binary.LittleEndian.PutUint32(code[8*words+4*j:], math.Float32bits(r.Float32()))
		}
		slotfile.Put(group, 8*words, i, code)
	}
	return group
}

// All kernels must compute exactly the same sums as a loop over the bits, even with maximum weights and lengths.
func TestEstimatesOfAllKernelsAreEqual(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(15, 16))
	for _, words := range []int{1, 2, 3, 4, 5, 6, 7, 12, 16, 24, 32, 33, 34, 48, 64, 66, 67, Words(index.MaxDimensions)} {
		group := anyGroup(r, words)
		for name, weight := range map[string]func() int8{
			"any": func() int8 { return int8(r.IntN(2*maxWeight+1) - maxWeight) }, "greatest": func() int8 { return maxWeight }, "least": func() int8 { return -maxWeight },
		} {
			q := &Query{words: words, weight: make([]int8, 64*words), step: 0.01, base: 0.3, length: 0.7}
			for i := range q.weight {
				q.weight[i] = weight()
				q.total += int32(q.weight[i])
			}
			q.tables = tables(q.weight)
			q.prepareHalves()
			var want Estimates
			q.abovePortable(&want, group, 2, 0)
			for i := range Rows {
				var sum int32
				code := make([]byte, 8*words+numbers)
				slotfile.Take(code, group, 8*words, i)
				for j, w := range q.weight {
					sum += int32(w) * int32(code[j/8]>>(j%8)&1)
				}
				if want.sums[i] != sum {
					t.Fatalf("%d words, %s weights, code %d without vector instructions: %d, want %d", words, name, i, want.sums[i], sum)
				}
			}
			for _, threshold := range []float32{float32(math.Inf(-1)), want.Product[5] + 2*want.Spread[5], float32(math.Inf(1))} {
				for processor, above := range processors(q) {
					var got Estimates
					found := above(&got, group, 2, threshold)
					for i := range Rows {
						if size := 1e-6 * (1 + math.Abs(float64(want.Product[i]))); math.Abs(float64(got.Product[i]-want.Product[i])) > size || math.Abs(float64(got.Spread[i]-want.Spread[i])) > 1e-6 {
							t.Fatalf("%s, %d words, %s weights, code %d: %v ± %v, want %v ± %v", processor, words, name, i, got.Product[i], got.Spread[i], want.Product[i], want.Spread[i])
						}
						limit := got.Product[i] + 2*got.Spread[i]
						if math.Abs(float64(limit-threshold)) > 1e-5 && (limit >= threshold) != (found>>i&1 == 1) {
							t.Errorf("%s, %d words, %s weights, code %d: at most %v, floor %v, above: %v", processor, words, name, i, limit, threshold, found>>i&1 == 1)
						}
					}
				}
			}
		}
	}
}

// A query whose rotated residual has equal components has the maximum weight in every dimension.
func TestSumsOfMaximalWeightsDoNotOverflow(t *testing.T) {
	t.Parallel()
	for _, dimensions := range []int{4096, index.MaxDimensions} {
		c := NewCoder(make([]float32, dimensions))
		query := make([]float32, dimensions)
		for i := range query {
			query[i] = float32(1 / math.Sqrt(float64(dimensions)))
		}
		c.rotation.invert(query)
		if e := estimates(c.Prepare(query), groupOf(c, query)); math.Abs(float64(e.Product[0])-1) > 1e-3 {
			t.Errorf("of %d dimensions, a vector and itself: %v, want 1", dimensions, e.Product[0])
		}
	}
}

// invert undoes apply. The number of dimensions must be a power of two, which makes each step its own inverse.
func (r *rotation) invert(v []float32) {
	for rotation := rotationPasses - 1; rotation >= 0; rotation-- {
		hadamard(v)
		for i, s := range r.signs[rotation*len(v) : (rotation+1)*len(v)] {
			v[i] *= s
		}
	}
}

func TestTheCentroidIsEstimatedExactly(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	centroid := unit(r, 100)
	c := NewCoder(centroid)
	query := unit(r, 100)
	e := estimates(c.Prepare(query), groupOf(c, centroid))
	if got, want := float64(e.Product[0]), product(query, centroid); math.Abs(got-want) > float64(e.Spread[0]) {
		t.Errorf("%v, want %v", got, want)
	}
}

func BenchmarkEstimate(b *testing.B) {
	const dimensions = 384
	r := rand.New(rand.NewPCG(11, 12))
	c := NewCoder(unit(r, dimensions))
	vectors := make([][]float32, Rows)
	for i := range vectors {
		vectors[i] = unit(r, dimensions)
	}
	group := groupOf(c, vectors...)
	q := c.Prepare(unit(r, dimensions))
	q.tables = tables(q.weight)
	all := processors(q)
	all["portable"] = q.abovePortable
	for name, above := range all {
		b.Run(name, func(b *testing.B) {
			var e Estimates
			for b.Loop() {
				above(&e, group, 3, 0.5)
			}
		})
	}
	v := unit(r, dimensions)
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			c.Encode(make([]byte, CodeBytes(dimensions)), make([]byte, Int8CodeBytes(dimensions)), v)
		}
	})
	b.Run("ask", func(b *testing.B) {
		for b.Loop() {
			c.Prepare(v)
		}
	})
	w := unit(r, dimensions)
	b.Run("dot", func(b *testing.B) {
		for b.Loop() {
			Dot(v, w)
		}
	})
}

func TestInt8CodesBoundTheProduct(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it is about input and figures, not about goroutines")
	}
	for _, dimensions := range append(lengths, 16_384) {
		r := rand.New(rand.NewPCG(15, 16))
		for name, centroid := range map[string][]float32{
			"that is a mean":     unit(r, dimensions),
			"that is the origin": make([]float32, dimensions),
		} {
			c := NewCoder(centroid)
			var off float64
			for range 20 {
				v, query := unit(r, dimensions), unit(r, dimensions)
				code := make([]byte, Int8CodeBytes(dimensions))
				c.Encode(make([]byte, CodeBytes(dimensions)), code, v)
				want := product(query, v)
				got, within := c.Prepare(query).Int8(code)
				if math.Abs(float64(got)-want) > float64(within) {
					t.Errorf("of %d dimensions around a centre %s: %v within %v, want %v", dimensions, name, got, within, want)
				}
				off = max(off, float64(within))
			}
			if off > 0.015 {
				t.Errorf("of %d dimensions around a centre %s, bounds are up to %v from the product", dimensions, name, off)
			}
		}
	}
}

func TestTheInt8CodeOfTheCentroidIsExact(t *testing.T) {
	t.Parallel()
	centroid := unit(rand.New(rand.NewPCG(17, 18)), 100)
	c := NewCoder(centroid)
	code := make([]byte, Int8CodeBytes(100))
	c.Encode(make([]byte, CodeBytes(100)), code, centroid)
	if got, within := c.Prepare(centroid).Int8(code); math.Abs(float64(got)-1) > 2*rotationError || within > 2*rotationError {
		t.Errorf("%v within %v, want 1", got, within)
	}
}

func TestByteSumsOfAllKernelsAreEqual(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(19, 20))
	for _, n := range append(lengths, 0, 128, 129) {
		weight, code := make([]int16, n), make([]byte, n)
		for i := range weight {
			weight[i], code[i] = int16(r.IntN(2*maxShort+1)-maxShort), byte(r.IntN(256))
			if n > maxShorts/maxShort { // real weights are smaller with this many dimensions
				weight[i] /= int16(n*maxShort/maxShorts) + 1
			}
		}
		var want int64
		for i, w := range weight {
			want += int64(w) * int64(int8(code[i]))
		}
		if got := dotBytes(weight, code); int64(got) != want {
			t.Errorf("of %d bytes: %d, want %d", n, got, want)
		}
		if got := dotBytesPortable(weight, code); int64(got) != want {
			t.Errorf("of %d bytes, portable: %d, want %d", n, got, want)
		}
	}
}

func TestByteSumsOfMaximalWeightsDoNotOverflow(t *testing.T) {
	t.Parallel()
	for _, n := range lengths {
		weight, code := make([]int16, n), make([]byte, n)
		for i := range weight {
			weight[i], code[i] = int16(min(maxShort, maxShorts/n)), 1<<7 // -128, which never occurs in real codes
		}
		if got, want := dotBytes(weight, code), -128*int64(weight[0])*int64(n); int64(got) != want {
			t.Errorf("of %d bytes: %d, want %d", n, got, want)
		}
	}
}

func BenchmarkInt8(b *testing.B) {
	const dimensions = 384
	r := rand.New(rand.NewPCG(1, 2))
	c := NewCoder(make([]float32, dimensions))
	code := make([]byte, Int8CodeBytes(dimensions))
	c.Encode(make([]byte, CodeBytes(dimensions)), code, unit(r, dimensions))
	q := c.Prepare(unit(r, dimensions))
	for b.Loop() {
		q.Int8(code)
	}
}
