package jobs

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

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/crawl/slotstest"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/jobs/natstest"
)

const host = "example.org:8080"

func openSlots(t testing.TB, b *Broker) *HostSlots {
	t.Helper()
	slots := b.HostSlots(HostSlotsOptions{})
	t.Cleanup(slots.Close)
	return slots
}

// slotsOf returns the HostSlots of n crawlers. They share a server, but each has its own connection.
func slotsOf(t testing.TB, n int) []*HostSlots {
	t.Helper()
	srv := startServer(t, natsd.Options{NoSync: true})
	all := make([]*HostSlots, n)
	for i := range all {
		all[i] = openSlots(t, openBroker(t, connect(t, srv), Options{}))
	}
	return all
}

func reserve(t testing.TB, slots *HostSlots, pace domain.Pace, maxWait time.Duration) domain.HostSlot {
	t.Helper()
	slot, err := slots.Reserve(testContext(t), host, pace, maxWait)
	if err != nil {
		t.Fatalf("reserving: %v", err)
	}
	if slot.Granted != (slot.Release != nil) {
		t.Fatalf("slot is %+v", slot)
	}
	return slot
}

// await keeps requesting a slot until one is granted.
func await(ctx context.Context, slots *HostSlots, pace domain.Pace, maxWait time.Duration) (domain.HostSlot, error) {
	for {
		slot, err := slots.Reserve(ctx, host, pace, maxWait)
		if slot.Granted || err != nil && !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return slot, err
		}
		wait(ctx, min(slot.Wait, 100*time.Millisecond)+time.Millisecond)
	}
}

func awaited(t testing.TB, slots *HostSlots, pace domain.Pace, maxWait time.Duration) domain.HostSlot {
	t.Helper()
	slot, err := await(testContext(t), slots, pace, maxWait)
	if err != nil {
		t.Fatalf("waiting for a slot: %v", err)
	}
	return slot
}

