package admission_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice/sluice/pkg/admission"
)

// The only flow used by the tests in this file.
const flow = "flow"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAGateWithoutALimitAdmitsAll(t *testing.T) {
	t.Parallel()
	g := admission.New(admission.Options{})
	for range 1000 {
		if _, in := g.Enter(t.Context(), flow); !in {
			t.Fatal("a caller was refused")
		}
	}
}

// TestTheLimitIsNotExceeded lets 100 clients enter at once and counts how many are being served at a time, and how many
// are served and refused in total.
func TestTheLimitIsNotExceeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit, waiting, clients = 3, 4, 100
		g := admission.New(admission.Options{Limit: limit, Waiting: waiting, OverloadTimeout: time.Second})
		var mu sync.Mutex
		var within, peak, served, refused int
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				slot, in := g.Enter(t.Context(), flow)
				mu.Lock()
				if !in {
					refused++
					mu.Unlock()
					return
				}
				within++
				served++
				peak = max(peak, within)
				mu.Unlock()
				time.Sleep(10 * time.Millisecond)
				mu.Lock()
				within--
				mu.Unlock()
				slot.Leave()
			})
		}
		all.Wait()
		if peak != limit || served != limit+waiting || refused != clients-limit-waiting {
			t.Errorf("%d were within at once, %d served, %d refused", peak, served, refused)
		}
		for range limit { // all slots must be free again
			if _, in := g.Enter(t.Context(), flow); !in {
				t.Error("a place was lost")
			}
		}
	})
}

func TestAWaiterIsRefusedAtItsTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := admission.New(admission.Options{Limit: 1, Waiting: 10, OverloadTimeout: 25 * time.Millisecond})
		g.Enter(t.Context(), flow)
		began := time.Now()
		if _, in := g.Enter(t.Context(), flow); in || time.Since(began) != 25*time.Millisecond {
			t.Errorf("decided after %v", time.Since(began))
		}
		if g.Refused() != time.Now() {
			t.Error("the refusal is not told")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began = time.Now()
		if _, in := g.Enter(ctx, flow); in || time.Since(began) != time.Millisecond {
			t.Errorf("a caller that gave up was decided after %v", time.Since(began))
		}
	})
}

// TestOverloadServesTheNewestFirst queues a third caller although only two may wait. The first caller must be refused
// to make room for the third.
func TestOverloadServesTheNewestFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := admission.New(admission.Options{Limit: 1, Waiting: 2, OverloadTimeout: time.Minute})
		first, _ := g.Enter(t.Context(), flow)
		var order []string
		var all sync.WaitGroup
		for _, name := range []string{"first", "second", "third"} {
			all.Go(func() {
				if slot, in := g.Enter(t.Context(), flow); in {
					order = append(order, name)
					slot.Leave()
					return
				}
				order = append(order, name+" refused")
			})
			synctest.Wait()
		}
		first.Leave()
		all.Wait()
		if want := []string{"first refused", "third", "second"}; len(order) != 3 || order[0] != want[0] || order[1] != want[1] || order[2] != want[2] {
			t.Errorf("the order was %v", order)
		}
	})
}

type caller struct {
	name   string
	in     bool
	waited time.Duration
}

// callers sends callers to a gate one after another. Each admitted caller holds its slot for `stay`.
type callers struct {
	gate *admission.Gate
	stay time.Duration

	all  sync.WaitGroup
	mu   sync.Mutex
	seen []caller // in the order they were admitted or refused
}

// comes starts a goroutine in which a caller enters the gate. It returns once the caller is queued, admitted or
// refused.
func (v *callers) comes(t *testing.T, name string) {
	stay := v.stay
	v.all.Go(func() {
		came := time.Now()
		slot, in := v.gate.Enter(t.Context(), flow)
		v.mu.Lock()
		v.seen = append(v.seen, caller{name, in, time.Since(came)})
		v.mu.Unlock()
		if in {
			time.Sleep(stay)
			slot.Leave()
		}
	})
	synctest.Wait()
}

func (v *callers) leave() []caller {
	v.all.Wait()
	return v.seen
}

// longTimeout returns a gate with time-outs like those for searches.
func longTimeout(waiting int) *admission.Gate {
	return admission.New(admission.Options{
		Limit: 1, Waiting: waiting, OverloadTimeout: 25 * time.Millisecond, Burst: 250 * time.Millisecond, Interval: 100 * time.Millisecond,
	})
}

func TestABurstIsServedInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &callers{gate: longTimeout(32), stay: 10 * time.Millisecond}
		for n := range 10 {
			v.comes(t, strconv.Itoa(n))
		}
		for n, got := range v.leave() {
			if want := (caller{strconv.Itoa(n), true, time.Duration(n) * v.stay}); got != want {
				t.Errorf("%+v, not %+v", got, want)
			}
		}
	})
}

// TestCallersOfABurstMayWaitLong holds the only slot until every waiting caller has timed out.
func TestCallersOfABurstMayWaitLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &callers{gate: longTimeout(32), stay: time.Second}
		v.comes(t, "in")
		v.comes(t, "at once")
		time.Sleep(99 * time.Millisecond)
		v.comes(t, "still the burst")
		time.Sleep(time.Millisecond)
		v.comes(t, "queue that lasts")
		want := []caller{
			{"in", true, 0}, {"queue that lasts", false, 25 * time.Millisecond},
			{"at once", false, 250 * time.Millisecond}, {"still the burst", false, 250 * time.Millisecond},
		}
		if got := v.leave(); !slices.Equal(got, want) {
			t.Errorf("%+v, not %+v", got, want)
		}
	})
}

