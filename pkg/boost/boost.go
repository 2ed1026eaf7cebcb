// Package boost implements boosts: rules that raise or lower a document's score based on its metadata, such as its age,
// popularity or team. See docs/retrieval.md.
package boost

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/sluice/sluice/pkg/filter"
)

// Type is the type of a boost.
type Type string

// Types of boosts.
const (
	Recency Type = "recency" // by the document's age
	Number  Type = "number"  // by a number in the metadata
	Value   Type = "value"   // by whether the metadata has one of several values
)

// Types lists all types.
var Types = []Type{Recency, Number, Value}

// Limits on boosts.
const (
	MaxBoosts       = 10             // per query or datastore
	MinFactor       = 0.1            // lowest factor of one boost
	MaxFactor       = 10             // highest factor of one boost
	DefaultFactor   = 2              // if the boost has no factor
	MaxValues       = 100            // per Value boost
	MaxTextBytes    = 256            // per string in Values
	MaxHalfLifeDays = 100 * 365.2425 // a century
	// Bounds on the product of several factors.
	minProduct = 0.01
	maxProduct = 100
)

// Boost is a rule that gives each document a factor between 1 and Factor, which Apply uses to change the document's
// score. The factor depends on the document's values for the metadata key Key. If there are no such values, the factor
// is 1.
type Boost struct {
	Type   Type
	Key    string // metadata key, as in filters
	Factor float64
	// HalfLifeDays applies to Recency: a document this many days old gets half of the boost.
	HalfLifeDays float64
	// Pivot applies to Number: a document with value v gets the fraction v/(v+Pivot) of the boost. Pivot is 0 if Max is
	// set.
	Pivot float64
	// Max applies to Number: a document with value v gets the fraction ln(1+v)/ln(1+Max) of the boost, at most 1. Max
	// is 0 if Pivot is set.
	Max float64
	// Values applies to Value: a document with one of these values gets the whole boost, and any other document gets
	// none.
	Values []filter.Value
}

// MarshalJSON implements json.Marshaler. Parse accepts the result.
func (b Boost) MarshalJSON() ([]byte, error) {
	var value any
	switch len(b.Values) {
	case 0:
	case 1:
		value = b.Values[0]
	default:
		value = b.Values
	}
	return json.Marshal(struct {
		Type         Type    `json:"type"`
		Key          string  `json:"key"`
		Factor       float64 `json:"factor"`
		HalfLifeDays float64 `json:"halfLifeDays,omitempty"`
		Pivot        float64 `json:"pivot,omitempty"`
		Max          float64 `json:"max,omitempty"`
		Value        any     `json:"value,omitempty"`
	}{b.Type, b.Key, b.Factor, b.HalfLifeDays, b.Pivot, b.Max, value})
}

// Scorer computes a boost's factors at a fixed point in time.
type Scorer struct {
	Boost
	now   time.Time
	match *filter.Filter // for Value
	test  func(filter.Value) bool
}

// Scorer returns a Scorer for the given time.
func (b Boost) Scorer(now time.Time) Scorer {
	s := Scorer{Boost: b, now: now}
	if b.Type == Value {
		s.match = &filter.Filter{Op: filter.In, Key: b.Key, Values: b.Values}
		s.test = s.match.Test()
	}
	return s
}

// FactorFor returns the factor for a document with these values for the boost's metadata key. If there are several
// values, the one that earns the largest fraction of the boost counts. If the boost can't use one of the values,
// FactorFor fails with a *TypeError.
func (s Scorer) FactorFor(values []filter.Value) (float64, error) {
	var share float64
	for _, v := range values {
		of, ok := s.share(v)
		if !ok {
			return 1, &TypeError{Boost: s.Boost, Value: v}
		}
		share = max(share, of)
	}
	return 1 + (s.Factor-1)*share, nil
}

// share returns the fraction of the boost, from 0 to 1, for a document with the value v. It returns false if v has the
// wrong type for the boost.
func (s Scorer) share(v filter.Value) (float64, bool) {
	switch s.Type {
	case Recency:
		at, ok := v.Time()
		age := max(s.now.Sub(at).Hours()/24, 0)
		return math.Exp2(-age / s.HalfLifeDays), ok
	case Number:
		n := max(v.Number(), 0)
		switch {
		case v.Kind() != filter.Number:
			return 0, false
		case math.IsInf(n, 1):
			return 1, true
		case s.Pivot > 0:
			return n / (n + s.Pivot), true
		}
		return min(math.Log1p(n)/math.Log1p(s.Max), 1), true
	}
	if s.match.Conflict(v.Kind()) != nil {
		return 0, false
	}
	if s.test(v) {
		return 1, true
	}
	return 0, true
}

// TypeError means that a boost can't use one of a document's values.
type TypeError struct {
	Boost Boost
	Value filter.Value
}

// Error implements error. The message has no subject, so callers prefix it with the boost's field.
func (e *TypeError) Error() string {
	uses := map[Type]string{
		Recency: "a recency boost needs dates such as 2026-01-31",
		Number:  "a number boost needs numbers, without quotation marks",
	}[e.Boost.Type]
	if uses == "" {
		uses = fmt.Sprintf("it cannot be compared with %s", filter.Describe(e.Boost.Values[0].Any()))
	}
	return fmt.Sprintf("is %q, but a document has the value %s there; %s; change the metadata or leave the boost out",
		filter.Shorten(e.Boost.Key), filter.Describe(e.Value.Any()), uses)
}

// Product multiplies the factors and clamps the result to [minProduct, maxProduct], so that scores stay comparable.
func Product(factors []float64) float64 {
	product := 1.0
	for _, f := range factors {
		product *= f
	}
	return min(max(product, minProduct), maxProduct)
}

// Apply returns the boosted score, at most 1. If the factor is below 1, the score is multiplied by it. A factor above 1
// raises low scores almost in proportion and moves high scores closer to 1. A negative score is divided by the factor.
// A higher score or a higher factor always gives a higher result.
func Apply(score, factor float64) float64 {
	switch {
	case score <= 0:
		return score / factor
	case factor <= 1:
		return score * factor
	}
	return 1 - math.Pow(1-min(score, 1), factor)
}
