package admission_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice/sluice/pkg/admission"
)

// queue is a gate whose callers record the order in which they were admitted.
type queue struct {
	gate *admission.Gate
	all  sync.WaitGroup

	mu    sync.Mutex
	order []string
}

// join adds a caller to the flow. Once admitted, the caller holds its slot for `stay`. join returns once the caller is
// queued, admitted or refused.
func (q *queue) join(ctx context.Context, flow string, weight int, stay time.Duration) {
	q.all.Go(func() {
		slot, in := q.gate.EnterWeighted(ctx, flow, weight)
		q.mu.Lock()
		if in {
			q.order = append(q.order, flow)
		} else {
			q.order = append(q.order, "-"+flow)
		}
		q.mu.Unlock()
		if in {
			time.Sleep(stay)
			slot.Leave()
		}
	})
	synctest.Wait()
}

func (q *queue) served() string {
	q.all.Wait()
	return strings.Join(q.order, " ")
}

// TestFlowsTakeTurns queues ten callers from one flow ahead of three from another.
func TestFlowsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{gate: admission.New(admission.Options{Limit: 1, Waiting: -1})}
		for range 10 {
			q.join(t.Context(), "a", 1, time.Millisecond)
		}
		for range 3 {
			q.join(t.Context(), "b", 1, time.Millisecond)
		}
		if got, want := q.served(), "a b a b a b a a a a a a a"; got != want {
			t.Errorf("served %s, want %s", got, want)
		}
	})
}

// TestFlowsShareTimeNotCallers has two flows. One flow's callers hold a slot ten times as long as the other's.
func TestFlowsShareTimeNotCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{gate: admission.New(admission.Options{Limit: 1, Waiting: -1})}
		for range 20 {
			q.join(t.Context(), "dear", 1, 10*time.Millisecond)
		}
		for range 100 {
			q.join(t.Context(), "cheap", 1, time.Millisecond)
		}
		q.served()
		dear := 0
		for _, flow := range q.order[:55] {
			if flow == "dear" {
				dear++
			}
		}
		// 5 × 10 ms takes as long as 50 × 1 ms.
		if dear < 4 || dear > 7 {
			t.Errorf("%d of the first 55 callers were dear ones: %v", dear, q.order[:55])
		}
	})
}

// TestIdleFlowsSaveUpNothing lets one flow have the gate to itself for a while. When a second flow arrives, the two
// take turns: neither is charged or credited for the time before that.
func TestIdleFlowsSaveUpNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{gate: admission.New(admission.Options{Limit: 1, Waiting: -1})}
		q.join(t.Context(), "late", 1, time.Millisecond)
		q.served()
		for range 100 {
			q.join(t.Context(), "early", 1, time.Millisecond)
		}
		time.Sleep(50*time.Millisecond + time.Microsecond)
		for range 20 {
			q.join(t.Context(), "late", 1, time.Millisecond)
		}
		q.served()
		at := slices.Index(q.order[1:], "late") + 1
		if turns := q.order[at : at+20]; strings.Count(strings.Join(turns, " "), "late") != 10 {
			t.Errorf("not in turns: %v", turns)
		}
	})
}

// TestAFlowLeavesSlotsToOthers lets one flow take as many slots as it can get, then a second flow, and so on.
func TestAFlowLeavesSlotsToOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options admission.Options
		want    []int // slots held by the first flow, the second, and so on
	}{
		{admission.Options{Limit: 9}, []int{9, 0}},
		{admission.Options{Limit: 9, Spare: 1}, []int{8, 1, 0}},
		{admission.Options{Limit: 1, Spare: 1}, []int{1, 0}},
		{admission.Options{Limit: 12, Share: 1}, []int{6, 3, 2, 1, 0}},
		{admission.Options{Limit: 8, Share: 3}, []int{2, 2, 1, 1, 1, 1, 0}},
		{admission.Options{Limit: 64, Share: 0.25}, []int{52, 10, 2, 0}},
		{admission.Options{Limit: 1, Share: 1}, []int{1, 0}},
	} {
		t.Run(fmt.Sprintf("%+v", c.options), func(t *testing.T) {
			t.Parallel()
			g := admission.New(c.options)
			for i, want := range c.want {
				flow := fmt.Sprint(i)
				for range 100 {
					g.Enter(t.Context(), flow)
				}
				if got := g.Held(flow); got != want {
					t.Errorf("flow %d has %d slots, want %d", i, got, want)
				}
			}
		})
	}
}

