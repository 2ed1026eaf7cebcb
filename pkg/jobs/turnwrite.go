package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

const (
	// stateKept is the time for which a host's state is used without reading it again.
	stateKept = time.Second
	// writeTries is the maximum number of attempts at a write that conflicts with those of other crawlers. Each
	// conflict means that another crawler succeeded: even with a dozen crawlers at one host, few writes need many
	// attempts.
	writeTries = 12
	// writePause is the maximum pause between these attempts. Pauses are random and grow up to it.
	writePause = 64 * time.Millisecond
	// failedPause is the maximum pause after a failed batch.
	failedPause = time.Second
	// turnLate is the maximum delay of a request because its write took long. If a request is later than this, and
	// later than a quarter of the host's delay, the turn is reserved again, since the next turn was scheduled from its
	// start.
	turnLate = 50 * time.Millisecond
	// entryMargin is how long an entry outlives the state in it, to allow for clock differences.
	entryMargin = 10 * time.Second
	// Maximum length of a host's name in an entry, in bytes.
	maxHostShown = 256
)

// turnSubject returns the subject of a host's state. It contains a hash, since the host's name may hold any characters.
func turnSubject(host string) string {
	sum := sha256.Sum256([]byte(host))
	return prefixTurns + hex.EncodeToString(sum[:16])
}

type turnRequestKind int

const (
	askTurn turnRequestKind = iota
	endTurn
	holdHost
)

// turnRequest is a queued change of a host's state.
type turnRequest struct {
	kind     turnRequestKind
	id       string // of the lease
	pace     domain.Pace
	patience time.Duration
	until    time.Time // of endTurn: end of the lease, in the servers' time
	held     time.Time // of holdHost: end of the hold, by the local clock

	answer    chan turnAnswer // buffered; nil: no caller waits
	abandoned bool            // the caller has stopped waiting; guarded by Turns.mu
}

// turnAnswer is the result of a request.
type turnAnswer struct {
	verdict
	id  string
	err error
}

