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

// Broker publishes jobs and events and hands them out. It is safe for concurrent use and owns no goroutine of its
// own: it lives as long as its connection.
type Broker struct {
	conn         *Conn
	js           jetstream.JetStream
	opts         Options
	jobs         jetstream.Stream
	events       jetstream.Stream
	deadLetters  jetstream.Stream
	schedules    jetstream.Stream
	attempts     *ledger
	reset        bool
	catalog      string // whose jobs these are, "" unknown
	installation string
	highest      atomic.Uint64 // generation that was given out to this process
	now          func() time.Time
	log          *slog.Logger
}

// Open creates the streams or brings them up to date. It is for processes that own the catalog; the others Attach. It
// fails with ErrReplicas if the cluster is too small for them, and with ErrForeign if they belong to another catalog.
func Open(ctx context.Context, conn *Conn, o Options) (*Broker, error) {
	b := unopened(conn, o)
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

func unopened(conn *Conn, o Options) *Broker {
	o = o.withDefaults()
	return &Broker{conn: conn, js: conn.js, opts: o, attempts: newLedger(conn.js, o.Patience), now: o.Now, log: o.Log}
}

// attachInterval is how often Attach looks for streams that are not there yet.
const attachInterval = 250 * time.Millisecond

// Attach finds the streams that Open makes, waiting for them until ctx ends. Only Patience, Now and Log of the options
// count. It fails with ErrNewer if a newer version of the program has made them.
func Attach(ctx context.Context, conn *Conn, o Options) (*Broker, error) {
	b := unopened(conn, o)
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
		err := b.do(ctx, func(ctx context.Context) (err error) {
			*s, err = b.js.Stream(ctx, name)
			return quorum.Lost(name, err)
		})
		if err != nil {
			return fmt.Errorf("looking up stream %s: %w", name, err)
		}
	}
	return nil
}

// do repeats a request that is lost in an election.
func (b *Broker) do(ctx context.Context, f func(ctx context.Context) error) error {
	return quorum.Do(ctx, b.opts.Patience, f)
}

// leader reads single messages of a stream as its leader knows them.
func (b *Broker) leader(stream string) quorum.Reader {
	return quorum.Reader{JS: b.js, Stream: stream, Patience: b.opts.Patience}
}

// Reset reports whether Open had to create or empty JOBS. Jobs that the catalog holds as unfinished are then not in
// the stream and must be published again.
func (b *Broker) Reset() bool { return b.reset }

// Publish stores a job and returns its generation. A job whose ID was published within the duplicate window is not
// stored again: the generation of the first is returned. When Publish returns nil, the job survives whatever the
// servers' storage promises (an embedded server: power loss; a cluster: the loss of fewer than half of the replicas).
//
// It waits while the stream has no leader, for as long as Options.Patience. It fails with ErrInvalid, ErrTooLarge,
// ErrFull or ErrStreamLost, and otherwise with an error that passes by itself, such as ErrUnavailable: the job may then
// have been stored all the same, and publishing it again tells.
func (b *Broker) Publish(ctx context.Context, job domain.Job) (uint64, error) {
	msg, err := jobMessage(job)
	if err != nil {
		return 0, err
	}
	ack, err := b.store(ctx, StreamJobs, job.ID, msg)
	if err != nil {
		return 0, fmt.Errorf("publishing job %s: %w", job.ID, err)
	}
	b.saw(ack.Sequence)
	if ack.Duplicate {
		b.log.Debug("job was published before", "job", job.ID, "datasource", job.DatasourceID, "generation", ack.Sequence)
	}
	return ack.Sequence, nil
}

// saw remembers the highest generation.
func (b *Broker) saw(generation uint64) {
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

// traced are the headers of a message that belongs to a trace, where tools that follow messages look for it.
func traced(trace string) nats.Header {
	h := nats.Header{}
	if trace != "" {
		h.Set(telemetry.Header, trace)
	}
	return h
}

// encode writes JSON without the escapes that make text safe inside HTML: they write six bytes for each "&", with which
// the addresses of one event could outgrow its limit.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// checkJob says what keeps a job from being published or worked on.
func checkJob(job domain.Job) error {
	if !validKind(job.Kind) {
		return fmt.Errorf("%w: kind %q", ErrInvalid, job.Kind)
	}
	if !domain.ValidID(job.ID) {
		return fmt.Errorf("%w: job id %q", ErrInvalid, job.ID)
	}
	return checkIDs(job.DatastoreID, job.DatasourceID)
}

// Emit stores an event and returns when it is stored. Fails like Publish.
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

// Ready reports whether the servers answer and the streams are there. It fails with ErrStreamLost if Repair is needed.
func (b *Broker) Ready(ctx context.Context) error {
	for _, stream := range allStreams {
		if _, err := b.js.Stream(ctx, stream); err != nil {
			return fmt.Errorf("asking for stream %s: %w", stream, quorum.Lost(stream, err))
		}
	}
	return nil
}
