package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
	"github.com/sluice/sluice/pkg/telemetry"
)

// Broker publishes and delivers jobs and events. It is safe for concurrent use, starts no goroutines of its own and
// lives as long as its connection.
type Broker struct {
	conn         *Conn
	js           jetstream.JetStream
	opts         Options
	jobs         jetstream.Stream
	events       jetstream.Stream
	deadLetters  jetstream.Stream
	schedules    jetstream.Stream
	attempts     *attemptStore
	reset        bool
	catalog      string // id of the catalog that owns the jobs; "" if unknown
	installation string
	highest      atomic.Uint64 // highest generation seen by this process
	now          func() time.Time
	log          *slog.Logger
}

// Open creates the streams or updates their configuration. It is for processes that own the catalog; others call
// Attach. It fails with quorum.ErrReplicas if the cluster has too few servers, and with ErrForeign if the streams
// belong to another catalog.
func Open(ctx context.Context, conn *Conn, o Options) (*Broker, error) {
	b := newUnopenedBroker(conn, o)
	if err := b.identify(ctx, o); err != nil {
		return nil, err
	}
	repaired, err := b.ensure(ctx, b.opts.HighestGeneration, allStreams)
	if err != nil {
		return nil, err
	}
	b.reset = repaired.JobsReset
	return b, b.lookUp(ctx)
}

func newUnopenedBroker(conn *Conn, o Options) *Broker {
	o = o.withDefaults()
	return &Broker{conn: conn, js: conn.js, opts: o, attempts: newAttemptStore(conn.js, o.RetryTimeout), now: o.Now, log: o.Log}
}

// How often Attach checks whether the streams exist yet.
const attachInterval = 250 * time.Millisecond

// Attach looks up the streams created by Open, waiting for them until ctx is done. The only options it uses are
// RetryTimeout, Now and Log. It fails with ErrNewer if a newer version of the program created the streams.
func Attach(ctx context.Context, conn *Conn, o Options) (*Broker, error) {
	b := newUnopenedBroker(conn, o)
	for {
		err := b.lookUp(ctx)
		if err == nil {
			if err := checkFormat(b.jobs.CachedInfo().Config.Metadata); err != nil {
				return nil, err
			}
			return b, nil
		}
		if !errors.Is(err, ErrStreamLost) && !errors.Is(err, ErrUnavailable) {
			return nil, err
		}
		wait(ctx, attachInterval)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("waiting for the streams that the api process creates: %w", err)
		}
	}
}

func (b *Broker) lookUp(ctx context.Context) error {
	for name, s := range map[string]*jetstream.Stream{
		StreamJobs: &b.jobs, StreamEvents: &b.events, StreamDeadLetters: &b.deadLetters, streamAttempts: &b.attempts.stream,
		StreamSchedules: &b.schedules,
	} {
		err := b.retry(ctx, func(ctx context.Context) (err error) {
			*s, err = b.js.Stream(ctx, name)
			return quorum.StreamError(name, err)
		})
		if err != nil {
			return fmt.Errorf("looking up stream %s: %w", name, err)
		}
	}
	return nil
}

// retry calls f and retries it while the cluster elects a leader.
func (b *Broker) retry(ctx context.Context, f func(ctx context.Context) error) error {
	return quorum.Retry(ctx, b.opts.RetryTimeout, f)
}

// leader returns a reader that reads single messages from the stream's leader, never from a lagging replica.
func (b *Broker) leader(stream string) quorum.Reader {
	return quorum.Reader{JS: b.js, Stream: stream, Timeout: b.opts.RetryTimeout}
}

// Reset reports whether Open had to create or empty JOBS. If so, the stream lacks the catalog's unfinished jobs, which
// must be published again.
func (b *Broker) Reset() bool { return b.reset }

