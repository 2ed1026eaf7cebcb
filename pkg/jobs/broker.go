package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
)

// Broker publishes jobs and events and hands them out. It is safe for concurrent use and owns no goroutine of its
// own: it lives as long as its connection.
type Broker struct {
	conn        *Conn
	js          jetstream.JetStream
	jobs        jetstream.Stream
	events      jetstream.Stream
	deadLetters jetstream.Stream
	attempts    *ledger
	reset       bool
	now         func() time.Time
	log         *slog.Logger
}

// Open creates the streams or brings them up to date. It is for processes that own the catalog; the others Attach.
func Open(ctx context.Context, conn *Conn, o Options) (*Broker, error) {
	o = o.withDefaults()
	b := &Broker{conn: conn, js: conn.js, now: o.Now, log: o.Log}
	var err error
	if b.jobs, b.reset, err = ensureStream(ctx, b.js, o.jobsConfig()); err != nil {
		return nil, err
	}
	if err := b.advance(ctx, o.HighestGeneration); err != nil {
		return nil, err
	}
	if b.events, _, err = ensureStream(ctx, b.js, o.eventsConfig()); err != nil {
		return nil, err
	}
	if b.deadLetters, _, err = ensureStream(ctx, b.js, o.deadLettersConfig()); err != nil {
		return nil, err
	}
	if b.attempts, err = createLedger(ctx, b.js, o.AttemptsTTL, o.Replicas); err != nil {
		return nil, err
	}
	return b, nil
}

// advance moves a JOBS stream that lags behind the catalog above its highest generation. Its jobs are older than
// what the catalog knows, and their generations would be given out a second time, so they go.
func (b *Broker) advance(ctx context.Context, highest uint64) error {
	last := b.jobs.CachedInfo().State.LastSeq
	if last >= highest {
		return nil
	}
	if err := b.jobs.Purge(ctx, jetstream.WithPurgeSequence(highest+1)); err != nil {
		return fmt.Errorf("moving stream %s above generation %d: %w", StreamJobs, highest, err)
	}
	b.log.Warn("job log was older than the catalog and has been emptied", "last_generation", last, "catalog_generation", highest)
	b.reset = true
	return nil
}

// attachInterval is how often Attach looks for streams that are not there yet.
const attachInterval = 250 * time.Millisecond

// Attach finds the streams that Open makes, waiting for them until ctx ends. Only Now and Log of the options count.
func Attach(ctx context.Context, conn *Conn, o Options) (*Broker, error) {
	o = o.withDefaults()
	b := &Broker{conn: conn, js: conn.js, now: o.Now, log: o.Log}
	for {
		err := b.lookUp(ctx)
		if err == nil {
			return b, nil
		}
		if !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, jetstream.ErrBucketNotFound) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the streams that the api process creates: %w", err)
		case <-time.After(attachInterval):
		}
	}
}

func (b *Broker) lookUp(ctx context.Context) (err error) {
	for name, s := range map[string]*jetstream.Stream{
		StreamJobs: &b.jobs, StreamEvents: &b.events, StreamDeadLetters: &b.deadLetters,
	} {
		if *s, err = b.js.Stream(ctx, name); err != nil {
			return fmt.Errorf("looking up stream %s: %w", name, err)
		}
	}
	b.attempts, err = openLedger(ctx, b.js)
	return err
}

// Reset reports whether Open had to create or empty JOBS. Jobs that the catalog holds as unfinished are then not in
// the stream and must be published again.
func (b *Broker) Reset() bool { return b.reset }

// Publish stores a job and returns its generation. A job whose ID was published within the duplicate window is not
// stored again: the generation of the first is returned. When Publish returns nil, the job survives whatever the
// server's storage promises (an embedded server: power loss).
//
// It fails with ErrInvalid, ErrTooLarge or ErrFull, and otherwise with an error that passes by itself.
func (b *Broker) Publish(ctx context.Context, job domain.Job) (uint64, error) {
	msg, err := jobMessage(job)
	if err != nil {
		return 0, err
	}
	ack, err := b.js.PublishMsg(ctx, msg, jetstream.WithMsgID(job.ID), jetstream.WithExpectStream(StreamJobs))
	if err != nil {
		return 0, fmt.Errorf("publishing job %s: %w", job.ID, publishError(err))
	}
	if ack.Duplicate {
		b.log.Debug("job was published before", "job", job.ID, "generation", ack.Sequence)
	}
	return ack.Sequence, nil
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
	return &nats.Msg{Subject: jobSubject(job.Kind, job.DatastoreID, job.DatasourceID), Data: data, Header: nats.Header{}}, nil
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
	if _, err := b.js.Publish(ctx, eventSubject(ev.DatastoreID, ev.DatasourceID), data, jetstream.WithExpectStream(StreamEvents)); err != nil {
		return fmt.Errorf("publishing %s event of job %s: %w", ev.Type, ev.JobID, publishError(err))
	}
	return nil
}

// Codes of the server's refusals that the client has no names for.
const (
	codeInsufficientResources = 10023
	codeStorageExceeded       = 10047
	codeStoreFailed           = 10077 // wraps "maximum bytes exceeded", "maximum messages exceeded" and disk errors
)

// publishError gives the server's refusals the names that callers test for.
func publishError(err error) error {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return err
	}
	switch api.ErrorCode {
	case jetstream.JSErrCodeStreamMessageExceedsMaximum:
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	case codeInsufficientResources, codeStorageExceeded, codeStoreFailed:
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// Ready reports whether the server answers and the streams are there.
func (b *Broker) Ready(ctx context.Context) error {
	if _, err := b.jobs.Info(ctx); err != nil {
		return fmt.Errorf("asking for stream %s: %w", StreamJobs, err)
	}
	return nil
}