func TestReserve(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	two := []slotLease{{"a", in(30 * time.Second)}, {"b", in(time.Minute)}}
	for name, c := range map[string]struct {
		state   hostState
		pace    domain.Pace
		maxWait time.Duration
		want    reservation
		after   hostState
	}{
		"a host that nobody asks is asked at once": {
			pace: domain.Pace{Concurrency: 2, Delay: time.Second, Lease: time.Minute},
			want: reservation{granted: true, start: now, until: in(time.Minute)}, after: hostState{Next: in(time.Second), Leases: []slotLease{{"x", in(time.Minute)}}},
		},
		"the next slot starts within the maximum wait": {
			state: hostState{Next: in(3 * time.Second)}, pace: domain.Pace{Delay: time.Second}, maxWait: 3 * time.Second,
			want: reservation{granted: true, start: in(3 * time.Second)}, after: hostState{Next: in(4 * time.Second)},
		},
		"the next slot is too far": {
			state: hostState{Next: in(3 * time.Second)}, pace: domain.Pace{Delay: time.Second}, maxWait: 2 * time.Second,
			want: reservation{wait: 3 * time.Second}, after: hostState{Next: in(3 * time.Second)},
		},
		"a hold comes before the turn": {
			state: hostState{Next: in(time.Second), Held: in(time.Minute)}, maxWait: time.Second,
			want: reservation{wait: time.Minute}, after: hostState{Next: in(time.Second), Held: in(time.Minute)},
		},
		"a slot after a hold": {
			state: hostState{Held: in(time.Second)}, pace: domain.Pace{Concurrency: 1}, maxWait: time.Second,
			want:  reservation{granted: true, start: in(time.Second), until: in(time.Second + defaultSlotLease)},
			after: hostState{Held: in(time.Second), Leases: []slotLease{{"x", in(time.Second + defaultSlotLease)}}},
		},
		"every place is taken": {
			state: hostState{Leases: two}, pace: domain.Pace{Concurrency: 2},
			want: reservation{wait: slotWait, full: true}, after: hostState{Leases: two},
		},
		"every place is taken by crawlers that are about to count as dead": {
			state: hostState{Leases: []slotLease{{"a", in(time.Millisecond)}}}, pace: domain.Pace{Concurrency: 1},
			want: reservation{wait: time.Millisecond, full: true}, after: hostState{Leases: []slotLease{{"a", in(time.Millisecond)}}},
		},
		"a place that becomes free before the turn": {
			state: hostState{Leases: two, Next: in(40 * time.Second)}, pace: domain.Pace{Concurrency: 2, Lease: time.Second}, maxWait: time.Hour,
			want:  reservation{granted: true, start: in(40 * time.Second), until: in(41 * time.Second)},
			after: hostState{Next: in(40 * time.Second), Leases: append(slices.Clone(two), slotLease{"x", in(41 * time.Second)})},
		},
		"a pace without limits leaves nothing behind": {want: reservation{granted: true, start: now}},
		"a delay and a lease beyond reason are cut": {
			pace: domain.Pace{Concurrency: 1, Delay: 48 * time.Hour, Lease: 48 * time.Hour},
			want: reservation{granted: true, start: now, until: in(maxSlotLease)}, after: hostState{Next: in(maxSlotDelay), Leases: []slotLease{{"x", in(maxSlotLease)}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.state.clone()
			got := s.reserve("x", c.pace, c.maxWait, now)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(reservation{})); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.after, s); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// promptSlots is a HostSlots whose Release returns only once all crawlers see the released slot.
type promptSlots struct{ *HostSlots }

func (p promptSlots) Reserve(ctx context.Context, host string, pace domain.Pace, maxWait time.Duration) (domain.HostSlot, error) {
	slot, err := p.HostSlots.Reserve(ctx, host, pace, maxWait)
	if release := slot.Release; slot.Granted {
		slot.Release = func() {
			release()
			// Requests are processed in order. This one releases a nonexistent slot; once it is answered, the previous
			// release has been processed, too.
			behind := &slotRequest{kind: releaseSlot, until: p.local().Add(time.Hour), answer: make(chan slotResult, 1)}
			_, _ = p.request(ctx, strings.ToLower(host), behind)
		}
	}
	return slot, err
}

func TestSlotsOfAFleetOnOneServer(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true})
	testSlots(t, func(t *testing.T) *Broker { return openBroker(t, connect(t, srv), Options{}) })
}

func TestSlotsOfAFleetOnACluster(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 3)
	testSlots(t, func(t *testing.T) *Broker { return openReplicated(t, c) })
}

// testSlots runs HostSlots' conformance tests. Each test has its own hosts.
func testSlots(t *testing.T, open func(*testing.T) *Broker) {
	var fleets atomic.Int64
	slotstest.Test(t, func(t *testing.T, now func() time.Time, n int) []crawl.HostSlots {
		fleet := fmt.Sprintf("fleet%d ", fleets.Add(1))
		all := make([]crawl.HostSlots, n)
		for i := range all {
			slots := open(t).HostSlots(HostSlotsOptions{Now: now})
			t.Cleanup(slots.Close)
			all[i] = separateProcesses{promptSlots{slots}, fleet}
		}
		return all
	})
}

// separateProcesses is a HostSlots that prefixes host names with the fleet's name. That way, fleets on the same servers
// do not share hosts.
type separateProcesses struct {
	crawl.HostSlots
	fleet string
}

func (a separateProcesses) Reserve(ctx context.Context, host string, pace domain.Pace, maxWait time.Duration) (domain.HostSlot, error) {
	return a.HostSlots.Reserve(ctx, a.fleet+host, pace, maxWait)
}

func (a separateProcesses) Hold(ctx context.Context, host string, until time.Time) error {
	return a.HostSlots.Hold(ctx, a.fleet+host, until)
}

