// Package slotstest contains conformance tests for implementations of crawl.HostSlots.
package slotstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/domain"
)

// Open returns HostSlots for n crawlers that share slots with each other, but not with those from other calls. The
// slots use the clock `now`, which moves only when a test advances it.
type Open func(t *testing.T, now func() time.Time, n int) []crawl.HostSlots

// Test runs all tests against the implementation.
func Test(t *testing.T, open Open) {
	for name, test := range map[string]func(*testing.T, *fleet){
		"no more slots are out than may be at once":                concurrency,
		"any number is out where there is no limit":                unlimited,
		"the delay lies between two starts":                        delay,
		"a slot after the maximum wait is not granted":             boundedWait,
		"a held host receives no requests":                         hold,
		"a hold is never shortened":                                longestHold,
		"a slot whose holder has died ends with its lease":         lease,
		"a slot given back too late ends no other":                 lateRelease,
		"hosts do not wait for one another":                        hosts,
		"any name may be a host's":                                 names,
		"crawlers that ask at once get one slot each":              together,
		"crawlers that take turns all progress":                    progress,
		"a caller whose context has ended takes no slot":           cancelled,
		"slots end with their requests, in whatever order":         order,
		"a host is asked at the pace that its newest request asks": newestPace,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
			test(t, &fleet{clock: c, slots: open(t, c.now, crawlers)})
		})
	}
}

const (
	crawlers = 3
	host     = "pumps.example"
	long     = time.Hour
)

type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// fleet is a group of crawlers that share slots and take turns asking for them.
type fleet struct {
	*clock
	slots []crawl.HostSlots
	asked atomic.Int64
}

func (f *fleet) next() crawl.HostSlots { return f.slots[int(f.asked.Add(1))%len(f.slots)] }

func (f *fleet) reserve(t *testing.T, host string, pace domain.Pace, maxWait time.Duration) domain.HostSlot {
	t.Helper()
	slot, err := f.next().Reserve(t.Context(), host, pace, maxWait)
	if err != nil {
		t.Fatalf("reserving a slot at %.80q: %v", host, err)
	}
	if slot.Granted != (slot.Release != nil) || slot.Wait < 0 || !slot.Granted && slot.Wait == 0 {
		t.Fatalf("the slot is neither granted nor refused: %+v", slot)
	}
	return slot
}

func (f *fleet) granted(t *testing.T, pace domain.Pace, wait time.Duration) domain.HostSlot {
	t.Helper()
	slot := f.reserve(t, host, pace, long)
	if !slot.Granted || slot.Wait != wait {
		t.Fatalf("got a slot (granted: %t) in %s, want one in %s", slot.Granted, slot.Wait, wait)
	}
	return slot
}

func (f *fleet) refused(t *testing.T, pace domain.Pace, maxWait time.Duration) time.Duration {
	t.Helper()
	slot := f.reserve(t, host, pace, maxWait)
	if slot.Granted {
		t.Fatalf("a slot in %s was granted", slot.Wait)
	}
	return slot.Wait
}

func (f *fleet) hold(t *testing.T, d time.Duration) {
	t.Helper()
	if err := f.next().Hold(t.Context(), host, f.now().Add(d)); err != nil {
		t.Fatalf("holding the host: %v", err)
	}
}

func concurrency(t *testing.T, f *fleet) {
	pace := domain.Pace{Concurrency: 3, Lease: time.Minute}
	var out []domain.HostSlot
	for range 3 {
		out = append(out, f.granted(t, pace, 0))
	}
	if wait := f.refused(t, pace, long); wait > time.Minute {
		t.Errorf("asking again is said to be worth it in %s, after every lease has ended", wait)
	}
	out[1].Release()
	f.granted(t, pace, 0)
	f.refused(t, pace, long)
}

func unlimited(t *testing.T, f *fleet) {
	for range 50 {
		f.granted(t, domain.Pace{Lease: time.Minute}, 0)
	}
}

