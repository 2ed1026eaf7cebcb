package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

const (
	// stateMaxAge is how long this process may use a host's state without rereading it.
	stateMaxAge = time.Second
	// writeTries is the maximum number of attempts at a write that conflicts with other crawlers' writes. Each conflict
	// means that another crawler succeeded, so even with a dozen crawlers at one host, many attempts are rarely needed.
	writeTries = 12
	// writePause is the maximum pause between two attempts at a write. Pauses are random and, on average, grow with
	// each attempt.
	writePause = 64 * time.Millisecond
	// failedPause is the maximum pause before the requests in a failed batch are retried.
	failedPause = time.Second
	// maxSlotLateness is how late a slot may start because its write took a long time. The next slot was scheduled from
	// the planned start, so a late request could come too close to it. A slot is reserved again if it is late by more
	// than maxSlotLateness and also by more than a quarter of the host's delay.
	maxSlotLateness = 50 * time.Millisecond
	// entryMargin is how much longer an entry lives than its state, to allow for clock differences.
	entryMargin = 10 * time.Second
	// Maximum length of the host's name stored in its entry, in bytes.
	maxHostShown = 256
)

// slotSubject returns the subject for a host's state. It contains a hash of the host's name, because the name may
// contain characters not allowed in a subject.
func slotSubject(host string) string {
	sum := sha256.Sum256([]byte(host))
	return prefixSlots + hex.EncodeToString(sum[:16])
}

type slotRequestKind int

const (
	reserveSlot slotRequestKind = iota
	releaseSlot
	holdHost
)

// slotRequest is a queued change to a host's state.
type slotRequest struct {
	kind    slotRequestKind
	id      string // id of the lease
	pace    domain.Pace
	maxWait time.Duration
	until   time.Time // for releaseSlot: when the lease ends, by the servers' clock
	held    time.Time // for holdHost: when the hold ends, by the local clock

	answer    chan slotResult // buffered; nil if no caller is waiting
	abandoned bool            // the caller has stopped waiting; guarded by HostSlots.mu
}

type slotResult struct {
	reservation
	id  string
	err error
}

// write applies all queued requests for a host in one batch and repeats this until none are left.
func (t *HostSlots) write(h *slotHost) {
	for {
		t.mu.Lock()
		batch := h.pending
		h.pending = nil
		if len(batch) == 0 {
			h.busy = false
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		rest, pause := t.round(h, batch)
		if len(rest) == 0 {
			continue
		}
		if t.life.Err() != nil {
			fail(rest, ErrSlotsClosed)
			continue
		}
		t.mu.Lock()
		h.pending = append(rest, h.pending...)
		t.mu.Unlock()
		if pause > 0 {
			wait(t.life, pause/2+rand.N(pause/2))
		}
	}
}

// round applies a batch. It returns the requests to retry and how long to wait before retrying them.
func (t *HostSlots) round(h *slotHost, batch []*slotRequest) (rest []*slotRequest, pause time.Duration) {
	now, err := t.clock.now(t.life)
	if err != nil {
		return t.failed(h, batch, err), failedPause
	}
	batch = t.wanted(batch, now)
	for try := 0; len(batch) > 0; try++ {
		if try == writeTries {
			return rejectConflicts(batch), writePause
		}
		if try > 0 {
			wait(t.life, rand.N(min(time.Millisecond<<try, writePause)))
		}
		again, err := t.attempt(h, batch)
		if err == nil {
			return again, 0
		}
		h.read = time.Time{}
		if !errors.Is(err, errRevision) {
			return t.failed(h, batch, err), failedPause
		}
	}
	return nil, 0
}

// wanted returns the requests that are still worth applying. It drops releases of leases that have expired and
// reservations whose caller has stopped waiting. It also drops holds that are over, unless a caller is waiting for the
// answer.
func (t *HostSlots) wanted(batch []*slotRequest, now time.Time) []*slotRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	wanted := batch[:0:0]
	for _, r := range batch {
		gone := false
		switch r.kind {
		case reserveSlot:
			gone = r.abandoned
		case releaseSlot:
			gone = !r.until.After(now)
		case holdHost:
			gone = r.answer == nil && !r.held.After(t.local())
		}
		if !gone {
			wanted = append(wanted, r)
		}
	}
	return wanted
}

