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
	"github.com/sluice/sluice/pkg/crawl/turnstest"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/jobs/natstest"
)

const host = "example.org:8080"

func openTurns(t testing.TB, b *Broker) *Turns {
	t.Helper()
	turns := b.Turns(TurnsOptions{})
	t.Cleanup(turns.Close)
	return turns
}

// turnsOf are those of several crawlers that share a server, each with a connection of its own.
func turnsOf(t testing.TB, n int) []*Turns {
	t.Helper()
	srv := startServer(t, natsd.Options{NoSync: true})
	all := make([]*Turns, n)
	for i := range all {
		all[i] = openTurns(t, openBroker(t, connect(t, srv), Options{}))
	}
	return all
}

func reserve(t testing.TB, turns *Turns, pace domain.Pace, patience time.Duration) domain.Turn {
	t.Helper()
	turn, err := turns.Reserve(testContext(t), host, pace, patience)
	if err != nil {
		t.Fatalf("reserving: %v", err)
	}
	if turn.Granted != (turn.Release != nil) {
		t.Fatalf("turn is %+v", turn)
	}
	return turn
}

// await asks for a turn, again whenever it is refused, until it is granted.
func await(ctx context.Context, turns *Turns, pace domain.Pace, patience time.Duration) (domain.Turn, error) {
	for {
		turn, err := turns.Reserve(ctx, host, pace, patience)
		if turn.Granted || err != nil && !errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return turn, err
		}
		wait(ctx, min(turn.Wait, 100*time.Millisecond)+time.Millisecond)
	}
}

func awaited(t testing.TB, turns *Turns, pace domain.Pace, patience time.Duration) domain.Turn {
	t.Helper()
	turn, err := await(testContext(t), turns, pace, patience)
	if err != nil {
		t.Fatalf("waiting for a turn: %v", err)
	}
	return turn
}

