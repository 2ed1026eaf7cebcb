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
	// stateKept is how long it is believed that a host's state is as it was read, where no write finds out.
	stateKept = time.Second
	// writeTries is how often a write is tried that other crawlers came before. Their writes are progress: with a dozen
	// crawlers at one host, hardly any write needs more than a few.
	writeTries = 12
	// writePause bounds the pauses between these tries, which are random and grow up to it.
	writePause = 64 * time.Millisecond
	// failedPause bounds the pause after a batch that could not be carried out.
	failedPause = time.Second
	// turnLate is how much later than its turn a request may start because the write took long: beyond it, and beyond a
	// quarter of the delay between requests, the turn is taken anew. The next one has been counted from it.
	turnLate = 50 * time.Millisecond
	// entryMargin is how long an entry outlives what it says, for clocks that differ, and bounds the life of one that says
	// nothing any more.
	entryMargin = 10 * time.Second
	// maxHostShown bounds the name of a host in an entry, in bytes.
	maxHostShown = 256
)

// turnSubject is where the state of a host lies. The host's name may hold anything, so its hash is the key.
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

// turnRequest is something that is to be done at a host.
type turnRequest struct {
	kind     turnRequestKind
	id       string // of the lease
	pace     domain.Pace
	patience time.Duration
	until    time.Time // of endTurn: when the lease ends by itself, in the servers' time
	held     time.Time // of holdHost, by the clock of this process

	answer    chan turnAnswer // holds one; nil: nobody waits
	abandoned bool            // nobody waits any more; guarded by Turns.mu
}

// turnAnswer is what became of a request.
type turnAnswer struct {
	verdict
	id  string
	err error
}

// write carries out the requests for a host, all that have come in at a time, until there are none.
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

// round carries out a batch and returns what is to be tried again, after a pause.
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

// wanted leaves out what nobody waits for any more.
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

// attempt applies a batch to the state as it is known, writes that if it differs, and answers. It fails with errRevision
// if another has written meanwhile.
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
	// That no place is free is not believed of an older state: one becomes free at any time. Other refusals stand: what
	// they wait for only moves away.
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

// apply works out what the batch makes of the state.
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

// deliver answers the requests of a batch that was carried out. Those whose turn has passed meanwhile are returned, to be
// carried out anew.
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

// overtaken refuses turns where other crawlers were quicker every time. What else there was to do is tried again.
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

// failed answers with an error where somebody waits, and keeps what others must hear of for another try: turns that are
// given back, and the longest of the holds.
func (t *Turns) failed(h *turnHost, batch []*turnRequest, err error) (rest []*turnRequest) {
	t.log.Debug("turns at a host are not known", "host", h.name, "error", err)
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

// fail answers with an error where somebody waits.
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
		t.log.Warn("what is known about a host cannot be read and is replaced", "host", h.name, "error", err)
		s = turnState{}
	}
	h.state, h.revision, h.read = s, msg.Sequence, began
	return nil
}

// store replaces the state of a host. It fails with errRevision if another has written since it was read.
func (t *Turns) store(h *turnHost, next turnState) error {
	now, _, _ := t.clock.guess()
	if next.Host = strings.ToValidUTF8(h.name, "?"); len(next.Host) > maxHostShown {
		next.Host = strings.ToValidUTF8(next.Host[:maxHostShown], "")
	}
	data, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("writing what is known about host %s: %w", h.name, err)
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

// turnsConfig is how the states of hosts are kept: in memory, for as long as they say anything. A host that is asked at its
// pace writes twice for each page.
func (o Options) turnsConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              streamTurns,
		Description:       "when hosts may be asked, and by whom they are",
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

// interface guard: what crawlers ask of turns.
var _ interface {
	Reserve(ctx context.Context, host string, pace domain.Pace, patience time.Duration) (domain.Turn, error)
	Hold(ctx context.Context, host string, until time.Time) error
} = (*Turns)(nil)
