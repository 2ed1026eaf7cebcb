package boost

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice/sluice/pkg/filter"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

func parsed(t *testing.T, text string) Boost {
	t.Helper()
	all, faults := ParseJSON([]byte("["+text+"]"), "boosts")
	if len(faults) > 0 {
		t.Fatalf("%s: %v", text, faults)
	}
	return all[0]
}

func TestFactorOfADocument(t *testing.T) {
	t.Parallel()
	recency := `{"type":"recency","key":"d","halfLifeDays":10,"factor":3}`
	pivot := `{"type":"number","key":"d","pivot":50,"factor":3}`
	highest := `{"type":"number","key":"d","max":999,"factor":3}`
	team := `{"type":"value","key":"d","value":["docs","ops"],"factor":1.5}`
	for name, c := range map[string]struct {
		boost  string
		values []any
		want   float64
	}{
		"today":                     {recency, []any{"2026-11-27T12:00:00Z"}, 3},
		"after one half-life":       {recency, []any{"2026-11-17T14:00:00+02:00"}, 2},
		"after two half-lives":      {recency, []any{"2026-11-07T12:00:00Z"}, 1.5},
		"a date to come":            {recency, []any{"2031-01-01"}, 3},
		"the newest of two dates":   {recency, []any{"2001-01-01", "2026-11-17T12:00:00Z"}, 2},
		"without a date":            {recency, nil, 1},
		"at the pivot":              {pivot, []any{50}, 2},
		"far above the pivot":       {pivot, []any{math.Inf(1)}, 3},
		"a negative number":         {pivot, []any{-5}, 1},
		"the largest of numbers":    {pivot, []any{1, 50.0, 2}, 2},
		"at the maximum":            {highest, []any{999}, 3},
		"above the maximum":         {highest, []any{1e9}, 3},
		"half of the logarithm":     {highest, []any{math.Sqrt(1000) - 1}, 2},
		"an infinite number":        {highest, []any{math.Inf(1)}, 3},
		"one of the values":         {team, []any{"sales", "ops"}, 1.5},
		"another value":             {team, []any{"sales"}, 1},
		"a lowering factor":         {`{"type":"value","key":"d","value":true,"factor":0.5}`, []any{true}, 0.5},
		"the same moment":           {`{"type":"value","key":"d","value":"2026-01-31"}`, []any{"2026-01-31T01:00:00+01:00"}, 2},
		"the default of the factor": {`{"type":"value","key":"d","value":7}`, []any{7}, DefaultFactor},
	} {
		var values []filter.Value
		for _, v := range c.values {
			value, ok := filter.ValueOf(v)
			if !ok {
				t.Fatalf("%s: %v is no value", name, v)
			}
			values = append(values, value)
		}
		got, err := parsed(t, c.boost).Scorer(now).FactorFor(values)
		if err != nil || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: the factor is %v (%v), want %v", name, got, err, c.want)
		}
	}
}

func TestValuesOfAnotherType(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		boost string
		value any
		want  string
	}{
		"a text as a date":            {`{"type":"recency","key":"seen","halfLifeDays":1}`, "soon", `is "seen", but a document has the value "soon" there; a recency boost needs dates such as 2026-01-31`},
		"a number as a date":          {`{"type":"recency","key":"seen","halfLifeDays":1}`, 20260131, `the value 20260131 there; a recency boost needs dates`},
		"a text as a number":          {`{"type":"number","key":"n","pivot":1}`, "12", `the value "12" there; a number boost needs numbers, without quotation marks`},
		"a boolean as a number":       {`{"type":"number","key":"n","max":1}`, true, "the value true there"},
		"a number as a text":          {`{"type":"value","key":"year","value":"2025"}`, 2025, `the value 2025 there; it cannot be compared with "2025"`},
		"a date among numbers":        {`{"type":"value","key":"year","value":2025}`, "2025-01-01", `the value "2025-01-01" there; it cannot be compared with 2025`},
		"a boolean compared by value": {`{"type":"value","key":"year","value":["a","b"]}`, false, "change the metadata or leave the boost out"},
	} {
		value, _ := filter.ValueOf(c.value)
		factor, err := parsed(t, c.boost).Scorer(now).FactorFor([]filter.Value{value})
		var fault *TypeError
		if !errors.As(err, &fault) || factor != 1 || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v and %v, want the factor 1 and %q", name, factor, err, c.want)
		}
	}
}

func TestApplyIsMonotonicAndBounded(t *testing.T) {
	t.Parallel()
	scores := []float64{-2, -0.3, -1e-9, 0, 1e-9, 0.1, 0.35, 0.8, 0.999, 1}
	factors := []float64{minProduct, 0.1, 0.5, 0.99, 1, 1.01, 1.5, 10, maxProduct}
	for i, f := range factors {
		for j, s := range scores {
			got := Apply(s, f)
			switch {
			case got > 1 || (got < 0) != (s < 0) || math.IsNaN(got):
				t.Errorf("Apply(%v, %v) is %v", s, f, got)
			case f == 1 && math.Abs(got-s) > 1e-12:
				t.Errorf("the factor 1 changes %v to %v", s, got)
			case j > 0 && got < Apply(scores[j-1], f):
				t.Errorf("with the factor %v, the score %v gets less than %v", f, s, scores[j-1])
			case i > 0 && got < Apply(s, factors[i-1]):
				t.Errorf("the score %v gets less with the factor %v than with %v", s, f, factors[i-1])
			}
		}
	}
	if got := Apply(0.1, 1.5); math.Abs(got-0.15) > 0.01 {
		t.Errorf("a low score of 0.1 with the factor 1.5 becomes %v, want about 0.15", got)
	}
	if got := Product([]float64{10, 10, 10, 10}); got != maxProduct {
		t.Errorf("the product of four large factors is %v, want %v", got, maxProduct)
	}
}