// Publish stores a job and returns its generation. If the job's ID was already published within the duplicate window,
// Publish doesn't store the job again and returns the generation from the first time. A stored job is as durable as the
// servers' storage: with an embedded server, it survives a power loss; with a cluster, it survives the loss of fewer
// than half of the replicas.
//
// Publish waits up to Options.RetryTimeout while the stream has no leader. It fails with ErrInvalid, ErrTooLarge,
// ErrFull, ErrStreamLost, or a temporary error such as ErrUnavailable. After a temporary error, the job may have been
// stored; publishing it again is safe and returns its generation.
func (b *Broker) Publish(ctx context.Context, job domain.Job) (uint64, error) {
	msg, err := jobMessage(job)
	if err != nil {
		return 0, err
	}
	ack, err := b.store(ctx, StreamJobs, job.ID, msg)
	if err != nil {
		return 0, fmt.Errorf("publishing job %s: %w", job.ID, err)
	}
	b.sawGeneration(ack.Sequence)
	if ack.Duplicate {
		b.log.Debug("job was already published", "job", job.ID, "datasource", job.DatasourceID, "generation", ack.Sequence)
	}
	return ack.Sequence, nil
}

// sawGeneration records a generation if it is the highest so far.
func (b *Broker) sawGeneration(generation uint64) {
	for {
		highest := b.highest.Load()
		if generation <= highest || b.highest.CompareAndSwap(highest, generation) {
			return
		}
	}
}

func jobMessage(job domain.Job) (*nats.Msg, error) {
	if err := checkJob(job); err != nil {
		return nil, err
	}
	data, err := encode(job)
	if err != nil {
		return nil, fmt.Errorf("%w: encoding job %s: %w", ErrInvalid, job.ID, err)
	}
	if len(data) > MaxJobBytes {
		return nil, fmt.Errorf("%w: job %s has %d bytes, the limit is %d", ErrTooLarge, job.ID, len(data), MaxJobBytes)
	}
	return &nats.Msg{Subject: jobSubject(job.Lane(), job.DatastoreID, job.DatasourceID), Data: data, Header: traced(job.Trace)}, nil
}

// traced returns message headers with the given trace, in the format that tracing tools expect.
func traced(trace string) nats.Header {
	h := nats.Header{}
	if trace != "" {
		h.Set(telemetry.Header, trace)
	}
	return h
}

// encode returns v as JSON without HTML escaping. Escaping would turn each "&" into six bytes, so an event with many
// URLs could exceed the size limit.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// checkJob rejects jobs that cannot be published or processed.
func checkJob(job domain.Job) error {
	if !validKind(job.Kind) {
		return fmt.Errorf("%w: kind %q", ErrInvalid, job.Kind)
	}
	if !domain.ValidID(job.ID) {
		return fmt.Errorf("%w: job id %q", ErrInvalid, job.ID)
	}
	return checkIDs(job.DatastoreID, job.DatasourceID)
}

// Emit stores an event. It fails for the same reasons as Publish.
func (b *Broker) Emit(ctx context.Context, ev domain.Event) error {
	if err := checkIDs(ev.DatastoreID, ev.DatasourceID); err != nil {
		return err
	}
	data, err := encode(ev)
	if err != nil {
		return fmt.Errorf("%w: encoding %s event of job %s: %w", ErrInvalid, ev.Type, ev.JobID, err)
	}
	if len(data) > MaxEventBytes {
		return fmt.Errorf("%w: %s event of job %s has %d bytes, the limit is %d", ErrTooLarge, ev.Type, ev.JobID, len(data), MaxEventBytes)
	}
	msg := &nats.Msg{Subject: eventSubject(ev.DatastoreID, ev.DatasourceID), Data: data, Header: traced(ev.Trace)}
	if _, err := b.store(ctx, StreamEvents, nuid.Next(), msg); err != nil {
		return fmt.Errorf("publishing %s event of job %s: %w", ev.Type, ev.JobID, err)
	}
	return nil
}

// Ready returns nil if the servers respond and all streams exist. It fails with ErrStreamLost if Repair is needed.
func (b *Broker) Ready(ctx context.Context) error {
	for _, stream := range allStreams {
		if _, err := b.js.Stream(ctx, stream); err != nil {
			return fmt.Errorf("asking for stream %s: %w", stream, quorum.StreamError(stream, err))
		}
	}
	return nil
}
