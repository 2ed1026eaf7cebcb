package bm25_test

import (
	"math"
	"testing"

	"github.com/sluice/sluice/pkg/index/bm25"
)

func TestWeight_falls_with_the_rows_that_have_a_term_and_is_never_negative(t *testing.T) {
	t.Parallel()
	const rows = 100
	last := math.Inf(1)
	for having := range rows + 1 {
		w := bm25.Weight(rows, float64(having))
		if w >= last || w < 0 {
			t.Fatalf("a term of %d rows weighs %v, one of a row less %v", having, w, last)
		}
		last = w
	}
	if w := bm25.Weight(0, 0); w <= 0 {
		t.Errorf("where there are no rows a term weighs %v, want more than nothing", w)
	}
}

func TestSaturated_rises_with_the_frequency_and_falls_with_the_length(t *testing.T) {
	t.Parallel()
	for _, average := range []float64{1, 80, 1000} {
		for _, length := range []float64{0, 1, 80, 10_000} {
			norm, longer := bm25.Norm(length, average), bm25.Norm(length+1, average)
			last := 0.0
			for _, n := range []float64{1, 2, 5, 1000} {
				got := bm25.Saturated(n, norm)
				if got <= last || got >= bm25.Ceiling {
					t.Errorf("%v times in %v of %v terms counts %v, want more than %v and less than %v", n, length, average, got, last, bm25.Ceiling)
				}
				if less := bm25.Saturated(n, longer); less >= got {
					t.Errorf("%v times in a longer row counts %v, not less than %v", n, less, got)
				}
				last = got
			}
		}
	}
	if got := bm25.Saturated(1, bm25.Norm(80, 80)); got != 1 {
		t.Errorf("once in a row of average length counts %v, want 1", got)
	}
	if got := bm25.Saturated(0, bm25.Norm(80, 80)); got != 0 {
		t.Errorf("a term that is not there counts %v", got)
	}
}

func TestRepeated_rises_with_the_count_and_never_reaches_its_limit(t *testing.T) {
	t.Parallel()
	if once, none := bm25.Repeated(1), bm25.Repeated(0); once != 1 || none != 1 {
		t.Errorf("a single word has the factor %v, a word without a count %v, want 1", once, none)
	}
	last := 1.0
	for n := 2; n < 1000; n++ {
		if got := bm25.Repeated(n); got <= last || got >= 3 {
			t.Fatalf("%d times has the factor %v, want more than %v and less than 3", n, got, last)
		} else {
			last = got
		}
	}
}
