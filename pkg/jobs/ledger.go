package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// tally is what is known about the attempts at one job, keyed by its generation. The server's own count of
// deliveries does not serve: it is written up to 100 ms late, so that a job that kills its process at once would
// be delivered "for the first time" without end, and it counts messages that were lost on their way.
type tally struct {
	Starts    int    `json:"starts"`               // runs begun, written before each run
	Failures  int    `json:"failures,omitempty"`   // runs that ended with an error
	HandBacks int    `json:"hand_backs,omitempty"` // runs cut short by a shutdown
	LastError string `json:"last_error,omitempty"` // of the last failure, for people

	Started time.Time `json:"started"` // when the last run began

	revision uint64 // of the entry that this was read from or written to
}

// crashes is the number of runs that were begun and never ended: their worker died.
func (t tally) crashes() int { return max(0, t.Starts-t.Failures-t.HandBacks) }

// errRevision says that an entry of the ledger was written by another since it was read.
var errRevision = errors.New("jobs: written by another worker")

// ledger keeps tallies of unfinished jobs, and a note for each consumer. Entries of finished jobs are removed; what is
// forgotten ends by the stream's age limit. It is laid out as a key-value bucket, but not read by the client's Get,
// which any replica answers: one that lags would have a job's crashes forgotten.
type ledger struct {
	js       jetstream.JetStream
	stream   jetstream.Stream
	entries  quorum.Reader
	patience time.Duration
}

func newLedger(js jetstream.JetStream, patience time.Duration) *ledger {
	return &ledger{js: js, entries: quorum.Reader{JS: js, Stream: streamAttempts, Patience: patience}, patience: patience}
}

func tallyKey(generation uint64) string { return strconv.FormatUint(generation, 10) }

// load returns the tally of a generation, the zero tally if there is none.
func (l *ledger) load(ctx context.Context, generation uint64) (t tally, err error) {
	t.revision, err = l.get(ctx, tallyKey(generation), &t)
	if err != nil {
		return tally{}, fmt.Errorf("reading the attempts of generation %d: %w", generation, err)
	}
	return t, nil
}

// store writes a tally in place of the revision it carries; it fails with errRevision if another worker has written
// since.
func (l *ledger) store(ctx context.Context, generation uint64, t tally) (tally, error) {
	revision, err := l.put(ctx, tallyKey(generation), t, jetstream.WithExpectLastSequencePerSubject(t.revision))
	if err != nil {
		return t, fmt.Errorf("writing the attempts of generation %d: %w", generation, err)
	}
	t.revision = revision
	return t, nil
}

// change applies f to the tally. It starts from what the caller last saw, and reads afresh when that is outdated,
// which happens when a job outlived its lease and two workers have it.
func (l *ledger) change(ctx context.Context, generation uint64, t tally, f func(*tally)) (tally, error) {
	const tries = 5
	var err error
	for range tries {
		next := t
		f(&next)
		if next, err = l.store(ctx, generation, next); err == nil {
			return next, nil
		}
		if !errors.Is(err, errRevision) {
			return t, err
		}
		if t, err = l.load(ctx, generation); err != nil {
			return t, err
		}
	}
	return t, err
}

// forget removes the tally of a finished job, marker and all: an ordinary delete would leave one for each job.
func (l *ledger) forget(ctx context.Context, generation uint64) error {
	err := quorum.Do(ctx, l.patience, func(ctx context.Context) error {
		return l.stream.Purge(ctx, jetstream.WithPurgeSubject(prefixAttempts+tallyKey(generation)))
	})
	if err != nil {
		return fmt.Errorf("removing the attempts of generation %d: %w", generation, err)
	}
	return nil
}

// get reads an entry into v and returns its revision, 0 if there is none.
func (l *ledger) get(ctx context.Context, key string, v any) (revision uint64, err error) {
	msg, err := l.entries.Last(ctx, prefixAttempts+key)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if len(msg.Data) == 0 { // the mark of an operator who has deleted the entry
		return msg.Sequence, nil
	}
	return msg.Sequence, json.Unmarshal(msg.Data, v)
}

// put writes an entry and returns its revision. Writing it again because the answer was lost is writing it once: an
// attempt that was counted twice would pass for one that ended with its worker.
func (l *ledger) put(ctx context.Context, key string, v any, opts ...jetstream.PublishOpt) (revision uint64, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	msg := &nats.Msg{Subject: prefixAttempts + key, Data: data, Header: nats.Header{}}
	ack, err := quorum.Store(ctx, l.js, l.patience, streamAttempts, nuid.Next(), msg, opts...)
	if quorum.WrongSequence(err) {
		return 0, fmt.Errorf("%w: %w", errRevision, err)
	}
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}
