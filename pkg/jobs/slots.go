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

// ErrSlotsClosed means that the process is stopping and grants no more slots.
var ErrSlotsClosed = errors.New("jobs: the process is stopping; no new requests to hosts are allowed")

const (
	// hostIdle is how long a host must be unused before this process forgets its state.
	hostIdle = time.Minute
	// slotsCloseTimeout is how long Close waits for slots to be released. Any remaining slots become free when their
	// leases expire.
	slotsCloseTimeout = 2 * time.Second
)

// HostSlots limits requests to a host across all crawlers, so that the fleet as a whole keeps to the host's pace. A
// slot is permission for one request.
//
// Each host's state is an entry in a small in-memory stream, updated by compare-and-set. This process combines its
// requests for a host into one write at a time. All times come from the servers' clocks, which must agree; the
// crawlers' clocks may differ by any amount. If all servers restart together, the state is lost, and each host may be
// requested again immediately, at its usual pace. HostSlots is safe for concurrent use.
type HostSlots struct {
	stream       string
	js           jetstream.JetStream
	entries      quorum.Reader
	retryTimeout time.Duration
	clock        slotClock
	local        func() time.Time // this machine's clock, which callers use
	log          *slog.Logger

	life    context.Context // context for the writing goroutines
	end     context.CancelFunc
	writing sync.WaitGroup

	mu     sync.Mutex
	closed bool
	hosts  map[string]*slotHost
	swept  time.Time // last removal of idle hosts
}

// slotClock is a clock shared by all crawlers.
type slotClock interface {
	// now returns the exact time.
	now(ctx context.Context) (time.Time, error)
	// estimate returns the time without asking the servers. The time is unknown before the first call to now.
	estimate() (now time.Time, age time.Duration, known bool)
}

// sharedClock is a local clock shared by all crawlers, for tests on one machine.
type sharedClock func() time.Time

func (c sharedClock) now(context.Context) (time.Time, error)     { return c(), nil }
func (c sharedClock) estimate() (time.Time, time.Duration, bool) { return c(), 0, true }

// HostSlotsOptions configure HostSlots. Crawlers can use the zero value.
type HostSlotsOptions struct {
	Now func() time.Time // clock shared by all crawlers; default: the NATS servers' clock
}

// slotHost is this process's view of a host.
type slotHost struct {
	name, subject string

	// Guarded by HostSlots.mu.
	pending []*slotRequest
	busy    bool // whether a goroutine is writing
	used    time.Time
	held    time.Time // end of the last known hold, by the servers' clock
	heldAt  time.Time // local time when `held` was read; zero: never

	// Owned by the writing goroutine.
	state    hostState
	revision uint64
	read     time.Time // local time when the stream last confirmed the state; zero: unknown
}

// HostSlots returns a new HostSlots. The caller must close it before closing the connection.
func (b *Broker) HostSlots(o HostSlotsOptions) *HostSlots {
	life, end := context.WithCancel(context.Background())
	t := &HostSlots{
		stream: streamSlots, js: b.js, entries: b.leader(streamSlots), retryTimeout: b.opts.RetryTimeout, local: b.now, log: b.log,
		clock: &serverClock{js: b.js, stream: streamSlots, retryTimeout: b.opts.RetryTimeout, local: b.now},
		life:  life, end: end, hosts: map[string]*slotHost{}, swept: time.Now(),
	}
	if o.Now != nil {
		t.clock, t.local = sharedClock(o.Now), o.Now
	}
	return t
}

