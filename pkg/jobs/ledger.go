package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
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

// ledger keeps tallies of unfinished jobs in a key-value bucket. Entries of finished jobs are removed; what is
// forgotten ends by the bucket's time to live.
type ledger struct {
	kv     jetstream.KeyValue
	stream jetstream.Stream
}

func createLedger(ctx context.Context, js jetstream.JetStream, ttl time.Duration, replicas int) (*ledger, error) {
	_, err := js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket:      bucketAttempts,
		Description: "attempts at unfinished jobs",
		History:     1,
		TTL:         ttl,
		Storage:     jetstream.FileStorage,
		Replicas:    replicas,
	})
	if err != nil {
		return nil, fmt.Errorf("creating bucket %s: %w", bucketAttempts, err)
	}
	return openLedger(ctx, js)
}

func openLedger(ctx context.Context, js jetstream.JetStream) (*ledger, error) {
	kv, err := js.KeyValue(ctx, bucketAttempts)
	if err != nil {
		return nil, fmt.Errorf("opening bucket %s: %w", bucketAttempts, err)
	}
	stream, err := js.Stream(ctx, "KV_"+bucketAttempts)
	if err != nil {
		return nil, fmt.Errorf("opening the stream of bucket %s: %w", bucketAttempts, err)
	}
	return &ledger{kv: kv, stream: stream}, nil
}

func tallyKey(generation uint64) string { return strconv.FormatUint(generation, 10) }

// load returns the tally of a generation, the zero tally if there is none.
func (l *ledger) load(ctx context.Context, generation uint64) (tally, error) {
	entry, err := l.kv.Get(ctx, tallyKey(generation))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return tally{}, nil
	}
	if err != nil {
		return tally{}, fmt.Errorf("reading the attempts of generation %d: %w", generation, err)
	}
	var t tally
	if err := json.Unmarshal(entry.Value(), &t); err != nil {
		return tally{}, fmt.Errorf("reading the attempts of generation %d: %w", generation, err)
	}
	t.revision = entry.Revision()
	return t, nil
}

// store writes a tally in place of the revision it carries; it fails with jetstream.ErrKeyRevisionMismatch if
// another worker has written since.
func (l *ledger) store(ctx context.Context, generation uint64, t tally) (tally, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return t, fmt.Errorf("encoding the attempts of generation %d: %w", generation, err)
	}
	revision, err := l.kv.Update(ctx, tallyKey(generation), data, t.revision)
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
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
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
	if err := l.stream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+bucketAttempts+"."+tallyKey(generation))); err != nil {
		return fmt.Errorf("removing the attempts of generation %d: %w", generation, err)
	}
	return nil
}