func TestOneProcessObservesTheDelay(t *testing.T) {
	t.Parallel()
	slots := slotsOf(t, 1)[0]
	pace := domain.Pace{Concurrency: 10, Delay: 5 * time.Second, Lease: time.Minute}
	first, second := reserve(t, slots, pace, 0), reserve(t, slots, pace, 5*time.Second)
	if !first.Granted || first.Wait > time.Second {
		t.Errorf("first slot is %+v", first)
	}
	if !second.Granted || second.Wait < 4*time.Second || second.Wait > 5*time.Second {
		t.Errorf("second slot is %+v", second)
	}
	third := reserve(t, slots, pace, 5*time.Second)
	if third.Granted || third.Wait < 9*time.Second || third.Wait > 10*time.Second {
		t.Errorf("third slot is %+v", third)
	}
	elsewhere, err := slots.Reserve(testContext(t), "www."+host, pace, 0)
	if err != nil || !elsewhere.Granted {
		t.Errorf("another host: %+v, %v", elsewhere, err)
	}
	upper, err := slots.Reserve(testContext(t), strings.ToUpper(host), pace, 0)
	if err != nil || upper.Granted {
		t.Errorf("the same host in capitals: %+v, %v", upper, err)
	}
}

// crowd requests n slots, using several goroutines per crawler, and returns the sorted start times of the requests.
func crowd(t testing.TB, crawlers []*HostSlots, n int, pace domain.Pace, maxWait time.Duration) []time.Time {
	t.Helper()
	ctx := testContext(t)
	var mu sync.Mutex
	var starts []time.Time
	var left atomic.Int64
	left.Store(int64(n))
	var asking sync.WaitGroup
	for _, slots := range crawlers {
		for range 4 {
			asking.Go(func() {
				for left.Add(-1) >= 0 {
					slot, err := await(ctx, slots, pace, maxWait)
					if err != nil {
						t.Errorf("waiting for a slot: %v", err)
						return
					}
					mu.Lock()
					starts = append(starts, time.Now().Add(slot.Wait))
					mu.Unlock()
					slot.Release()
				}
			})
		}
	}
	asking.Wait()
	slices.SortFunc(starts, time.Time.Compare)
	return starts
}

// checkStarts fails if more requests started in any period than the delay allows. It ignores short periods, because a
// goroutine on a busy machine may read the clock late. It would still detect twice the allowed load.
func checkStarts(t testing.TB, starts []time.Time, delay time.Duration) {
	t.Helper()
	const slack = 500 * time.Millisecond
	for i := range starts {
		for j := i + 1; j < len(starts); j++ {
			if took, minimum := starts[j].Sub(starts[i]), time.Duration(j-i)*delay; took < minimum-slack {
				t.Fatalf("requests %d to %d of %d started within %s, and the pace allows no less than %s", i, j, len(starts), took, minimum)
			}
		}
	}
}

func TestTwoCrawlersDoNotDoubleTheLoad(t *testing.T) {
	t.Parallel()
	const delay, n = 40 * time.Millisecond, 50
	starts := crowd(t, slotsOf(t, 2), n, domain.Pace{Concurrency: 100, Delay: delay, Lease: time.Minute}, 200*time.Millisecond)
	if len(starts) != n {
		t.Fatalf("%d requests, want %d", len(starts), n)
	}
	checkStarts(t, starts, delay)
	t.Logf("%d requests in %s, the least is %s", n, starts[n-1].Sub(starts[0]).Round(time.Millisecond), (n-1)*delay)
}

func TestClocksThatDifferChangeNothing(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true})
	var crawlers []*HostSlots
	const most = 7 * time.Second
	for _, skew := range []time.Duration{0, most, -most} {
		b := openBroker(t, connect(t, srv), Options{Now: func() time.Time { return time.Now().Add(skew) }})
		crawlers = append(crawlers, openSlots(t, b))
	}
	const delay = 40 * time.Millisecond
	starts := crowd(t, crawlers, 30, domain.Pace{Delay: delay}, 200*time.Millisecond)
	checkStarts(t, starts, delay)
	if took := starts[29].Sub(starts[0]); took > most {
		t.Errorf("30 requests took %s, as if a crawler had waited for another's clock", took)
	}
	const other = "example.com"
	if err := crawlers[1].Hold(testContext(t), other, time.Now().Add(7*time.Second+time.Minute)); err != nil {
		t.Fatal(err)
	}
	slot, err := crawlers[2].Reserve(testContext(t), other, domain.Pace{}, 0)
	// The servers' time is only known to within a round trip.
	if err != nil || slot.Granted || slot.Wait < 55*time.Second || slot.Wait > 65*time.Second {
		t.Errorf("turn of a host that is held for a minute: %+v, %v", slot, err)
	}
}

