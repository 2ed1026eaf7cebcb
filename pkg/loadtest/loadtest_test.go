package loadtest

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lasting returns a Request that takes times[n] to answer request number n. Any requests beyond the end of `times` take
// as long as its last entry.
func lasting(times ...time.Duration) Request {
	return func(ctx context.Context, n int, take *Times) error {
		select {
		case <-time.After(times[min(n, len(times)-1)]):
			take.Since("answered")
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func measure(t *testing.T, r Report, name string) Measure {
	t.Helper()
	for _, m := range r.Measures {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("there is no %q in %+v", name, r)
	return Measure{}
}

// about reports whether `got` equals `want` within the precision of the histograms, which keep three digits.
func about(got, want float64) bool { return got >= want*.998 && got <= want*1.002 }

func TestAnOpenLoopCountsFromWhenARequestWasDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// The first response takes a second, during which nine more requests come due. They are answered right
		// afterwards.
		r, err := Run(t.Context(), Load{Rate: 10, Clients: 1, For: 2 * time.Second, Requests: 10, Grace: time.Second}, lasting(time.Second, 0))
		if err != nil {
			t.Fatal(err)
		}
		m := measure(t, r, "answered")
		if r.Succeeded != 10 || r.Failed != 0 || !about(m.Max, 1000) || !about(m.P50, 500) || !about(m.Mean, 550) {
			t.Errorf("%+v", r)
		}
		if m := measure(t, r, "sent late"); !about(m.Max, 900) {
			t.Errorf("sent late by %+v", m)
		}
	})
}

func TestAnOpenLoopDoesNotWaitForAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := Run(t.Context(), Load{Rate: 10, Clients: 100, For: 2 * time.Second, Grace: 10 * time.Second}, lasting(3*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if m := measure(t, r, "answered"); r.Succeeded != 20 || r.PerSecond != 0 || !about(m.P50, 3000) || !about(m.Max, 3000) {
			t.Errorf("%+v", r)
		}
	})
}

func TestUnsentRequestsAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := Run(t.Context(), Load{Rate: 100, Clients: 1, For: 10 * time.Second, Grace: time.Minute}, lasting(1500*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		if total := r.Sent + r.Unsent; r.Sent != 7 || total < 998 || total > 1000 || !about(r.PerSecond, .6) {
			t.Errorf("%+v", r)
		}
	})
}

func TestClientsOfAClosedLoopWaitForTheirAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := Run(t.Context(), Load{Clients: 4, For: 10 * time.Second, Grace: time.Second}, lasting(300*time.Millisecond))
		if err != nil {
			t.Fatal(err)
		}
		if m := measure(t, r, "answered"); r.Sent != 4*34 || !about(r.PerSecond, 13.2) || !about(m.P999, 300) {
			t.Errorf("%+v", r)
		}
	})
}

func TestTheWarmUpIsNotCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, err := Run(t.Context(), Load{Rate: 10, Clients: 10, Warmup: time.Second, For: time.Second, Grace: time.Second}, func(_ context.Context, n int, take *Times) error {
			take.Since("answered")
			if n < 10 {
				return errors.New("cold")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if m := measure(t, r, "answered"); r.Sent != 10 || r.Failed != 0 || m.Count != 10 || r.Seconds != 1 || r.PerSecond != 10 {
			t.Errorf("%+v", r)
		}
	})
}

func TestAnswersThatNeverComeAreFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		r, err := Run(t.Context(), Load{Rate: 5, Clients: 10, For: time.Second, Grace: 7 * time.Second}, lasting(0, time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Failure{{"no response by the end of the measurement", 4}}, r.Failures); diff != "" || r.Succeeded != 1 || time.Since(begun) != 8*time.Second {
			t.Errorf("%+v after %v %s", r, time.Since(begun), diff)
		}
	})
}

func TestALoadThatIsStoppedReportsWhatItHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		r, err := Run(ctx, Load{Clients: 1, For: time.Hour, Grace: time.Hour}, lasting(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if r.Succeeded != 2 || r.Failed != 1 || r.Seconds != 2.5 || r.PerSecond != .8 {
			t.Errorf("%+v", r)
		}
	})
}

func TestFailuresAreGroupedByKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		errs := []error{
			&client.Error{Status: 429, Message: "too many requests"}, &client.Error{Status: 429, Message: "too many requests"},
			&client.Error{Status: 200, Message: "the model stopped"}, errors.New("connection reset"),
		}
		r, err := Run(t.Context(), Load{Clients: 1, For: time.Second, Requests: 4}, func(_ context.Context, n int, _ *Times) error { return errs[n] })
		if err != nil {
			t.Fatal(err)
		}
		want := []Failure{{"429 too many requests", 2}, {"[ERROR] the model stopped", 1}, {"connection reset", 1}}
		if diff := cmp.Diff(want, r.Failures); diff != "" {
			t.Error(diff)
		}
	})
}

func TestInvalidLoadsAreRefused(t *testing.T) {
	t.Parallel()
	good := Load{Rate: 1, Clients: 1, For: time.Second}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Load){
		"a negative rate":             func(l *Load) { l.Rate = -1 },
		"a rate that is not a number": func(l *Load) { l.Rate = math.NaN() },
		"too high a rate":             func(l *Load) { l.Rate = MaxRate + 1 },
		"no client":                   func(l *Load) { l.Clients = 0 },
		"too many clients":            func(l *Load) { l.Clients = MaxClients + 1 },
		"no time":                     func(l *Load) { l.For = 0 },
		"too long":                    func(l *Load) { l.For = MaxFor + 1 },
		"a negative warm-up":          func(l *Load) { l.Warmup = -1 },
		"a negative number":           func(l *Load) { l.Requests = -1 },
	} {
		l := good
		change(&l)
		if _, err := Run(t.Context(), l, nil); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestTheReportIsATable(t *testing.T) {
	t.Parallel()
	r := Report{Seconds: 10, Sent: 103, Succeeded: 100, Failed: 3, Unsent: 7, PerSecond: 10,
		Measures: []Measure{{Name: "sent late", Count: 103, Mean: .0123, P50: .01, P90: .02, P99: .03, P999: .04, Max: .05},
			{Name: "answered", Count: 100, Mean: 12.34, P50: 9.876, P90: 123.4, P99: 1234.5, P999: 1500, Max: 1600}},
		Failures: []Failure{{"429 too many requests", 3}}}
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := `103 requests in 10.0 s: 100 answered (10.0/s), 3 failed, 7 not sent because no client was free: the service cannot keep up with this rate

   milliseconds   count   mean    p50    p90    p99   p99.9    max
      sent late     103   0.01   0.01   0.02   0.03    0.04   0.05
       answered     100   12.3   9.88    123   1234    1500   1600

3 times: 429 too many requests
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