func delay(t *testing.T, f *fleet) {
	pace := domain.Pace{Concurrency: 10, Delay: 2 * time.Second, Lease: time.Minute}
	for i := range 4 {
		f.granted(t, pace, time.Duration(i)*pace.Delay).Release()
	}
	f.pass(7 * time.Second)
	f.granted(t, pace, time.Second)
	f.pass(time.Minute)
	f.granted(t, pace, 0) // unused starts do not accumulate
	f.granted(t, pace, pace.Delay)
}

func boundedWait(t *testing.T, f *fleet) {
	pace := domain.Pace{Concurrency: 10, Delay: 10 * time.Second, Lease: time.Minute}
	f.granted(t, pace, 0)
	for range 5 { // a refused request does not use up a start
		if wait := f.refused(t, pace, 9*time.Second); wait != 10*time.Second {
			t.Errorf("the wait is said to be %s, want 10s", wait)
		}
	}
	if slot := f.reserve(t, host, pace, 10*time.Second); !slot.Granted || slot.Wait != 10*time.Second {
		t.Errorf("a slot at the end of the maximum wait: %+v", slot)
	}
}

func hold(t *testing.T, f *fleet) {
	pace := domain.Pace{Concurrency: 2, Delay: time.Second, Lease: time.Minute}
	out := f.granted(t, pace, 0)
	f.hold(t, 5*time.Minute)
	if wait := f.refused(t, pace, time.Minute); wait != 5*time.Minute {
		t.Errorf("the host is said to be free in %s", wait)
	}
	out.Release()
	if slot := f.reserve(t, "other.example", pace, 0); !slot.Granted || slot.Wait != 0 {
		t.Errorf("another host has to wait: %+v", slot)
	}
	f.pass(4 * time.Minute)
	f.granted(t, pace, time.Minute)             // a patient caller waits until the hold ends
	f.granted(t, pace, time.Minute+time.Second) // and the delay counts from there
	f.pass(3 * time.Minute)
	f.granted(t, pace, 0)
}

func longestHold(t *testing.T, f *fleet) {
	f.hold(t, time.Minute)
	f.hold(t, time.Second)
	f.hold(t, -time.Hour)
	f.granted(t, domain.Pace{Lease: time.Minute}, time.Minute)
	f.hold(t, 2*time.Minute)
	f.granted(t, domain.Pace{Lease: time.Minute}, 2*time.Minute)
}

func lease(t *testing.T, f *fleet) {
	pace := domain.Pace{Concurrency: 1, Lease: 30 * time.Second}
	f.granted(t, pace, 0)
	f.pass(29 * time.Second)
	if wait := f.refused(t, pace, long); wait > time.Second {
		t.Errorf("asking again is said to be worth it in %s, the lease ends in a second", wait)
	}
	f.pass(time.Second)
	f.granted(t, pace, 0)
	f.pass(30 * time.Second)
	f.hold(t, 10*time.Second)
	f.granted(t, pace, 10*time.Second)
	f.pass(39 * time.Second) // the lease counts from the start of the request
	f.refused(t, pace, long)
	f.pass(time.Second)
	f.granted(t, pace, 0)
}

func lateRelease(t *testing.T, f *fleet) {
	pace := domain.Pace{Concurrency: 1, Lease: 30 * time.Second}
	slow := f.granted(t, pace, 0)
	f.pass(time.Minute)
	f.granted(t, pace, 0)
	slow.Release()
	f.refused(t, pace, long)
}

func hosts(t *testing.T, f *fleet) {
	pace := domain.Pace{Concurrency: 1, Delay: time.Minute, Lease: time.Minute}
	for i := range 100 {
		name := fmt.Sprintf("h%d.example", i)
		if slot := f.reserve(t, name, pace, 0); !slot.Granted || slot.Wait != 0 {
			t.Errorf("%s has to wait for the others: %+v", name, slot)
		}
	}
}

