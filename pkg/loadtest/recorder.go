package loadtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/sluice/sluice/pkg/client"
)

// Range and precision of the histograms: one microsecond to one hour, in microseconds, with three significant digits.
const (
	minValue = 1
	maxValue = int64(time.Hour / time.Microsecond)
	digits   = 3
)

const maxFailures = 20

// recorder collects a load test's measurements from `from` to `until`. Requests due before `from` belong to the warm-up
// and are ignored.
type recorder struct {
	from, until time.Time

	mu                           sync.Mutex
	order                        []string // names of the measures in order of appearance
	of                           map[string]*hdrhistogram.Histogram
	sent, succeeded, failed, due int64 // due: requests that were due but not sent
	inTime                       int64 // requests that succeeded before `until`
	failures                     map[string]int64
}

func newRecorder(from, until time.Time) *recorder {
	return &recorder{from: from, until: until, of: map[string]*hdrhistogram.Histogram{}, failures: map[string]int64{}}
}

// Times records one request's measured durations.
type Times struct {
	due time.Time
	of  *recorder
}

// Since records the time passed since the request was due.
func (t *Times) Since(measure string) { t.Add(measure, time.Since(t.due)) }

// Add records a duration.
func (t *Times) Add(measure string, d time.Duration) {
	if t.due.Before(t.of.from) {
		return
	}
	r := t.of
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.of[measure]
	if h == nil {
		h = hdrhistogram.New(minValue, maxValue, digits)
		r.of[measure] = h
		r.order = append(r.order, measure)
	}
	_ = h.RecordValue(min(max(minValue, d.Microseconds()), maxValue)) // fails only for values outside the range
}

// record counts a request that was due at `due` and got its response, or failed, at `at`.
func (r *recorder) record(due, at time.Time, err error) {
	if due.Before(r.from) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent++
	if err != nil {
		r.failed++
		what := shorten(describe(err))
		if _, known := r.failures[what]; !known && len(r.failures) >= maxFailures {
			what = "other failures"
		}
		r.failures[what]++
		return
	}
	r.succeeded++
	if at.Before(r.until) {
		r.inTime++
	}
}

// recordUnsent counts requests that came due between `from` and `to` but found no free client.
func (r *recorder) recordUnsent(from, to time.Time, rate float64) {
	if from.Before(r.from) {
		from = r.from
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due += max(0, int64(to.Sub(from).Seconds()*rate))
}

// Maximum length of a failure's description, in characters.
const maxFailure = 160

func shorten(text string) string {
	if runes := []rune(text); len(runes) > maxFailure {
		return string(runes[:maxFailure]) + " …"
	}
	return text
}

// describe returns a short description of the error. The report groups failures by it.
func describe(err error) string {
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && refused.Status == 200:
		return "[ERROR] " + refused.Message
	case errors.As(err, &refused):
		return fmt.Sprintf("%d %s", refused.Status, refused.Message)
	case errors.Is(err, context.Canceled):
		return errGivenUp.Error()
	default:
		return err.Error()
	}
}

// report returns the results. `now` is when the last response arrived or timed out.
func (r *recorder) report(now time.Time) Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.After(r.until) {
		now = r.until
	}
	out := Report{Seconds: max(0, now.Sub(r.from).Seconds()), Sent: r.sent, Succeeded: r.succeeded, Failed: r.failed, Unsent: r.due}
	if out.Seconds > 0 {
		out.PerSecond = float64(r.inTime) / out.Seconds
	}
	for _, name := range r.order {
		h := r.of[name]
		ms := func(us float64) float64 { return us / 1000 }
		at := func(q float64) float64 { return ms(float64(h.ValueAtQuantile(q))) }
		out.Measures = append(out.Measures, Measure{Name: name, Count: h.TotalCount(), Mean: ms(h.Mean()),
			P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: ms(float64(h.Max()))})
	}
	for what, n := range r.failures {
		out.Failures = append(out.Failures, Failure{what, n})
	}
	slices.SortFunc(out.Failures, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.What, b.What))
	})
	return out
}