// TestAStandingQueueServesTheNewestFirst keeps the queue non-empty for longer than a burst before freeing the slot.
func TestAStandingQueueServesTheNewestFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &callers{gate: longTimeout(32), stay: 110 * time.Millisecond}
		for _, name := range []string{"in", "first", "second"} {
			v.comes(t, name)
		}
		time.Sleep(100 * time.Millisecond)
		v.comes(t, "last")
		want := []caller{
			{"in", true, 0}, {"last", true, 10 * time.Millisecond},
			{"second", true, 220 * time.Millisecond}, {"first", false, 250 * time.Millisecond},
		}
		if got := v.leave(); !slices.Equal(got, want) {
			t.Errorf("%+v, not %+v", got, want)
		}
	})
}

// TestACallerBeyondTheQueueLimitIsRefused checks which caller is refused when the queue is full: the newest one in a
// burst, but the longest-waiting one after a refusal.
func TestACallerBeyondTheQueueLimitIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &callers{gate: longTimeout(2), stay: 30 * time.Millisecond}
		for _, name := range []string{"in", "first", "second", "third", "fourth"} {
			v.comes(t, name)
		}
		want := []caller{
			{"in", true, 0}, {"third", false, 0}, {"first", false, 0},
			{"fourth", false, 25 * time.Millisecond}, {"second", true, 30 * time.Millisecond},
		}
		if got := v.leave(); !slices.Equal(got, want) {
			t.Errorf("%+v, not %+v", got, want)
		}
	})
}

// TestGapsDoNotEndOverload leaves the queue empty for a while after a refusal. Overload mode may end only after a gap
// of a full second.
func TestGapsDoNotEndOverload(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ gap, waited time.Duration }{
		"a gap":   {999 * time.Millisecond, 25 * time.Millisecond},
		"the end": {time.Second, 250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := &callers{gate: longTimeout(1), stay: 200 * time.Millisecond}
				for _, name := range []string{"in", "first", "one too many"} {
					v.comes(t, name) // the last caller is refused at once
				}
				time.Sleep(c.gap)
				v.stay = time.Second
				v.comes(t, "in again")
				v.comes(t, "asked")
				want := []caller{{"in", true, 0}, {"one too many", false, 0}, {"first", true, 200 * time.Millisecond}, {"in again", true, 0}, {"asked", false, c.waited}}
				if got := v.leave(); !slices.Equal(got, want) {
					t.Errorf("%+v, not %+v", got, want)
				}
			})
		})
	}
}

// TestAdmittedCallersWaitBrieflyUnderOverload sends three times the sustainable load for ten seconds, with and without
// pauses. Each pause is long enough to empty the queue.
func TestAdmittedCallersWaitBrieflyUnderOverload(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]time.Duration{"evenly": 0, "with pauses": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				v := &callers{gate: longTimeout(32), stay: 6 * time.Millisecond}
				for n := range 5000 {
					v.comes(t, strconv.Itoa(n))
					time.Sleep(2 * time.Millisecond)
					if n%250 == 249 {
						time.Sleep(pause)
					}
				}
				served, late := 0, 0
				for _, visit := range v.leave() {
					if visit.in {
						served++
					}
					if visit.in && visit.waited > 25*time.Millisecond {
						late++
					}
				}
				// Until the first refusal, callers in a burst may be served late.
				if served < 5000/3 || late > 250/6 {
					t.Errorf("%d of 5000 were served, %d of them late", served, late)
				}
			})
		})
	}
}

// TestBackpressureEnds checks how long background work pauses. If nothing was refused, it doesn't pause at all.
// Otherwise it waits for the quiet time to pass without a refusal, but never longer than the maximum wait.
func TestBackpressureEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := admission.New(admission.Options{Limit: 1})
		stood := time.Duration(-1)
		c := &admission.Backpressure{Gates: []*admission.Gate{g}, QuietTime: 500 * time.Millisecond, MaxWait: 2 * time.Second, Observe: func(d time.Duration) { stood = d }}
		wait := func() time.Duration {
			began := time.Now()
			c.Wait(t.Context())
			return time.Since(began)
		}
		if took := wait(); took != 0 || stood != -1 {
			t.Errorf("stood back for %v though nobody was refused", took)
		}
		g.Enter(t.Context(), flow)
		g.Enter(t.Context(), flow)
		time.Sleep(100 * time.Millisecond)
		if took := wait(); took != 400*time.Millisecond || stood != took {
			t.Errorf("stood back for %v after one refusal", took)
		}
		ctx, stop := context.WithCancel(t.Context())
		refusals := make(chan struct{})
		go func() { // causes refusals until the test stops it
			defer close(refusals)
			for ctx.Err() == nil {
				g.Enter(ctx, flow)
				time.Sleep(50 * time.Millisecond)
			}
		}()
		synctest.Wait()
		if took := wait(); took != 2*time.Second {
			t.Errorf("stood back for %v while others were refused all the time", took)
		}
		stop()
		<-refusals
		var none *admission.Backpressure
		none.Wait(t.Context())
	})
}
