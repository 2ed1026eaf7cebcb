package eval

import (
	"math/rand/v2"
	"slices"
)

// Interval is a mean with the bounds of its 95% confidence interval.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Number of bootstrap samples. With this number, the bounds are accurate to about 2% of the interval's width.
const resamples = 2000

// Bootstrap returns the mean of the values with its 95% confidence interval, from the 2.5th to the 97.5th percentile of
// the means of samples drawn with replacement. It is deterministic. With no values, it returns a zero Interval.
func Bootstrap(values []float64) Interval {
	return BootstrapMeans([][]float64{values})
}

// Difference is the mean difference between two rankings over the same questions.
type Difference struct {
	Interval
	Better int `json:"better"` // number of questions that b answers better
	Worse  int `json:"worse"`
}

// Compare returns the mean of b minus a with its confidence interval. a and b hold values for the same questions in the
// same order. Pairing them removes the variance from questions that are hard for both rankings.
func Compare(a, b []float64) Difference {
	n := min(len(a), len(b))
	differences := make([]float64, n)
	var d Difference
	for i := range n {
		differences[i] = b[i] - a[i]
		switch {
		case differences[i] > 0:
			d.Better++
		case differences[i] < 0:
			d.Worse++
		}
	}
	d.Interval = Bootstrap(differences)
	return d
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// BootstrapMeans computes each group's mean and returns the mean of these means with its confidence interval. A group
// holds, for example, the values for the questions from one collection. All groups have the same weight, whatever their
// size. Samples are drawn as in Bootstrap, but separately from each group. Empty groups are ignored.
func BootstrapMeans(groups [][]float64) Interval {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g []float64) bool { return len(g) == 0 })
	if len(groups) == 0 {
		return Interval{}
	}
	r := rand.New(rand.NewPCG(20, 26))
	means := make([]float64, resamples)
	for i := range means {
		for _, g := range groups {
			means[i] += resampleMean(r, g) / float64(len(groups))
		}
	}
	centre := 0.0
	for _, g := range groups {
		centre += mean(g) / float64(len(groups))
	}
	return confidenceInterval(means, centre)
}

// resampleMean draws len(values) values with replacement and returns their mean.
func resampleMean(r *rand.Rand, values []float64) float64 {
	sum := 0.0
	for range values {
		sum += values[r.IntN(len(values))]
	}
	return sum / float64(len(values))
}

// confidenceInterval returns an Interval with the mean `centre` whose bounds enclose 95% of the means. It sorts `means`
// in place.
func confidenceInterval(means []float64, centre float64) Interval {
	slices.Sort(means)
	return Interval{Mean: centre, Low: means[len(means)*25/1000], High: means[len(means)*975/1000-1]}
}
