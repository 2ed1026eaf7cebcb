package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// ErrTurnsClosed says that turns are no longer given out: the process is stopping.
var ErrTurnsClosed = errors.New("jobs: turns at hosts are no longer given out")

const (
	// hostIdle is how long what is known here about a host is kept after it was last asked for.
	hostIdle = time.Minute
	// turnsClosing bounds how long Close waits for turns to be given back. Leases end what is left.
	turnsClosing = 2 * time.Second
)

// Turns gives out turns at hosts to all crawlers that share the NATS servers, so that the fleet together keeps to a host's
// pace. The state of a host is an entry of a small stream in memory, replaced by compare-and-set; the requests of this
// process for a host go into one write at a time. Times are those of the servers: the crawlers' clocks may differ by any
// amount, the servers' should not. When all servers restart at once, what was known is lost: every host may then be asked
// at once, at its pace. It is safe for concurrent use.
type Turns struct {
	stream   string
	js       jetstream.JetStream
	entries  quorum.Reader
	patience time.Duration
	clock    turnClock
	local    func() time.Time // what callers mean by a time
	log      *slog.Logger

	life    context.Context // of the goroutines that write
	end     context.CancelFunc
	writing sync.WaitGroup

	mu     sync.Mutex
	closed bool
	hosts  map[string]*turnHost
	swept  time.Time // when idle hosts were last forgotten
}

// turnClock is the time that all crawlers share.
type turnClock interface {
	// now is exact.
	now(ctx context.Context) (time.Time, error)
	// guess asks nobody. It is not known before now has been.
	guess() (now time.Time, age time.Duration, known bool)
}

// sharedClock is a clock that all crawlers have before them.
type sharedClock func() time.Time

func (c sharedClock) now(context.Context) (time.Time, error)  { return c(), nil }
func (c sharedClock) guess() (time.Time, time.Duration, bool) { return c(), 0, true }

// TurnsOptions say how turns are given out. The zero value is right for crawlers.
type TurnsOptions struct {
	Now func() time.Time // a clock that all crawlers share; default: that of the NATS servers
}

// turnHost is a host as this process knows it.
type turnHost struct {
	name, subject string

	// Guarded by Turns.mu.
	pending []*turnRequest
	busy    bool // a goroutine is writing
	used    time.Time
	held    time.Time // as last read or asked for here, in the servers' time
	heldAt  time.Time // when that was read, by the machine's clock; zero: never

	// Of the goroutine that writes.
	state    turnState
	revision uint64
	read     time.Time // when the state was last confirmed by the stream, by the machine's clock; zero: not known
}

// Turns returns what gives out turns. The caller closes it before the connection.
func (b *Broker) Turns(o TurnsOptions) *Turns {
	life, end := context.WithCancel(context.Background())
	t := &Turns{
		stream: streamTurns, js: b.js, entries: b.leader(streamTurns), patience: b.opts.Patience, local: b.now, log: b.log,
		clock: &serverClock{js: b.js, stream: streamTurns, patience: b.opts.Patience, local: b.now},
		life:  life, end: end, hosts: map[string]*turnHost{}, swept: time.Now(),
	}
	if o.Now != nil {
		t.clock, t.local = sharedClock(o.Now), o.Now
	}
	return t
}

// Reserve takes the next turn at the host if it comes within patience. It waits for the servers' answer, not for the turn.
// A turn that is refused says when it is worth asking again. Release may be called after ctx has ended; it
// does not wait, so that others may see the place taken for a moment longer. A pace without limits costs no request as long as the host's state was read within a second.
//
// It fails with ErrUnavailable if NATS does not answer within Options.Patience or ctx: then nobody knows whose turn it is,
// and the host must not be asked. ErrStreamLost passes too; ErrTurnsClosed does not.
func (t *Turns) Reserve(ctx context.Context, host string, pace domain.Pace, patience time.Duration) (domain.Turn, error) {
	host = strings.ToLower(host)
	if pace.Concurrency <= 0 && pace.Delay <= 0 {
		if turn, known := t.free(host, patience); known {
			return turn, nil
		}
	}
	r := &turnRequest{kind: askTurn, id: nuid.Next(), pace: pace, patience: patience, answer: make(chan turnAnswer, 1)}
	a, err := t.do(ctx, host, r)
	if err != nil {
		return domain.Turn{}, fmt.Errorf("reserving a turn at %s: %w", host, err)
	}
	return t.turn(host, a), nil
}