func TestSlotsAreSharedByAllCrawlers(t *testing.T) {
	t.Parallel()
	crawlers := slotsOf(t, 3)
	const places, n = 3, 150
	pace := domain.Pace{Concurrency: places, Lease: time.Minute}
	ctx := testContext(t)
	var inside, limit, left atomic.Int64
	left.Store(n)
	var asking sync.WaitGroup
	for _, slots := range crawlers {
		for range 4 {
			asking.Go(func() {
				for left.Add(-1) >= 0 {
					slot, err := await(ctx, slots, pace, 0)
					if err != nil {
						t.Error(err)
						return
					}
					now := inside.Add(1)
					for m := limit.Load(); now > m && !limit.CompareAndSwap(m, now); m = limit.Load() {
					}
					wait(ctx, time.Millisecond)
					inside.Add(-1)
					slot.Release()
				}
			})
		}
	}
	asking.Wait()
	if got := limit.Load(); got > places || got < 2 {
		t.Errorf("%d requests at once, want up to %d", got, places)
	}
}

func TestASlotOfADeadCrawlerExpires(t *testing.T) {
	t.Parallel()
	crawlers := slotsOf(t, 2)
	pace := domain.Pace{Concurrency: 1, Lease: 500 * time.Millisecond}
	taken := reserve(t, crawlers[0], pace, 0)
	since := time.Now()
	refused := reserve(t, crawlers[1], pace, 0)
	if !taken.Granted || refused.Granted || refused.Wait <= 0 || refused.Wait > pace.Lease {
		t.Fatalf("turns are %+v and %+v", taken, refused)
	}
	awaited(t, crawlers[1], pace, 0).Release()
	if took := time.Since(since); took < 400*time.Millisecond {
		t.Errorf("the place was free after %s", took)
	}
}

func TestAHoldAppliesToAllAndIsOnlyExtended(t *testing.T) {
	t.Parallel()
	crawlers := slotsOf(t, 2)
	ctx := testContext(t)
	for _, hold := range []time.Duration{time.Minute, time.Second, -time.Hour} {
		if err := crawlers[0].Hold(ctx, host, time.Now().Add(hold)); err != nil {
			t.Fatal(err)
		}
	}
	for name, pace := range map[string]domain.Pace{"without limits": {}, "with limits": {Concurrency: 1, Delay: time.Second}} {
		for i, slots := range crawlers {
			if slot := reserve(t, slots, pace, 10*time.Second); slot.Granted || slot.Wait < 55*time.Second || slot.Wait > time.Minute {
				t.Errorf("slot of crawler %d at a pace %s: %+v", i, name, slot)
			}
			if slot := reserve(t, slots, domain.Pace{}, time.Minute); !slot.Granted || slot.Wait < 55*time.Second {
				t.Errorf("patient slot of crawler %d: %+v", i, slot)
			}
		}
	}
	if err := crawlers[1].Hold(ctx, host, time.Now().Add(1000*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if slot := reserve(t, crawlers[1], domain.Pace{}, time.Minute); slot.Granted || slot.Wait > MaxHold {
		t.Errorf("slot at a host that is held for too long: %+v", slot)
	}
}

func TestAPaceWithoutLimitsCostsNoRequests(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true})
	conn := connect(t, srv)
	slots := openSlots(t, openBroker(t, conn, Options{}))
	reserve(t, slots, domain.Pace{}, 0)
	before := conn.nc.Stats().OutMsgs
	for range 1000 {
		if slot := reserve(t, slots, domain.Pace{}, 0); !slot.Granted || slot.Wait > 0 {
			t.Fatalf("slot is %+v", slot)
		}
	}
	if sent := conn.nc.Stats().OutMsgs - before; sent > 50 { // two per second, on a busy machine
		t.Errorf("1,000 turns cost %d requests", sent)
	}
}

