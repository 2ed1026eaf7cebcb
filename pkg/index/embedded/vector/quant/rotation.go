package quant

import (
	"math"
	"math/bits"
	"sync"
)

// Number of passes in a rotation.
const rotationPasses = 4

// rotation is a random rotation for vectors of one length. Each pass flips random signs and multiplies sections of the
// vector by Hadamard matrices. The section sizes are the powers of two that add up to the vector's length. The largest
// section is at the front in even passes and at the back in odd ones, which mixes each component with all others.
type rotation struct {
	signs []float32 // 1 or -1, per pass and dimension
}

// rotations caches rotations by number of dimensions. A process uses only a few, so nothing is ever evicted.
var rotations sync.Map

// rotationOf returns the cached rotation, which must not be modified.
func rotationOf(dimensions int) *rotation {
	if r, ok := rotations.Load(dimensions); ok {
		return r.(*rotation)
	}
	r, _ := rotations.LoadOrStore(dimensions, newRotation(dimensions))
	return r.(*rotation)
}

// newRotation returns the rotation for a number of dimensions. It must never change: stored codes depend on it.
func newRotation(dimensions int) *rotation {
	r := &rotation{signs: make([]float32, rotationPasses*dimensions)}
	state := uint64(dimensions)
	for i := range r.signs {
		// SplitMix64
		state += 0x9e3779b97f4a7c15
		z := (state ^ state>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		r.signs[i] = 1 - 2*float32(z>>63)
	}
	return r
}

// apply rotates a vector in place.
func (r *rotation) apply(v []float32) {
	for rotation := range rotationPasses {
		for i, s := range r.signs[rotation*len(v) : (rotation+1)*len(v)] {
			v[i] *= s
		}
		for rest := v; len(rest) > 0; {
			width := 1 << (bits.Len(uint(len(rest))) - 1)
			if rotation%2 == 0 {
				hadamard(rest[:width])
				rest = rest[width:]
			} else {
				hadamard(rest[len(rest)-width:])
				rest = rest[:len(rest)-width]
			}
		}
	}
}

// hadamard multiplies a vector by the normalised Hadamard matrix. The vector's length must be a power of two.
func hadamard(v []float32) {
	unit := float32(1 / math.Sqrt(float64(len(v))))
	for i := range v {
		v[i] *= unit
	}
	h := 1
	if len(v)&3 == 0 { // combines the first two steps
		for w := v; len(w) >= 4; w = w[4:] {
			a, b, c, d := w[0]+w[1], w[0]-w[1], w[2]+w[3], w[2]-w[3]
			w[0], w[1], w[2], w[3] = a+c, b+d, a-c, b-d
		}
		h = 4
	}
	for ; h < len(v); h *= 2 {
		for w := v; len(w) >= 2*h; w = w[2*h:] {
			a, b := w[:h], w[h:2*h]
			for len(a) >= 4 && len(b) >= 4 {
				x, y := (*[4]float32)(a), (*[4]float32)(b)
				x[0], y[0] = x[0]+y[0], x[0]-y[0]
				x[1], y[1] = x[1]+y[1], x[1]-y[1]
				x[2], y[2] = x[2]+y[2], x[2]-y[2]
				x[3], y[3] = x[3]+y[3], x[3]-y[3]
				a, b = a[4:], b[4:]
			}
			for j, x := range a { // up to three remaining elements
				a[j], b[j] = x+b[j], x-b[j]
			}
		}
	}
}
