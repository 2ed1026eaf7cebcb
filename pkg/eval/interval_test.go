package eval

import (
	"math"
	"testing"
)

func TestAnIntervalHoldsTheMeanAndNarrowsWithMoreValues(t *testing.T) {
	t.Parallel()
	values := func(n int) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = float64(i % 5) // mean 2, standard deviation √2
		}
		return v
	}
	few, many := Bootstrap(values(25)), Bootstrap(values(2500))
	for _, i := range []Interval{few, many} {
		if i.Mean != 2 || i.Low >= 2 || i.High <= 2 {
			t.Errorf("the interval of a mean of 2 is %+v", i)
		}
	}
	// Expected width for a normal distribution: 2·1.96·√2/√n.
	for i, n := range map[Interval]float64{few: 25, many: 2500} {
		if want := 2 * 1.96 * math.Sqrt2 / math.Sqrt(n); math.Abs((i.High-i.Low)/want-1) > 0.15 {
			t.Errorf("the interval of %v values is %.4f wide, want about %.4f", n, i.High-i.Low, want)
		}
	}
	if again := Bootstrap(values(25)); again != few {
		t.Errorf("the same values give %+v, and then %+v", few, again)
	}
	if got := Bootstrap(nil); got != (Interval{}) {
		t.Errorf("no values give %+v", got)
	}
	if got := Bootstrap([]float64{0.5}); got != (Interval{0.5, 0.5, 0.5}) {
		t.Errorf("the interval of a single value is %+v", got)
	}
}

func TestAPairedDifferenceHasANarrowerInterval(t *testing.T) {
	t.Parallel()
	var a, b []float64
	for i := range 100 {
		hard := float64(i%10) / 10
		a, b = append(a, hard), append(b, hard+0.01)
	}
	b[0], b[1] = a[0], a[1]-0.01
	d := Compare(a, b)
	if d.Better != 98 || d.Worse != 1 {
		t.Errorf("better on %d and worse on %d questions, want 98 and 1", d.Better, d.Worse)
	}
	if math.Abs(d.Mean-0.0097) > 1e-12 || d.Low <= 0 || d.High-d.Low > 0.002 {
		t.Errorf("the difference is %+v", d.Interval)
	}
	if alone := Bootstrap(a); alone.High-alone.Low < 10*(d.High-d.Low) {
		t.Errorf("the interval of the difference %+v is not much narrower than that of the figure %+v", d.Interval, alone)
	}
}

func TestGroupsCountTheSameWhateverTheirSize(t *testing.T) {
	t.Parallel()
	large := make([]float64, 1000)
	got := BootstrapMeans([][]float64{large, {1, 1}, nil})
	if got != (Interval{0.5, 0.5, 0.5}) {
		t.Errorf("the mean of a thousand 0 and two 1 as groups is %+v, want 0.5", got)
	}
}