// write applies the queued requests for a host, all at a time, until there are none.
func (t *Turns) write(h *turnHost) {
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
			fail(rest, ErrTurnsClosed)
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

// round applies a batch. It returns the requests to retry and the pause before that.
func (t *Turns) round(h *turnHost, batch []*turnRequest) (rest []*turnRequest, pause time.Duration) {
	now, err := t.clock.now(t.life)
	if err != nil {
		return t.failed(h, batch, err), failedPause
	}
	batch = t.wanted(batch, now)
	for try := 0; len(batch) > 0; try++ {
		if try == writeTries {
			return overtaken(batch), writePause
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

// wanted drops requests that have no effect any more.
func (t *Turns) wanted(batch []*turnRequest, now time.Time) []*turnRequest {
	t.mu.Lock()
	defer t.mu.Unlock()
	wanted := batch[:0:0]
	for _, r := range batch {
		gone := false
		switch r.kind {
		case askTurn:
			gone = r.abandoned
		case endTurn:
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

// attempt applies a batch to the known state, stores the state if it has changed, and answers the requests. It fails
// with errRevision if another crawler has written since the state was read. It returns the requests to apply again.
func (t *Turns) attempt(h *turnHost, batch []*turnRequest) (again []*turnRequest, err error) {
	fresh := h.read.IsZero() || time.Since(h.read) >= stateKept
	if fresh {
		if err := t.load(h); err != nil {
			return nil, err
		}
	}
	next, answers, changed, err := t.apply(h, batch)
	if err != nil {
		return nil, err
	}
	// If an older state says that all turns are taken, read it again: a turn may have ended since. Other refusals
	// remain valid, because the times in them only move later.
	if !changed && !fresh && crowded(answers) {
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

func crowded(answers []turnAnswer) bool {
	for _, a := range answers {
		if a.crowded {
			return true
		}
	}
	return false
}

// apply computes the state after a batch.
func (t *Turns) apply(h *turnHost, batch []*turnRequest) (next turnState, answers []turnAnswer, changed bool, err error) {
	now, err := t.clock.now(t.life)
	if err != nil {
		return next, nil, false, err
	}
	next = h.state.clone()
	next.expire(now)
	answers = make([]turnAnswer, len(batch))
	for i, r := range batch {
		answers[i].id = r.id
		switch r.kind {
		case endTurn:
			changed = next.release(r.id) || changed
		case holdHost:
			changed = next.hold(now.Add(r.held.Sub(t.local()))) || changed
		case askTurn:
			v := next.reserve(r.id, r.pace, r.patience, now)
			changed = changed || v.granted && (r.pace.Concurrency > 0 || r.pace.Delay > 0)
			answers[i].verdict = v
		}
	}
	return next, answers, changed, nil
}

// deliver answers the requests of an applied batch. It returns those whose turn has already passed, to be applied
// again.
func (t *Turns) deliver(h *turnHost, batch []*turnRequest, answers []turnAnswer) (again []*turnRequest) {
	now, _, _ := t.clock.guess()
	t.mu.Lock()
	defer t.mu.Unlock()
	h.held, h.heldAt = h.state.Held, h.read
	for i, r := range batch {
		a := answers[i]
		if a.granted {
			late := now.Sub(a.start)
			missed := r.pace.Delay > 0 && late > max(turnLate, r.pace.Delay/4)
			if (missed || r.abandoned) && !a.until.IsZero() {
				again = append(again, &turnRequest{kind: endTurn, id: r.id, until: a.until})
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

// overtaken handles a batch that conflicted in every attempt: it refuses turns, and returns the other requests to
// retry.
func overtaken(batch []*turnRequest) (rest []*turnRequest) {
	for _, r := range batch {
		if r.kind == askTurn {
			r.answer <- turnAnswer{verdict: verdict{wait: writePause + rand.N(4*writePause)}}
		} else {
			rest = append(rest, r)
		}
	}
	return rest
}

// failed answers the waiting callers with an error. It returns the requests that must still reach other crawlers:
// released turns, and the longest hold.
func (t *Turns) failed(h *turnHost, batch []*turnRequest, err error) (rest []*turnRequest) {
	t.log.Debug("could not update the state of a host", "host", h.name, "error", err)
	var hold *turnRequest
	for _, r := range batch {
		switch r.kind {
		case endTurn:
			rest = append(rest, r)
		case holdHost:
			if hold == nil || r.held.After(hold.held) {
				hold = &turnRequest{kind: holdHost, held: r.held}
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
func fail(batch []*turnRequest, err error) {
	for _, r := range batch {
		if r.answer != nil {
			r.answer <- turnAnswer{err: err}
		}
	}
}

// load reads the state of a host from the stream's leader.
func (t *Turns) load(h *turnHost) error {
	began := time.Now()
	msg, err := t.entries.Last(t.life, h.subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		h.state, h.revision, h.read = turnState{}, 0, began
		return nil
	case err != nil:
		return err
	}
	var s turnState
	if err := json.Unmarshal(msg.Data, &s); err != nil && len(msg.Data) > 0 {
		t.log.Warn("replacing the unreadable state of a host", "host", h.name, "error", err)
		s = turnState{}
	}
	h.state, h.revision, h.read = s, msg.Sequence, began
	return nil
}

// store replaces the state of a host. It fails with errRevision if another crawler has written it since it was read.
func (t *Turns) store(h *turnHost, next turnState) error {
	now, _, _ := t.clock.guess()
	if next.Host = strings.ToValidUTF8(h.name, "?"); len(next.Host) > maxHostShown {
		next.Host = strings.ToValidUTF8(next.Host[:maxHostShown], "")
	}
	data, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encoding the state of host %s: %w", h.name, err)
	}
	began := time.Now()
	msg := &nats.Msg{Subject: h.subject, Data: data, Header: nats.Header{}}
	lasts := (next.lasts(now) + entryMargin).Truncate(time.Second)
	ack, err := quorum.Store(t.life, t.js, t.patience, t.stream, nuid.Next(), msg,
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

// turnsConfig returns the configuration of TURNS: states are in memory, and expire when they have no effect any more. A
// host with a limited pace causes two writes for each page.
func (o Options) turnsConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              streamTurns,
		Description:       "when hosts may be requested next, and by which crawlers",
		Subjects:          []string{prefixTurns + ">"},
		Storage:           jetstream.MemoryStorage,
		MaxAge:            MaxHold + time.Hour,
		MaxMsgsPerSubject: 1,
		Discard:           jetstream.DiscardOld,
		Duplicates:        max(2*o.Patience, time.Minute),
		Replicas:          o.Replicas,
		AllowMsgTTL:       true,
		AllowDirect:       true,
	}
}

// Turns implements the interface that crawlers use.
var _ interface {
	Reserve(ctx context.Context, host string, pace domain.Pace, patience time.Duration) (domain.Turn, error)
	Hold(ctx context.Context, host string, until time.Time) error
} = (*Turns)(nil)