func TestCloseReleasesSlots(t *testing.T) {
	t.Parallel()
	crawlers := slotsOf(t, 2)
	pace := domain.Pace{Concurrency: 1, Lease: time.Hour}
	slot := reserve(t, crawlers[0], pace, 0)
	slot.Release()
	slot.Release() // releasing a slot twice must be harmless
	crawlers[0].Close()
	if slot := reserve(t, crawlers[1], pace, 0); !slot.Granted {
		t.Errorf("turn after the other crawler has left: %+v", slot)
	}
	if _, err := crawlers[0].Reserve(testContext(t), host, pace, 0); !errors.Is(err, ErrSlotsClosed) {
		t.Errorf("reserving after the end: %v", err)
	}
	if err := crawlers[0].Hold(testContext(t), host, time.Now().Add(time.Hour)); !errors.Is(err, ErrSlotsClosed) {
		t.Errorf("holding after the end: %v", err)
	}
	crawlers[0].Close()
}

func TestAnAbandonedSlotIsReleased(t *testing.T) {
	t.Parallel()
	slots := slotsOf(t, 1)[0]
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if _, err := slots.Reserve(ctx, host, domain.Pace{Concurrency: 1}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	h := &slotHost{name: host, subject: slotSubject(host)}
	left := &slotRequest{kind: reserveSlot, id: "left", pace: domain.Pace{Concurrency: 1}, abandoned: true, answer: make(chan slotResult, 1)}
	again, err := slots.attempt(h, []*slotRequest{left})
	if err != nil || len(again) != 1 || again[0].kind != releaseSlot || again[0].id != "left" {
		t.Fatalf("left to do: %+v, %v", again, err)
	}
	if _, err := slots.attempt(h, again); err != nil {
		t.Fatal(err)
	}
	if slot := reserve(t, slots, domain.Pace{Concurrency: 1}, 0); !slot.Granted {
		t.Errorf("slot is %+v", slot)
	}
}

func TestALateSlotIsReservedAgain(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true})
	var ahead atomic.Int64
	b := openBroker(t, connect(t, srv), Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	slots := openSlots(t, b)
	pace := domain.Pace{Concurrency: 1, Delay: time.Second}
	h := &slotHost{name: host, subject: slotSubject(host)}
	ask := &slotRequest{kind: reserveSlot, id: "late", pace: pace, maxWait: time.Minute, answer: make(chan slotResult, 1)}
	if _, err := slots.clock.now(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := slots.load(h); err != nil {
		t.Fatal(err)
	}
	next, answers, changed, err := slots.apply(h, []*slotRequest{ask})
	if err != nil || !changed {
		t.Fatalf("changed %t, %v", changed, err)
	}
	if err := slots.store(h, next); err != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(2 * time.Second)) // simulates a write that took two seconds
	again := slots.deliver(h, []*slotRequest{ask}, answers)
	if len(again) != 2 || again[0].kind != releaseSlot || again[0].id != "late" || again[1] != ask || ask.id == "late" {
		t.Fatalf("left to do: %+v", again)
	}
	if again, err = slots.attempt(h, again); err != nil || len(again) > 0 {
		t.Fatalf("left to do: %+v, %v", again, err)
	}
	if a := receive(t, ask.answer, "the turn"); !a.granted || len(h.state.Leases) != 1 {
		t.Errorf("answer is %+v, leases are %v", a, h.state.Leases)
	}
}

