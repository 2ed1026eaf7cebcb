package transformer

import "math"

// geluTanh is the tanh approximation of GELU, which some models were trained with.
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

// softmax replaces the scores with unnormalised softmax weights and returns their sum.
func (k *kernel) softmax(scores []float32) (sum float32) {
	return k.exp(scores, k.largest(scores))
}

// The loops below keep several partial results, so that operations don't have to wait for one another. They convert
// products to float32 before adding them. Otherwise, the compiler could fuse the two operations, which would change the
// result on some processors.

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
		s0, s1, s2, s3 = s0+float32(d0*d0), s1+float32(d1*d1), s2+float32(d2*d2), s3+float32(d3*d3)
	}
	for _, v := range x {
		s0 += float32((v - mean) * (v - mean))
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

// row normalises a row whose length is not a multiple of 16, for all kernels.
func (n *layerNorm) row(row []float32) {
	mean := sumOf(row) / float32(len(row))
	variance := squaredDeviations(row, mean)
	scale := float32(1 / math.Sqrt(float64(variance)/float64(len(row))+n.epsilon))
	weight, bias := n.weight[:len(row)], n.bias[:len(row)]
	for i, v := range row {
		row[i] = float32((v-mean)*scale*weight[i]) + bias[i]
	}
}