func names(t *testing.T, f *fleet) {
	pace := domain.Pace{Concurrency: 1, Lease: time.Minute}
	for _, name := range []string{
		"localhost", "127.0.0.1:8080", "[2001:db8::1]:443", "xn--bcher-kva.example", "a.b.c.d.example:65535", "*.example", ">",
		"under_score.example", "-dash-.example", "$KV.example", "..", " ", strings.Repeat("a", 250) + ".example", "pumps example",
		"pumps.example:80", "pumps.example:8", "PUMPS.example.", "bücher.example", "a/b\\c", "%41",
	} {
		slot := f.reserve(t, name, pace, 0)
		if !slot.Granted {
			t.Errorf("%.40q is taken for another host", name)
			continue
		}
		if again := f.reserve(t, name, pace, 0); again.Granted {
			t.Errorf("%.40q has two slots out", name)
		}
		slot.Release()
		if again := f.reserve(t, name, pace, 0); !again.Granted {
			t.Errorf("%.40q has not got its slot back", name)
		}
	}
}

func together(t *testing.T, f *fleet) {
	const n = 24
	pace := domain.Pace{Concurrency: n, Delay: time.Second, Lease: time.Hour}
	waits := make([]time.Duration, n+6)
	granted := make([]bool, n+6)
	var wg sync.WaitGroup
	for i := range waits {
		wg.Go(func() {
			slot, err := f.next().Reserve(t.Context(), host, pace, long)
			if err != nil {
				t.Errorf("reserving a slot: %v", err)
			}
			granted[i], waits[i] = slot.Granted, slot.Wait
		})
	}
	wg.Wait()
	var starts []time.Duration
	for i, ok := range granted {
		if ok {
			starts = append(starts, waits[i])
		}
	}
	slices.Sort(starts)
	if len(starts) != n {
		t.Fatalf("%d slots were granted, want %d", len(starts), n)
	}
	for i, start := range starts {
		if want := time.Duration(i) * time.Second; start != want {
			t.Errorf("start %d is in %s, want %s: one was lost, or given twice", i, start, want)
		}
	}
}

func progress(t *testing.T, f *fleet) {
	const workers, slots, limit = 6, 5, 2
	pace := domain.Pace{Concurrency: limit, Lease: time.Hour}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, peak atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			mine := f.next()
			for done := 0; done < slots; {
				slot, err := mine.Reserve(ctx, host, pace, long)
				if err != nil {
					t.Errorf("reserving a slot: %v", err)
					return
				}
				if !slot.Granted {
					continue
				}
				n := out.Add(1)
				for m := peak.Load(); n > m && !peak.CompareAndSwap(m, n); m = peak.Load() {
				}
				out.Add(-1)
				slot.Release()
				done++
			}
		})
	}
	wg.Wait()
	if m := peak.Load(); m > limit {
		t.Errorf("%d slots were out at once, want at most %d", m, limit)
	}
}

func cancelled(t *testing.T, f *fleet) {
	pace := domain.Pace{Concurrency: 1, Delay: time.Minute, Lease: time.Minute}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if slot, err := f.next().Reserve(ctx, host, pace, long); !errors.Is(err, context.Canceled) || slot.Granted {
		t.Errorf("got %+v, %v", slot, err)
	}
	f.granted(t, pace, 0)
}

func order(t *testing.T, f *fleet) {
	pace := domain.Pace{Concurrency: 4, Lease: time.Minute}
	var out []domain.HostSlot
	for range pace.Concurrency {
		out = append(out, f.granted(t, pace, 0))
	}
	for _, i := range []int{2, 0, 3, 1} {
		out[i].Release()
	}
	for range pace.Concurrency {
		f.granted(t, pace, 0)
	}
	f.refused(t, pace, long)
}

func newestPace(t *testing.T, f *fleet) {
	f.granted(t, domain.Pace{Concurrency: 2, Lease: time.Minute}, 0).Release()
	slow := domain.Pace{Concurrency: 2, Delay: 20 * time.Second, Lease: time.Minute}
	f.granted(t, slow, 0).Release()
	f.granted(t, slow, 20*time.Second).Release()
}