// Hold lets no crawler ask the host before until, by this machine's clock, but for MaxHold from now at most. An earlier
// hold changes nothing. It fails like Reserve, and is then tried again in the background for as long as it lasts.
func (t *Turns) Hold(ctx context.Context, host string, until time.Time) error {
	host = strings.ToLower(host)
	length := min(until.Sub(t.local()), MaxHold)
	if length <= 0 {
		return nil
	}
	r := &turnRequest{kind: holdHost, held: t.local().Add(length), answer: make(chan turnAnswer, 1)}
	if _, err := t.do(ctx, host, r); err != nil {
		return fmt.Errorf("holding %s: %w", host, err)
	}
	return nil
}

// Close gives back what turns it can and ends. It may be called twice.
func (t *Turns) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.writing.Wait()
	}()
	timer := time.NewTimer(turnsClosing)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	t.end()
	<-done
}

// free answers for a pace without limits from what was read within the last second.
func (t *Turns) free(host string, patience time.Duration) (domain.Turn, bool) {
	now, _, known := t.clock.guess()
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[host]
	if h == nil || t.closed || !known || h.heldAt.IsZero() || time.Since(h.heldAt) >= stateKept {
		return domain.Turn{}, false
	}
	h.used = time.Now()
	wait := max(h.held.Sub(now), 0)
	if wait > patience {
		return domain.Turn{Wait: wait}, true
	}
	return domain.Turn{Granted: true, Wait: wait, Release: func() {}}, true
}

func (t *Turns) turn(host string, a turnAnswer) domain.Turn {
	if !a.granted {
		return domain.Turn{Wait: a.wait}
	}
	turn := domain.Turn{Granted: true, Wait: a.wait, Release: func() {}}
	if !a.until.IsZero() {
		var once sync.Once
		turn.Release = func() { once.Do(func() { t.giveBack(host, a) }) }
	}
	return turn
}

// giveBack has a lease removed in the background.
func (t *Turns) giveBack(host string, a turnAnswer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed { // else its time ends it
		t.enqueue(host, &turnRequest{kind: endTurn, id: a.id, until: a.until})
	}
}

// do has a request carried out and waits for its answer. A turn that is granted to nobody, because ctx has ended, is given
// back.
func (t *Turns) do(ctx context.Context, host string, r *turnRequest) (turnAnswer, error) {
	if err := ctx.Err(); err != nil {
		return turnAnswer{}, err
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return turnAnswer{}, ErrTurnsClosed
	}
	t.enqueue(host, r)
	t.mu.Unlock()
	select {
	case a := <-r.answer:
		return a, a.err
	case <-ctx.Done():
	}
	t.mu.Lock()
	r.abandoned = true
	t.mu.Unlock()
	select {
	case a := <-r.answer:
		return a, a.err // it has come in the end
	default:
		return turnAnswer{}, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// enqueue adds a request for the host's next write. t.mu is held.
func (t *Turns) enqueue(host string, r *turnRequest) {
	now := time.Now()
	h := t.hosts[host]
	if h == nil {
		t.sweep(now)
		h = &turnHost{name: host, subject: turnSubject(host)}
		t.hosts[host] = h
	}
	h.used = now
	h.pending = append(h.pending, r)
	if !h.busy {
		h.busy = true
		t.writing.Go(func() { t.write(h) })
	}
}

// sweep forgets hosts that nobody asks for, now and then. t.mu is held.
func (t *Turns) sweep(now time.Time) {
	if now.Sub(t.swept) < hostIdle {
		return
	}
	t.swept = now
	for name, h := range t.hosts {
		if !h.busy && now.Sub(h.used) >= hostIdle {
			delete(t.hosts, name)
		}
	}
}