func TestWithoutNATSThereAreNoSlots(t *testing.T) {
	t.Parallel()
	o := natsd.Options{Dir: t.TempDir(), NoSync: true, Listen: "127.0.0.1:0", Token: "secret"}
	srv := startServer(t, o)
	address := srv.URL()
	conn, err := Connect(testContext(t), ConnectOptions{URL: address, Token: "secret", Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b := openBroker(t, conn, Options{RetryTimeout: 300 * time.Millisecond})
	slots := openSlots(t, b)
	pace := domain.Pace{Concurrency: 1, Lease: time.Hour}
	slot := reserve(t, slots, pace, 0)
	if err := srv.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	const other = "example.com" // a host whose state this process has never read
	if _, err := slots.Reserve(testContext(t), other, pace, 0); !errors.Is(err, ErrUnavailable) {
		t.Errorf("reserving without NATS: %v", err)
	}
	short, cancel := context.WithTimeout(testContext(t), time.Millisecond)
	defer cancel()
	if _, err := slots.Reserve(short, other, pace, 0); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("reserving for a moment without NATS: %v", err)
	}
	if err := slots.Hold(testContext(t), host, time.Now().Add(time.Hour)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("holding without NATS: %v", err)
	}
	slot.Release()
	o.Listen = strings.TrimPrefix(address, "nats://")
	startServer(t, o)
	ctx := testContext(t)
	for _, err := b.Repair(ctx, 0); err != nil; _, err = b.Repair(ctx, 0) { // a single server loses in-memory streams on restart
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	crawler := openSlots(t, b)
	for { // the failed hold is retried until it succeeds
		slot, err := crawler.Reserve(ctx, host, domain.Pace{}, 0)
		if err == nil && !slot.Granted {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the hold was forgotten: %+v, %v", slot, err)
		}
	}
}

func TestSlotsRecoverWithTheirStream(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	slots := openSlots(t, b)
	pace := domain.Pace{Concurrency: 2}
	reserve(t, slots, pace, 0)
	if err := b.js.DeleteStream(ctx, streamSlots); err != nil {
		t.Fatal(err)
	}
	if _, err := slots.Reserve(ctx, host, pace, 0); !errors.Is(err, ErrStreamLost) {
		t.Errorf("error is %v, want ErrStreamLost", err)
	}
	if _, err := b.Repair(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if slot := reserve(t, slots, pace, 0); !slot.Granted {
		t.Errorf("slot is %+v", slot)
	}
}

func TestThePaceIsKeptWhileAServerIsKilled(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 3)
	first, second := openReplicated(t, c), openReplicated(t, c)
	crawlers := []*HostSlots{openSlots(t, first), openSlots(t, second)}
	const delay, n = 100 * time.Millisecond, 60
	killed := make(chan struct{})
	reserved := make(chan struct{})
	go func() {
		defer close(killed)
		<-reserved
		leaderOf(t, first, c, streamSlots).Kill()
	}()
	pace := domain.Pace{Concurrency: 2, Delay: delay, Lease: 2 * time.Second}
	before := crowd(t, crawlers, n, pace, time.Second)
	close(reserved)
	after := crowd(t, crawlers, n, pace, time.Second)
	<-killed
	starts := append(before, after...)
	if len(starts) != 2*n {
		t.Fatalf("%d requests, want %d", len(starts), 2*n)
	}
	slices.SortFunc(starts, time.Time.Compare)
	checkStarts(t, starts, delay)
	t.Logf("%d requests in %s, the least is %s", 2*n, starts[2*n-1].Sub(starts[0]).Round(time.Millisecond), (2*n-1)*delay)
}

func BenchmarkHostSlots(b *testing.B) {
	for name, c := range map[string]struct {
		crawlers, asking int
		hosts            []string
	}{
		"one host, one goroutine":                    {1, 1, []string{"a"}},
		"one host, 16 goroutines":                    {1, 16, []string{"a"}},
		"one host, 4 crawlers of 8 goroutines":       {4, 8, []string{"a"}},
		"16 hosts, 4 crawlers of 8 goroutines":       {4, 8, strings.Split("abcdefghijklmnop", "")},
		"one host, 4 crawlers of a single goroutine": {4, 1, []string{"a"}},
	} {
		b.Run(name, func(b *testing.B) {
			crawlers := slotsOf(b, c.crawlers)
			pace := domain.Pace{Concurrency: 256, Lease: time.Minute}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var left, refused atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var asking sync.WaitGroup
			for _, slots := range crawlers {
				for range c.asking {
					asking.Go(func() {
						for i := left.Add(-1); i >= 0; i = left.Add(-1) {
							slot, err := slots.Reserve(ctx, c.hosts[int(i)%len(c.hosts)], pace, 0)
							if err != nil {
								b.Error(err)
								return
							}
							if !slot.Granted {
								refused.Add(1)
								continue
							}
							slot.Release()
						}
					})
				}
			}
			asking.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
			b.ReportMetric(float64(refused.Load())/float64(b.N), "refused/turn")
		})
	}
}
