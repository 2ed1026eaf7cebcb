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

// attemptCounts counts the runs of one job, identified by its generation. The server's own delivery count won't do,
// because it includes deliveries lost in transit. It is also stored up to 100 ms late, so if a job kills its process
// immediately, every run would look like the first.
type attemptCounts struct {
	Starts    int    `json:"starts"`               // runs started; written before each run
	Failures  int    `json:"failures,omitempty"`   // runs that ended with an error
	HandBacks int    `json:"hand_backs,omitempty"` // runs cut short by a shutdown
	LastError string `json:"last_error,omitempty"` // error from the last failure, shown to users

	Started time.Time `json:"started"` // start of the last run

	revision uint64 // revision of the stored entry; 0 if there is none
}

// crashes returns the number of runs that started but never ended because their worker died.
func (t attemptCounts) crashes() int { return max(0, t.Starts-t.Failures-t.HandBacks) }

// errRevision means that another process has written the entry since this one read it.
var errRevision = errors.New("jobs: another worker has changed the entry")

// attemptStore stores the attempt counts of unfinished jobs and the consumers' checkpoints. When a job finishes, its
// entry is deleted; the stream's age limit removes all other entries. The stream is laid out as a key-value bucket, but
// the client's Get isn't used, because the response may come from a lagging replica, which would hide crashes.
type attemptStore struct {
	js           jetstream.JetStream
	stream       jetstream.Stream
	entries      quorum.Reader
	retryTimeout time.Duration
}

func newAttemptStore(js jetstream.JetStream, maxWait time.Duration) *attemptStore {
	return &attemptStore{js: js, entries: quorum.Reader{JS: js, Stream: streamAttempts, Timeout: maxWait}, retryTimeout: maxWait}
}

func attemptKey(generation uint64) string { return strconv.FormatUint(generation, 10) }

// load returns a generation's attempt counts, or zero counts if there are none.
func (l *attemptStore) load(ctx context.Context, generation uint64) (t attemptCounts, err error) {
	t.revision, err = l.get(ctx, attemptKey(generation), &t)
	if err != nil {
		return attemptCounts{}, fmt.Errorf("reading the number of attempts of the job with generation %d: %w", generation, err)
	}
	return t, nil
}

// store writes attempt counts and returns them with the new revision. If their revision is no longer current, it fails
// with errRevision.
func (l *attemptStore) store(ctx context.Context, generation uint64, t attemptCounts) (attemptCounts, error) {
	revision, err := l.put(ctx, attemptKey(generation), t, jetstream.WithExpectLastSequencePerSubject(t.revision))
	if err != nil {
		return t, fmt.Errorf("writing the attempts of generation %d: %w", generation, err)
	}
	t.revision = revision
	return t, nil
}

// change applies f to the attempt counts and stores the result. If t is outdated, because the job has outlived its
// lease and two workers are running it, change rereads the counts and retries.
func (l *attemptStore) change(ctx context.Context, generation uint64, t attemptCounts, f func(*attemptCounts)) (attemptCounts, error) {
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

// forget purges a finished job's attempt counts. A delete would leave a marker behind for every job.
func (l *attemptStore) forget(ctx context.Context, generation uint64) error {
	err := quorum.Retry(ctx, l.retryTimeout, func(ctx context.Context) error {
		return l.stream.Purge(ctx, jetstream.WithPurgeSubject(prefixAttempts+attemptKey(generation)))
	})
	if err != nil {
		return fmt.Errorf("removing the attempts of generation %d: %w", generation, err)
	}
	return nil
}

// get reads an entry into v and returns its revision, or 0 if there is no entry.
func (l *attemptStore) get(ctx context.Context, key string, v any) (revision uint64, err error) {
	msg, err := l.entries.Last(ctx, prefixAttempts+key)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if len(msg.Data) == 0 { // an operator deleted the entry, which leaves an empty message
		return msg.Sequence, nil
	}
	return msg.Sequence, json.Unmarshal(msg.Data, v)
}

// put writes an entry and returns its revision. If the server's response is lost, put retries without writing twice: an
// attempt counted twice would look like a crash.
func (l *attemptStore) put(ctx context.Context, key string, v any, opts ...jetstream.PublishOpt) (revision uint64, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, err
	}
	msg := &nats.Msg{Subject: prefixAttempts + key, Data: data, Header: nats.Header{}}
	ack, err := quorum.Store(ctx, l.js, l.retryTimeout, streamAttempts, nuid.Next(), msg, opts...)
	if quorum.WrongSequence(err) {
		return 0, fmt.Errorf("%w: %w", errRevision, err)
	}
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}