func TestReservingAgainstAState(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	in := func(d time.Duration) time.Time { return now.Add(d) }
	two := []turnLease{{"a", in(30 * time.Second)}, {"b", in(time.Minute)}}
	for name, c := range map[string]struct {
		state    turnState
		pace     domain.Pace
		patience time.Duration
		want     verdict
		after    turnState
	}{
		"a host that nobody asks is asked at once": {
			pace: domain.Pace{Concurrency: 2, Delay: time.Second, Lease: time.Minute},
			want: verdict{granted: true, start: now, until: in(time.Minute)}, after: turnState{Next: in(time.Second), Leases: []turnLease{{"x", in(time.Minute)}}},
		},
		"the next turn comes within patience": {
			state: turnState{Next: in(3 * time.Second)}, pace: domain.Pace{Delay: time.Second}, patience: 3 * time.Second,
			want: verdict{granted: true, start: in(3 * time.Second)}, after: turnState{Next: in(4 * time.Second)},
		},
		"the next turn is too far": {
			state: turnState{Next: in(3 * time.Second)}, pace: domain.Pace{Delay: time.Second}, patience: 2 * time.Second,
			want: verdict{wait: 3 * time.Second}, after: turnState{Next: in(3 * time.Second)},
		},
		"a hold comes before the turn": {
			state: turnState{Next: in(time.Second), Held: in(time.Minute)}, patience: time.Second,
			want: verdict{wait: time.Minute}, after: turnState{Next: in(time.Second), Held: in(time.Minute)},
		},
		"a turn after a hold": {
			state: turnState{Held: in(time.Second)}, pace: domain.Pace{Concurrency: 1}, patience: time.Second,
			want:  verdict{granted: true, start: in(time.Second), until: in(time.Second + defaultTurnLease)},
			after: turnState{Held: in(time.Second), Leases: []turnLease{{"x", in(time.Second + defaultTurnLease)}}},
		},
		"every place is taken": {
			state: turnState{Leases: two}, pace: domain.Pace{Concurrency: 2},
			want: verdict{wait: slotWait, crowded: true}, after: turnState{Leases: two},
		},
		"every place is taken by crawlers that are about to count as dead": {
			state: turnState{Leases: []turnLease{{"a", in(time.Millisecond)}}}, pace: domain.Pace{Concurrency: 1},
			want: verdict{wait: time.Millisecond, crowded: true}, after: turnState{Leases: []turnLease{{"a", in(time.Millisecond)}}},
		},
		"a place that becomes free before the turn": {
			state: turnState{Leases: two, Next: in(40 * time.Second)}, pace: domain.Pace{Concurrency: 2, Lease: time.Second}, patience: time.Hour,
			want:  verdict{granted: true, start: in(40 * time.Second), until: in(41 * time.Second)},
			after: turnState{Next: in(40 * time.Second), Leases: append(slices.Clone(two), turnLease{"x", in(41 * time.Second)})},
		},
		"a pace without limits leaves nothing behind": {want: verdict{granted: true, start: now}},
		"a delay and a lease beyond reason are cut": {
			pace: domain.Pace{Concurrency: 1, Delay: 48 * time.Hour, Lease: 48 * time.Hour},
			want: verdict{granted: true, start: now, until: in(maxTurnLease)}, after: turnState{Next: in(maxTurnDelay), Leases: []turnLease{{"x", in(maxTurnLease)}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.state.clone()
			got := s.reserve("x", c.pace, c.patience, now)
			if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.after, s); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// prompt are Turns whose Release returns when every crawler sees it.
type prompt struct{ *Turns }

func (p prompt) Reserve(ctx context.Context, host string, pace domain.Pace, patience time.Duration) (domain.Turn, error) {
	turn, err := p.Turns.Reserve(ctx, host, pace, patience)
	if release := turn.Release; turn.Granted {
		turn.Release = func() {
			release()
			// Carried out after what was asked for before; it gives back what nobody has.
			behind := &turnRequest{kind: endTurn, until: p.local().Add(time.Hour), answer: make(chan turnAnswer, 1)}
			_, _ = p.do(ctx, strings.ToLower(host), behind)
		}
	}
	return turn, err
}

func TestTurnsOfAFleetOnOneServer(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true})
	testTurns(t, func(t *testing.T) *Broker { return openBroker(t, connect(t, srv), Options{}) })
}

func TestTurnsOfAFleetOnACluster(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 3)
	testTurns(t, func(t *testing.T) *Broker { return openReplicated(t, c) })
}

// testTurns runs the tests of all implementations; each of them has hosts of its own.
func testTurns(t *testing.T, open func(*testing.T) *Broker) {
	var fleets atomic.Int64
	turnstest.Test(t, func(t *testing.T, now func() time.Time, n int) []crawl.Turns {
		fleet := fmt.Sprintf("fleet%d ", fleets.Add(1))
		all := make([]crawl.Turns, n)
		for i := range all {
			turns := open(t).Turns(TurnsOptions{Now: now})
			t.Cleanup(turns.Close)
			all[i] = apart{prompt{turns}, fleet}
		}
		return all
	})
}

// apart keeps the hosts of a fleet from those of others on the same servers.
type apart struct {
	crawl.Turns
	fleet string
}

func (a apart) Reserve(ctx context.Context, host string, pace domain.Pace, patience time.Duration) (domain.Turn, error) {
	return a.Turns.Reserve(ctx, a.fleet+host, pace, patience)
}

func (a apart) Hold(ctx context.Context, host string, until time.Time) error {
	return a.Turns.Hold(ctx, a.fleet+host, until)
}

func TestOneProcessKeepsToTheDelay(t *testing.T) {
	t.Parallel()
	turns := turnsOf(t, 1)[0]
	pace := domain.Pace{Concurrency: 10, Delay: 5 * time.Second, Lease: time.Minute}
	first, second := reserve(t, turns, pace, 0), reserve(t, turns, pace, 5*time.Second)
	if !first.Granted || first.Wait > time.Second {
		t.Errorf("first turn is %+v", first)
	}
	if !second.Granted || second.Wait < 4*time.Second || second.Wait > 5*time.Second {
		t.Errorf("second turn is %+v", second)
	}
	third := reserve(t, turns, pace, 5*time.Second)
	if third.Granted || third.Wait < 9*time.Second || third.Wait > 10*time.Second {
		t.Errorf("third turn is %+v", third)
	}
	elsewhere, err := turns.Reserve(testContext(t), "www."+host, pace, 0)
	if err != nil || !elsewhere.Granted {
		t.Errorf("another host: %+v, %v", elsewhere, err)
	}
	upper, err := turns.Reserve(testContext(t), strings.ToUpper(host), pace, 0)
	if err != nil || upper.Granted {
		t.Errorf("the same host in capitals: %+v, %v", upper, err)
	}
}

// crowd asks for n turns with several goroutines for each of the crawlers, and returns when the requests started.
func crowd(t testing.TB, crawlers []*Turns, n int, pace domain.Pace, patience time.Duration) []time.Time {
	t.Helper()
	ctx := testContext(t)
	var mu sync.Mutex
	var starts []time.Time
	var left atomic.Int64
	left.Store(int64(n))
	var asking sync.WaitGroup
	for _, turns := range crawlers {
		for range 4 {
			asking.Go(func() {
				for left.Add(-1) >= 0 {
					turn, err := await(ctx, turns, pace, patience)
					if err != nil {
						t.Errorf("waiting for a turn: %v", err)
						return
					}
					mu.Lock()
					starts = append(starts, time.Now().Add(turn.Wait))
					mu.Unlock()
					turn.Release()
				}
			})
		}
	}
	asking.Wait()
	slices.SortFunc(starts, time.Time.Compare)
	return starts
}

// checkStarts fails if more requests started in any stretch of time than the delay allows. Slack is for the time between an
// answer and the look at the clock.
func checkStarts(t testing.TB, starts []time.Time, delay, slack time.Duration) {
	t.Helper()
	for i := range starts {
		for j := i + 1; j < len(starts); j++ {
			if took, least := starts[j].Sub(starts[i]), time.Duration(j-i)*delay; took < least-slack {
				t.Fatalf("requests %d to %d of %d started within %s, and the pace allows no less than %s", i, j, len(starts), took, least)
			}
		}
	}
}

func TestTwoCrawlersDoNotDoubleTheLoad(t *testing.T) {
	t.Parallel()
	const delay, n = 40 * time.Millisecond, 50
	starts := crowd(t, turnsOf(t, 2), n, domain.Pace{Concurrency: 100, Delay: delay, Lease: time.Minute}, 200*time.Millisecond)
	if len(starts) != n {
		t.Fatalf("%d requests, want %d", len(starts), n)
	}
	checkStarts(t, starts, delay, 60*time.Millisecond)
	t.Logf("%d requests in %s, the least is %s", n, starts[n-1].Sub(starts[0]).Round(time.Millisecond), (n-1)*delay)
}

func TestClocksThatDifferChangeNothing(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true})
	var crawlers []*Turns
	for _, skew := range []time.Duration{0, 7 * time.Second, -7 * time.Second} {
		b := openBroker(t, connect(t, srv), Options{Now: func() time.Time { return time.Now().Add(skew) }})
		crawlers = append(crawlers, openTurns(t, b))
	}
	const delay = 40 * time.Millisecond
	starts := crowd(t, crawlers, 30, domain.Pace{Delay: delay}, 200*time.Millisecond)
	checkStarts(t, starts, delay, 60*time.Millisecond)
	if took := starts[29].Sub(starts[0]); took > 5*time.Second {
		t.Errorf("30 requests took %s", took)
	}
	const other = "example.com"
	if err := crawlers[1].Hold(testContext(t), other, time.Now().Add(7*time.Second+time.Minute)); err != nil {
		t.Fatal(err)
	}
	turn, err := crawlers[2].Reserve(testContext(t), other, domain.Pace{}, 0)
	// The servers' clock is known but for a round trip, each way.
	if err != nil || turn.Granted || turn.Wait < 55*time.Second || turn.Wait > 65*time.Second {
		t.Errorf("turn of a host that is held for a minute: %+v, %v", turn, err)
	}
}