// attempt applies a batch to the known state, stores the state if it has changed and answers the requests. It returns
// the requests to apply again. If another crawler has written since the state was read, it fails with errRevision.
func (t *HostSlots) attempt(h *slotHost, batch []*slotRequest) (again []*slotRequest, err error) {
	fresh := h.read.IsZero() || time.Since(h.read) >= stateMaxAge
	if fresh {
		if err := t.load(h); err != nil {
			return nil, err
		}
	}
	next, answers, changed, err := t.apply(h, batch)
	if err != nil {
		return nil, err
	}
	// All slots are taken, but the state was read some time ago. Reread it, because a slot may have been released
	// since. After other refusals there is no need to, because the time at which the next slot may start never moves
	// forward.
	if !changed && !fresh && isAnyFull(answers) {
		if err := t.load(h); err != nil {
			return nil, err
		}
		if next, answers, changed, err = t.apply(h, batch); err != nil {
			return nil, err
		}
	}
	if changed {
		if err := t.store(h, next); err != nil {
			return nil, err
		}
	}
	return t.deliver(h, batch, answers), nil
}

func isAnyFull(answers []slotResult) bool {
	return slices.ContainsFunc(answers, func(a slotResult) bool { return a.full })
}

// apply computes the host's state after a batch of requests, without storing it.
func (t *HostSlots) apply(h *slotHost, batch []*slotRequest) (next hostState, answers []slotResult, changed bool, err error) {
	now, err := t.clock.now(t.life)
	if err != nil {
		return next, nil, false, err
	}
	next = h.state.clone()
	next.expire(now)
	answers = make([]slotResult, len(batch))
	for i, r := range batch {
		answers[i].id = r.id
		switch r.kind {
		case releaseSlot:
			changed = next.release(r.id) || changed
		case holdHost:
			changed = next.hold(now.Add(r.held.Sub(t.local()))) || changed
		case reserveSlot:
			v := next.reserve(r.id, r.pace, r.maxWait, now)
			changed = changed || v.granted && (r.pace.Concurrency > 0 || r.pace.Delay > 0)
			answers[i].reservation = v
		}
	}
	return next, answers, changed, nil
}

// deliver answers the requests in an applied batch. A slot that would start too late is reserved again, and one that
// won't be used is released. deliver returns the requests for this, which go into the next batch.
func (t *HostSlots) deliver(h *slotHost, batch []*slotRequest, answers []slotResult) (again []*slotRequest) {
	now, _, _ := t.clock.estimate()
	t.mu.Lock()
	defer t.mu.Unlock()
	h.held, h.heldAt = h.state.Held, h.read
	for i, r := range batch {
		a := answers[i]
		if a.granted {
			late := now.Sub(a.start)
			missed := r.pace.Delay > 0 && late > max(maxSlotLateness, r.pace.Delay/4)
			if (missed || r.abandoned) && !a.until.IsZero() {
				again = append(again, &slotRequest{kind: releaseSlot, id: r.id, until: a.until})
			}
			if r.abandoned {
				continue
			}
			if missed {
				r.id = nuid.Next()
				again = append(again, r)
				continue
			}
			a.wait = max(-late, 0)
		}
		if r.answer != nil {
			r.answer <- a
		}
	}
	return again
}

// rejectConflicts handles a batch that conflicted on every attempt. It rejects the requests for slots and returns the
// other requests to be retried.
func rejectConflicts(batch []*slotRequest) (rest []*slotRequest) {
	for _, r := range batch {
		if r.kind == reserveSlot {
			r.answer <- slotResult{reservation: reservation{wait: writePause + rand.N(4*writePause)}}
		} else {
			rest = append(rest, r)
		}
	}
	return rest
}