// TestASpareSlotIsGivenAtOnce queues many callers from one flow and then adds callers from another.
func TestASpareSlotIsGivenAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{gate: admission.New(admission.Options{Limit: 3, Waiting: -1, Spare: 1})}
		for range 20 {
			q.join(t.Context(), "many", 1, time.Hour)
		}
		began := time.Now()
		for range 3 {
			q.join(t.Context(), "few", 1, time.Minute)
		}
		ends := time.Now()
		q.mu.Lock()
		if q.order[2] != "few" || ends != began {
			t.Errorf("the order was %v", q.order)
		}
		q.mu.Unlock()
		time.Sleep(3 * time.Minute)
		q.mu.Lock()
		got := strings.Join(q.order, " ")
		q.mu.Unlock()
		if want := "many many few few few"; got != want {
			t.Errorf("after three minutes: %s", got)
		}
		q.served()
	})
}

// TestTheLongestQueueIsRefused fills the queue with callers from one flow. When another flow's callers arrive, the
// first flow's callers are refused.
func TestTheLongestQueueIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{gate: admission.New(admission.Options{Limit: 1, Waiting: 4, OverloadTimeout: time.Minute})}
		for range 5 {
			q.join(t.Context(), "many", 1, time.Second)
		}
		q.join(t.Context(), "few", 1, time.Second)
		q.join(t.Context(), "few", 1, time.Second)
		if got, want := q.served(), "many -many -many few many few many"; got != want {
			t.Errorf("served %s, want %s", got, want)
		}
	})
}

// TestOneFlowsOverloadIsNotAnothers refuses callers from one flow. A caller from another flow still gets the long burst
// time-out.
func TestOneFlowsOverloadIsNotAnothers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := longTimeout(1)
		for range 3 {
			go g.Enter(t.Context(), "many")
			synctest.Wait()
		}
		time.Sleep(time.Second)
		began := time.Now()
		if _, in := g.Enter(t.Context(), "few"); in || time.Since(began) != 250*time.Millisecond {
			t.Errorf("decided after %v", time.Since(began))
		}
	})
}

// TestHeavyCallersAreNotOvertakenForever keeps adding light callers to one flow while another flow's heavy caller
// waits.
func TestHeavyCallersAreNotOvertakenForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{gate: admission.New(admission.Options{Limit: 8, Waiting: -1, Spare: 2})}
		for range 6 {
			q.join(t.Context(), "light", 1, 10*time.Millisecond)
		}
		q.join(t.Context(), "heavy", 100, 10*time.Millisecond)
		for range 50 {
			q.join(t.Context(), "light", 1, 10*time.Millisecond)
			time.Sleep(time.Millisecond)
		}
		q.served()
		if at := slices.Index(q.order, "heavy"); at < 0 || at > 10 {
			t.Errorf("the heavy caller was number %d", at)
		}
	})
}

// TestACallerWhoGivesUpFreesTheQueue cancels a caller waiting for more slots than are free.
func TestACallerWhoGivesUpFreesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{gate: admission.New(admission.Options{Limit: 4, Waiting: -1})}
		q.join(t.Context(), "a", 3, time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		q.join(ctx, "heavy", 4, time.Minute)
		q.join(t.Context(), "b", 1, time.Minute)
		cancel()
		synctest.Wait()
		if got, want := strings.Join(q.order, " "), "a -heavy b"; got != want && got != "a b -heavy" {
			t.Errorf("served %s, want %s", got, want)
		}
		q.served()
	})
}

// TestIdleFlowsAreForgotten lets callers from 100,000 flows enter and leave.
func TestIdleFlowsAreForgotten(t *testing.T) {
	t.Parallel()
	g := admission.New(admission.Options{Limit: 4, Waiting: 4, OverloadTimeout: time.Hour, Interval: time.Hour})
	for n := range 100_000 {
		slot, in := g.Enter(t.Context(), fmt.Sprint(n))
		if !in {
			t.Fatal("a caller was refused")
		}
		slot.Leave()
	}
	if n := admission.Flows(g); n > 1000 {
		t.Errorf("%d flows are kept", n)
	}
}

// TestAFlowAloneMayTakeAll lets one flow have a gate to itself until another flow arrives.
func TestAFlowAloneMayTakeAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{gate: admission.New(admission.Options{Limit: 4, Waiting: -1, Share: 3, Alone: 10 * time.Second})}
		fill := func(flow string, want int) {
			t.Helper()
			for range 8 {
				q.join(t.Context(), flow, 1, time.Second)
			}
			if got := q.gate.Held(flow); got != want {
				t.Errorf("%s has %d slots, want %d", flow, got, want)
			}
		}
		fill("a", 4)
		fill("b", 0)
		time.Sleep(time.Second) // flow a's first four callers leave
		synctest.Wait()
		if a, b := q.gate.Held("a"), q.gate.Held("b"); a+b > 3 || a == 0 || b == 0 {
			t.Errorf("a has %d slots, b %d", a, b)
		}
		q.served()
		time.Sleep(10 * time.Second)
		fill("b", 4)
		q.served()
	})
}