func TestInvalidBoosts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:                           "boosts: is an object; it must be an array of boosts",
		`["x"]`:                        `boosts[0]: is "x"; it must be an object such as`,
		`[{"key":"k"}]`:                "boosts[0].type: is missing or null; it must be one of recency, number, value",
		`[{"type":"decay","key":1}]`:   `boosts[0].type: is "decay"; it must be one of recency, number, value`,
		`[{"type":"value","value":1}]`: "boosts[0].key: is missing or null; it must be the name of a metadata key",
		`[{"type":"value","key":"datasource.size","value":1}]`:                        `boosts[0].key: is "datasource.size", which is not a datasource property; use one of datasource.id`,
		`[{"type":"value","key":"k"}]`:                                                "boosts[0].value: is missing; it must be a string",
		`[{"type":"value","key":"k","value":[]}]`:                                     "boosts[0].value: is an empty array",
		`[{"type":"value","key":"k","value":[1,"a"]}]`:                                `boosts[0].value[1]: is "a", but the first value is 1`,
		`[{"type":"value","key":"k","value":{"a":1}}]`:                                "boosts[0].value: is an object; it must be a string",
		`[{"type":"value","key":"k","value":1,"factor":0}]`:                           "boosts[0].factor: is 0; it must be a number between 0.1 and 10",
		`[{"type":"value","key":"k","value":1,"factor":"2"}]`:                         `boosts[0].factor: is "2"; it must be a number between 0.1 and 10`,
		`[{"type":"value","key":"k","value":1,"pivot":2}]`:                            "boosts[0].pivot: is not a field of a value boost; its fields are type, key, factor, value",
		`[{"type":"recency","key":"k"}]`:                                              "boosts[0].halfLifeDays: is missing; send the number of days",
		`[{"type":"recency","key":"k","halfLifeDays":-1}]`:                            "boosts[0].halfLifeDays: is -1; it must be a number between 0.041667 and 36524",
		`[{"type":"recency","key":"k","halfLifeDays":7},{"type":"number","key":"k"}]`: "boosts[1].pivot: is missing; send either pivot",
		`[{"type":"number","key":"k","pivot":1,"max":2}]`:                             "boosts[0].max: cannot be combined with pivot",
		`[{"type":"number","key":"k","max":1e300}]`:                                   "boosts[0].max: is 1e+300; it must be a number between 1e-09 and 1e+15",
		`[` + strings.Repeat(`{"type":"x"},`, MaxBoosts) + `{}]`:                      "boosts: has 11 boosts; the limit is 10",
		`[{"type":"value","key":"` + strings.Repeat("k", 257) + `","value":1}]`:       "boosts[0].key: has 257 bytes; the limit is 256",
		`[{"type":"value","key":"k","value":"` + strings.Repeat("v", 257) + `"}]`:     "boosts[0].value: has 257 bytes; the limit is 256",
		`[`: "boosts: is not valid JSON",
	} {
		got, faults := ParseJSON([]byte(text), "boosts")
		if len(faults) == 0 || !strings.HasPrefix(faults[0].Field+": "+faults[0].Message, want) || got != nil {
			t.Errorf("%.80s: %v, want %q", text, faults, want)
		}
	}
}

func TestBoostsAsJSON(t *testing.T) {
	t.Parallel()
	const text = `[{"type":"recency","key":"datasource.created_at","factor":2,"halfLifeDays":30},{"type":"number","key":"views","factor":4,"pivot":100},` +
		`{"type":"number","key":"views","factor":0.5,"max":1000},{"type":"value","key":"team","factor":1.5,"value":["docs","ops"]},{"type":"value","key":"old","factor":0.2,"value":true}]`
	first, faults := ParseJSON([]byte(text), "boosts")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	encoded, err := json.Marshal(first)
	if err != nil || string(encoded) != text {
		t.Errorf("%v: encoded as %s, want %s", err, encoded, text)
	}
	again, _ := ParseJSON(encoded, "boosts")
	if diff := cmp.Diff(first, again, cmpopts.EquateComparable(filter.Value{})); diff != "" {
		t.Error(diff)
	}
	if none, faults := ParseJSON([]byte("null"), "boosts"); none != nil || faults != nil {
		t.Errorf("null is %v, %v", none, faults)
	}
	if empty, faults := ParseJSON([]byte("[]"), "boosts"); empty == nil || len(empty) != 0 || faults != nil {
		t.Errorf("an empty array is %v, %v; want an empty list that is not nil", empty, faults)
	}
}