// Reserve reserves the host's next slot if it starts within maxWait. It waits for the servers' response, not for the
// slot to start. If the slot is refused, the result says when to ask again. If the pace has no limits and the host's
// state was read within the last second, Reserve doesn't ask the servers.
//
// A granted slot's Release function doesn't block and may be called after ctx is done. Other crawlers may see the slot
// as taken for a moment longer.
//
// Reserve fails with ErrUnavailable if NATS doesn't respond within Options.RetryTimeout or before ctx is done. The
// caller must then not contact the host. ErrStreamLost is temporary as well; ErrSlotsClosed is not.
func (t *HostSlots) Reserve(ctx context.Context, host string, pace domain.Pace, maxWait time.Duration) (domain.HostSlot, error) {
	host = strings.ToLower(host)
	if pace.Concurrency <= 0 && pace.Delay <= 0 {
		if slot, known := t.free(host, maxWait); known {
			return slot, nil
		}
	}
	r := &slotRequest{kind: reserveSlot, id: nuid.Next(), pace: pace, maxWait: maxWait, answer: make(chan slotResult, 1)}
	a, err := t.request(ctx, host, r)
	if err != nil {
		return domain.HostSlot{}, fmt.Errorf("reserving a slot at %s: %w", host, err)
	}
	return t.slot(host, a), nil
}

// Hold keeps all crawlers from contacting the host until the given time, at most MaxHold from now. `until` is on this
// machine's clock. Hold never shortens an earlier hold. It fails for the same reasons as Reserve, but then keeps
// retrying in the background until the hold would have expired.
func (t *HostSlots) Hold(ctx context.Context, host string, until time.Time) error {
	host = strings.ToLower(host)
	length := min(until.Sub(t.local()), MaxHold)
	if length <= 0 {
		return nil
	}
	r := &slotRequest{kind: holdHost, held: t.local().Add(length), answer: make(chan slotResult, 1)}
	if _, err := t.request(ctx, host, r); err != nil {
		return fmt.Errorf("holding %s: %w", host, err)
	}
	return nil
}

// Close releases as many slots as it can within slotsCloseTimeout. Calling it twice is safe.
func (t *HostSlots) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.writing.Wait()
	}()
	timer := time.NewTimer(slotsCloseTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	t.end()
	<-done
}

// free grants or refuses a slot for a pace without limits, without asking the servers. It returns false if the servers
// must be asked, because the host's state wasn't read within the last second.
func (t *HostSlots) free(host string, maxWait time.Duration) (domain.HostSlot, bool) {
	now, _, known := t.clock.estimate()
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.hosts[host]
	if h == nil || t.closed || !known || h.heldAt.IsZero() || time.Since(h.heldAt) >= stateMaxAge {
		return domain.HostSlot{}, false
	}
	h.used = time.Now()
	wait := max(h.held.Sub(now), 0)
	if wait > maxWait {
		return domain.HostSlot{Wait: wait}, true
	}
	return domain.HostSlot{Granted: true, Wait: wait, Release: func() {}}, true
}

func (t *HostSlots) slot(host string, a slotResult) domain.HostSlot {
	if !a.granted {
		return domain.HostSlot{Wait: a.wait}
	}
	slot := domain.HostSlot{Granted: true, Wait: a.wait, Release: func() {}}
	if !a.until.IsZero() {
		var once sync.Once
		slot.Release = func() { once.Do(func() { t.releaseInBackground(host, a) }) }
	}
	return slot
}

// releaseInBackground queues the removal of a lease and returns immediately.
func (t *HostSlots) releaseInBackground(host string, a slotResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed { // otherwise the lease expires
		t.enqueue(host, &slotRequest{kind: releaseSlot, id: a.id, until: a.until})
	}
}

// request queues a request and waits for the answer. If ctx is done first, any slot granted later is released.
func (t *HostSlots) request(ctx context.Context, host string, r *slotRequest) (slotResult, error) {
	if err := ctx.Err(); err != nil {
		return slotResult{}, err
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return slotResult{}, ErrSlotsClosed
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
		return a, a.err // the answer arrived just in time
	default:
		return slotResult{}, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// enqueue adds a request to the host's next write. The caller holds t.mu.
func (t *HostSlots) enqueue(host string, r *slotRequest) {
	now := time.Now()
	h := t.hosts[host]
	if h == nil {
		t.sweep(now)
		h = &slotHost{name: host, subject: slotSubject(host)}
		t.hosts[host] = h
	}
	h.used = now
	h.pending = append(h.pending, r)
	if !h.busy {
		h.busy = true
		t.writing.Go(func() { t.write(h) })
	}
}

// sweep removes the state of idle hosts, at most once per hostIdle. The caller holds t.mu.
func (t *HostSlots) sweep(now time.Time) {
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
