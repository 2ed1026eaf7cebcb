package domain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheStricterOfTwoLimitsHolds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ a, b, want Limits }{
		"none at all":            {nil, nil, Limits{}},
		"one that is set":        {Limits{MetricQueries: 5}, nil, Limits{MetricQueries: 5}},
		"the lower one":          {Limits{MetricQueries: 5}, Limits{MetricQueries: 3}, Limits{MetricQueries: 3}},
		"0 is none":              {Limits{MetricQueries: 5, MetricTokens: 0}, Limits{MetricQueries: 0}, Limits{MetricQueries: 5}},
		"each metric for itself": {Limits{MetricQueries: 5}, Limits{MetricTokens: 3}, Limits{MetricQueries: 5, MetricTokens: 3}},
	} {
		for _, got := range []Limits{test.a.Stricter(test.b), test.b.Stricter(test.a)} {
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if got.Limited() != (len(test.want) > 0) {
				t.Errorf("%s: Limited() is %v", name, got.Limited())
			}
		}
	}
}