func TestPlacesAreSharedByAllCrawlers(t *testing.T) {
	t.Parallel()
	crawlers := turnsOf(t, 3)
	const places, n = 3, 150
	pace := domain.Pace{Concurrency: places, Lease: time.Minute}
	ctx := testContext(t)
	var inside, most, left atomic.Int64
	left.Store(n)
	var asking sync.WaitGroup
	for _, turns := range crawlers {
		for range 4 {
			asking.Go(func() {
				for left.Add(-1) >= 0 {
					turn, err := await(ctx, turns, pace, 0)
					if err != nil {
						t.Error(err)
						return
					}
					now := inside.Add(1)
					for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
					}
					wait(ctx, time.Millisecond)
					inside.Add(-1)
					turn.Release()
				}
			})
		}
	}
	asking.Wait()
	if got := most.Load(); got > places || got < 2 {
		t.Errorf("%d requests at once, want up to %d", got, places)
	}
}

func TestATurnOfADeadCrawlerEnds(t *testing.T) {
	t.Parallel()
	crawlers := turnsOf(t, 2)
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

func TestAHoldIsKeptByAllAndOnlyGrows(t *testing.T) {
	t.Parallel()
	crawlers := turnsOf(t, 2)
	ctx := testContext(t)
	for _, hold := range []time.Duration{time.Minute, time.Second, -time.Hour} {
		if err := crawlers[0].Hold(ctx, host, time.Now().Add(hold)); err != nil {
			t.Fatal(err)
		}
	}
	for name, pace := range map[string]domain.Pace{"without limits": {}, "with limits": {Concurrency: 1, Delay: time.Second}} {
		for i, turns := range crawlers {
			if turn := reserve(t, turns, pace, 10*time.Second); turn.Granted || turn.Wait < 55*time.Second || turn.Wait > time.Minute {
				t.Errorf("turn of crawler %d at a pace %s: %+v", i, name, turn)
			}
			if turn := reserve(t, turns, domain.Pace{}, time.Minute); !turn.Granted || turn.Wait < 55*time.Second {
				t.Errorf("patient turn of crawler %d: %+v", i, turn)
			}
		}
	}
	if err := crawlers[1].Hold(ctx, host, time.Now().Add(1000*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if turn := reserve(t, crawlers[1], domain.Pace{}, time.Minute); turn.Granted || turn.Wait > MaxHold {
		t.Errorf("turn at a host that is held for too long: %+v", turn)
	}
}

func TestAPaceWithoutLimitsCostsNoRequests(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true})
	conn := connect(t, srv)
	turns := openTurns(t, openBroker(t, conn, Options{}))
	reserve(t, turns, domain.Pace{}, 0)
	before := conn.nc.Stats().OutMsgs
	for range 1000 {
		if turn := reserve(t, turns, domain.Pace{}, 0); !turn.Granted || turn.Wait > 0 {
			t.Fatalf("turn is %+v", turn)
		}
	}
	if sent := conn.nc.Stats().OutMsgs - before; sent > 50 { // two a second, on a machine that is busy
		t.Errorf("1,000 turns cost %d requests", sent)
	}
}

func TestClosingGivesTurnsBack(t *testing.T) {
	t.Parallel()
	crawlers := turnsOf(t, 2)
	pace := domain.Pace{Concurrency: 1, Lease: time.Hour}
	turn := reserve(t, crawlers[0], pace, 0)
	turn.Release()
	turn.Release() // once more than it should
	crawlers[0].Close()
	if turn := reserve(t, crawlers[1], pace, 0); !turn.Granted {
		t.Errorf("turn after the other crawler has left: %+v", turn)
	}
	if _, err := crawlers[0].Reserve(testContext(t), host, pace, 0); !errors.Is(err, ErrTurnsClosed) {
		t.Errorf("reserving after the end: %v", err)
	}
	if err := crawlers[0].Hold(testContext(t), host, time.Now().Add(time.Hour)); !errors.Is(err, ErrTurnsClosed) {
		t.Errorf("holding after the end: %v", err)
	}
	crawlers[0].Close()
}

func TestATurnThatNobodyWaitsForIsGivenBack(t *testing.T) {
	t.Parallel()
	turns := turnsOf(t, 1)[0]
	ctx, cancel := context.WithCancel(testContext(t))
	cancel()
	if _, err := turns.Reserve(ctx, host, domain.Pace{Concurrency: 1}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	h := &turnHost{name: host, subject: turnSubject(host)}
	left := &turnRequest{kind: askTurn, id: "left", pace: domain.Pace{Concurrency: 1}, abandoned: true, answer: make(chan turnAnswer, 1)}
	again, err := turns.attempt(h, []*turnRequest{left})
	if err != nil || len(again) != 1 || again[0].kind != endTurn || again[0].id != "left" {
		t.Fatalf("left to do: %+v, %v", again, err)
	}
	if _, err := turns.attempt(h, again); err != nil {
		t.Fatal(err)
	}
	if turn := reserve(t, turns, domain.Pace{Concurrency: 1}, 0); !turn.Granted {
		t.Errorf("turn is %+v", turn)
	}
}

func TestATurnThatComesTooLateIsTakenAnew(t *testing.T) {
	t.Parallel()
	srv := startServer(t, natsd.Options{NoSync: true})
	var ahead atomic.Int64
	b := openBroker(t, connect(t, srv), Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
	turns := openTurns(t, b)
	pace := domain.Pace{Concurrency: 1, Delay: time.Second}
	h := &turnHost{name: host, subject: turnSubject(host)}
	ask := &turnRequest{kind: askTurn, id: "late", pace: pace, patience: time.Minute, answer: make(chan turnAnswer, 1)}
	if _, err := turns.clock.now(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := turns.load(h); err != nil {
		t.Fatal(err)
	}
	next, answers, changed, err := turns.apply(h, []*turnRequest{ask})
	if err != nil || !changed {
		t.Fatalf("changed %t, %v", changed, err)
	}
	if err := turns.store(h, next); err != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(2 * time.Second)) // as if the write had taken so long
	again := turns.deliver(h, []*turnRequest{ask}, answers)
	if len(again) != 2 || again[0].kind != endTurn || again[0].id != "late" || again[1] != ask || ask.id == "late" {
		t.Fatalf("left to do: %+v", again)
	}
	if again, err = turns.attempt(h, again); err != nil || len(again) > 0 {
		t.Fatalf("left to do: %+v, %v", again, err)
	}
	if a := receive(t, ask.answer, "the turn"); !a.granted || len(h.state.Leases) != 1 {
		t.Errorf("answer is %+v, leases are %v", a, h.state.Leases)
	}
}

func TestWithoutNATSNobodyHasATurn(t *testing.T) {
	t.Parallel()
	o := natsd.Options{Dir: t.TempDir(), NoSync: true, Listen: "127.0.0.1:0", Token: "secret"}
	srv := startServer(t, o)
	address := srv.URL()
	conn, err := Connect(testContext(t), ConnectOptions{URL: address, Token: "secret", Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	b := openBroker(t, conn, Options{Patience: 300 * time.Millisecond})
	turns := openTurns(t, b)
	pace := domain.Pace{Concurrency: 1, Lease: time.Hour}
	turn := reserve(t, turns, pace, 0)
	if err := srv.Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	const other = "example.com" // of which nothing is known here
	if _, err := turns.Reserve(testContext(t), other, pace, 0); !errors.Is(err, ErrUnavailable) {
		t.Errorf("reserving without NATS: %v", err)
	}
	short, cancel := context.WithTimeout(testContext(t), time.Millisecond)
	defer cancel()
	if _, err := turns.Reserve(short, other, pace, 0); !errors.Is(err, ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("reserving for a moment without NATS: %v", err)
	}
	if err := turns.Hold(testContext(t), host, time.Now().Add(time.Hour)); !errors.Is(err, ErrUnavailable) {
		t.Errorf("holding without NATS: %v", err)
	}
	turn.Release()
	o.Listen = strings.TrimPrefix(address, "nats://")
	startServer(t, o)
	ctx := testContext(t)
	for _, err := b.Repair(ctx, 0); err != nil; _, err = b.Repair(ctx, 0) { // a single server forgets a stream in memory
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	crawler := openTurns(t, b)
	for { // the hold that failed is told in the end
		turn, err := crawler.Reserve(ctx, host, domain.Pace{}, 0)
		if err == nil && !turn.Granted {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the hold was forgotten: %+v, %v", turn, err)
		}
	}
}

func TestTurnsComeBackWithTheirStream(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	ctx := testContext(t)
	turns := openTurns(t, b)
	pace := domain.Pace{Concurrency: 2}
	reserve(t, turns, pace, 0)
	if err := b.js.DeleteStream(ctx, streamTurns); err != nil {
		t.Fatal(err)
	}
	if _, err := turns.Reserve(ctx, host, pace, 0); !errors.Is(err, ErrStreamLost) {
		t.Errorf("error is %v, want ErrStreamLost", err)
	}
	if _, err := b.Repair(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if turn := reserve(t, turns, pace, 0); !turn.Granted {
		t.Errorf("turn is %+v", turn)
	}
}

func TestThePaceIsKeptWhileAServerIsKilled(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, 3)
	first, second := openReplicated(t, c), openReplicated(t, c)
	crawlers := []*Turns{openTurns(t, first), openTurns(t, second)}
	const delay, n = 100 * time.Millisecond, 60
	killed := make(chan struct{})
	reserved := make(chan struct{})
	go func() {
		defer close(killed)
		<-reserved
		leaderOf(t, first, c, streamTurns).Kill()
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
	checkStarts(t, starts, delay, 100*time.Millisecond)
	t.Logf("%d requests in %s, the least is %s", 2*n, starts[2*n-1].Sub(starts[0]).Round(time.Millisecond), (2*n-1)*delay)
}

func BenchmarkTurns(b *testing.B) {
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
			crawlers := turnsOf(b, c.crawlers)
			pace := domain.Pace{Concurrency: 256, Lease: time.Minute}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var left, refused atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var asking sync.WaitGroup
			for _, turns := range crawlers {
				for range c.asking {
					asking.Go(func() {
						for i := left.Add(-1); i >= 0; i = left.Add(-1) {
							turn, err := turns.Reserve(ctx, c.hosts[int(i)%len(c.hosts)], pace, 0)
							if err != nil {
								b.Error(err)
								return
							}
							if !turn.Granted {
								refused.Add(1)
								continue
							}
							turn.Release()
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
