package eval

import (
	"math/rand/v2"
	"slices"
)

// Interval is a mean and where it lies with a confidence of 95%.
type Interval struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// resamples is how often a sample is drawn anew. The bounds of the interval are known to about a fiftieth of its width.
const resamples = 2000

// Bootstrap gives the mean of the values and its interval: that between the 2.5th and the 97.5th percentile of the means
// of samples drawn from the values with replacement. The same values give the same interval. No values give zeros.
func Bootstrap(values []float64) Interval {
	return BootstrapMeans([][]float64{values})
}

// Difference is how much one ranking is better than another, question by question.
type Difference struct {
	Interval
	Better int `json:"better"` // questions
	Worse  int `json:"worse"`
}

// Compare gives the mean of b minus a with its interval. The two have the same questions in the same order: pairing them
// takes out what makes questions hard for both.
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

// BootstrapMeans is Bootstrap for the mean of the means of several groups, each counting the same: collections of
// questions, say. Samples are drawn within each group. Groups without values are left out.
func BootstrapMeans(groups [][]float64) Interval {
	groups = slices.DeleteFunc(slices.Clone(groups), func(g []float64) bool { return len(g) == 0 })
	if len(groups) == 0 {
		return Interval{}
	}
	r := rand.New(rand.NewPCG(20, 26))
	means := make([]float64, resamples)
	for i := range means {
		for _, g := range groups {
			means[i] += resampled(r, g) / float64(len(groups))
		}
	}
	centre := 0.0
	for _, g := range groups {
		centre += mean(g) / float64(len(groups))
	}
	return within(means, centre)
}

// resampled is the mean of a sample of the values, as many as there are, drawn with replacement.
func resampled(r *rand.Rand, values []float64) float64 {
	sum := 0.0
	for range values {
		sum += values[r.IntN(len(values))]
	}
	return sum / float64(len(values))
}

// within is the interval that holds 95% of the means.
func within(means []float64, centre float64) Interval {
	slices.Sort(means)
	return Interval{Mean: centre, Low: means[len(means)*25/1000], High: means[len(means)*975/1000-1]}
}
