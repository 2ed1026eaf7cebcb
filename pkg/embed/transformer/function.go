package transformer

import "math"

const (
	log2e  = 1.44269504088896341
	ln2Hi  = 0.693145751953125 // leading bits of ln 2, so that its product with a small integer is exact
	ln2Lo  = 1.42860682030941723e-6
	minExp = -85 // e^-85 is about 1e-37; smaller results would be subnormal
)

// exponential returns e^x for x in [minExp, 0], with a relative error below 2e-7, and 0 for smaller x. It computes
// 2^n·e^r with |r| ≤ ln 2 / 2.
func exponential(x float32) float32 {
	if x < minExp {
		return 0
	}
	const magic = 3 << 22 // adding and subtracting it rounds to the nearest integer
	n := float32(x*log2e) + magic - magic
	r := x - n*ln2Hi - n*ln2Lo
	p := float32(1.0 / 720)
	p = p*r + 1.0/120
	p = p*r + 1.0/24
	p = p*r + 1.0/6
	p = p*r + 0.5
	p = p*r + 1
	p = p*r + 1
	return p * math.Float32frombits(uint32(int32(n)+127)<<23)
}

func expPortable(x []float32, shift float32) (sum float32) {
	for i, v := range x {
		x[i] = exponential(v - shift)
	}
	return sumOf(x)
}

// geluPortable implements kernel.gelu in plain Go. It approximates the error function with formula 7.1.26 of Abramowitz
// and Stegun, with an error below 1.5e-7.
func geluPortable(x []float32) {
	for i, v := range x {
		z := float32(math.Abs(float64(v))) * (math.Sqrt2 / 2)
		t := 1 / (1 + 0.3275911*z)
		p := float32(1.061405429)
		p = p*t - 1.453152027
		p = p*t + 1.421413741
		p = p*t - 0.284496736
		p = p*t + 0.254829592
		tail := 0.5 * p * t * exponential(-z*z) // 1 - Φ(|v|)
		if v >= 0 {
			tail = 1 - tail
		}
		x[i] = v * tail
	}
}

// geluTanh is the tanh approximation of GELU. Some models were trained with it.
func geluTanh(x []float32) {
	for i, v := range x {
		u := float64(v)
		x[i] = float32(0.5 * u * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(u+0.044715*u*u*u))))
	}
}

func relu(x []float32) {
	for i, v := range x {
		x[i] = max(v, 0)
	}
}

// softmax replaces the scores by softmax weights that are not normalised yet, and returns the sum of the weights.
func (k *kernel) softmax(scores []float32) (sum float32) {
	return k.exp(scores, k.largest(scores))
}

// The loops below keep several partial results, so that an operation need not wait for the result of the previous one.

// maxOf returns the largest of the numbers. There must be at least one.
func maxOf(x []float32) float32 {
	top := [4]float32{x[0], x[0], x[0], x[0]}
	for ; len(x) >= 4; x = x[4:] {
		v := (*[4]float32)(x)
		for i := range v {
			if v[i] > top[i] {
				top[i] = v[i]
			}
		}
	}
	for _, v := range x {
		top[0] = max(top[0], v)
	}
	return max(top[0], top[1], top[2], top[3])
}

// sumOf returns the sum of the numbers.
func sumOf(x []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	for ; len(x) >= 8; x = x[8:] {
		v := (*[8]float32)(x)
		s0, s1, s2, s3 = s0+v[0], s1+v[1], s2+v[2], s3+v[3]
		s4, s5, s6, s7 = s4+v[4], s5+v[5], s6+v[6], s7+v[7]
	}
	for _, v := range x {
		s0 += v
	}
	return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))
}

// squaredDeviations returns the sum of the squared deviations from the mean.
func squaredDeviations(x []float32, mean float32) float32 {
	var s0, s1, s2, s3 float32
	for ; len(x) >= 4; x = x[4:] {
		v := (*[4]float32)(x)
		d0, d1, d2, d3 := v[0]-mean, v[1]-mean, v[2]-mean, v[3]-mean
		s0, s1, s2, s3 = s0+d0*d0, s1+d1*d1, s2+d2*d2, s3+d3*d3
	}
	for _, v := range x {
		s0 += (v - mean) * (v - mean)
	}
	return (s0 + s1) + (s2 + s3)
}

// layerNorm holds the parameters of a layer normalisation.
type layerNorm struct {
	weight, bias []float32
	epsilon      float64
}

// apply adds residual to x, normalises each row to mean 0 and variance 1, and applies the weights and biases.
func (n *layerNorm) apply(kn *kernel, x, residual []float32) {
	width := len(n.weight)
	for ; len(x) >= width; x, residual = x[width:], residual[width:] {
		kn.norm(n, x[:width], residual[:width])
	}
}

// normPortable implements apply for a single row.
func normPortable(n *layerNorm, row, residual []float32) {
	for i, v := range residual[:len(row)] {
		row[i] += v
	}
	n.row(row)
}

func (n *layerNorm) row(row []float32) {
	mean := sumOf(row) / float32(len(row))
	variance := squaredDeviations(row, mean)
	scale := float32(1 / math.Sqrt(float64(variance)/float64(len(row))+n.epsilon))
	weight, bias := n.weight[:len(row)], n.bias[:len(row)]
	for i, v := range row {
		row[i] = (v-mean)*scale*weight[i] + bias[i]
	}
}