// failed passes an error to the batch's waiting callers. It returns the requests that must be retried because other
// crawlers need their effects: the releases and the longest hold.
func (t *HostSlots) failed(h *slotHost, batch []*slotRequest, err error) (rest []*slotRequest) {
	t.log.Debug("could not update the state of a host", "host", h.name, "error", err)
	var hold *slotRequest
	for _, r := range batch {
		switch r.kind {
		case releaseSlot:
			rest = append(rest, r)
		case holdHost:
			if hold == nil || r.held.After(hold.held) {
				hold = &slotRequest{kind: holdHost, held: r.held}
			}
		}
	}
	if hold != nil {
		rest = append(rest, hold)
	}
	fail(batch, err)
	return rest
}

// fail answers the waiting callers with an error.
func fail(batch []*slotRequest, err error) {
	for _, r := range batch {
		if r.answer != nil {
			r.answer <- slotResult{err: err}
		}
	}
}

// load reads a host's state from the stream's leader.
func (t *HostSlots) load(h *slotHost) error {
	began := time.Now()
	msg, err := t.entries.Last(t.life, h.subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		h.state, h.revision, h.read = hostState{}, 0, began
		return nil
	case err != nil:
		return err
	}
	var s hostState
	if err := json.Unmarshal(msg.Data, &s); err != nil && len(msg.Data) > 0 {
		t.log.Warn("replacing the unreadable state of a host", "host", h.name, "error", err)
		s = hostState{}
	}
	h.state, h.revision, h.read = s, msg.Sequence, began
	return nil
}

// store replaces a host's state. If another crawler has written the state since this process read it, store fails with
// errRevision.
func (t *HostSlots) store(h *slotHost, next hostState) error {
	now, _, _ := t.clock.estimate()
	if next.Host = strings.ToValidUTF8(h.name, "?"); len(next.Host) > maxHostShown {
		next.Host = strings.ToValidUTF8(next.Host[:maxHostShown], "")
	}
	data, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encoding the state of host %s: %w", h.name, err)
	}
	began := time.Now()
	msg := &nats.Msg{Subject: h.subject, Data: data, Header: nats.Header{}}
	lasts := (next.timeToLive(now) + entryMargin).Truncate(time.Second)
	ack, err := quorum.Store(t.life, t.js, t.retryTimeout, t.stream, nuid.Next(), msg,
		jetstream.WithExpectLastSequencePerSubject(h.revision), jetstream.WithMsgTTL(lasts))
	if quorum.WrongSequence(err) {
		return fmt.Errorf("%w: %w", errRevision, err)
	}
	if err != nil {
		return err
	}
	h.state, h.revision, h.read = next, ack.Sequence, began
	return nil
}

// slotsConfig returns the configuration for TURNS. Host states are kept in memory, because crawling a rate-limited host
// takes two writes per page. An entry expires when its state no longer has any effect.
func (o Options) slotsConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              streamSlots,
		Description:       "when hosts may be requested next, and by which crawlers",
		Subjects:          []string{prefixSlots + ">"},
		Storage:           jetstream.MemoryStorage,
		MaxAge:            MaxHold + time.Hour,
		MaxMsgsPerSubject: 1,
		Discard:           jetstream.DiscardOld,
		Duplicates:        max(2*o.RetryTimeout, time.Minute),
		Replicas:          o.Replicas,
		AllowMsgTTL:       true,
		AllowDirect:       true,
	}
}

// HostSlots implements the crawlers' interface.
var _ interface {
	Reserve(ctx context.Context, host string, pace domain.Pace, maxWait time.Duration) (domain.HostSlot, error)
	Hold(ctx context.Context, host string, until time.Time) error
} = (*HostSlots)(nil)
