package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
)

// How the catalog's consumer is kept.
const (
	// catalogAckWait is how long all events wait for one that a killed process was applying. Applying takes milliseconds;
	// one that takes longer is handed out again, which is harmless.
	catalogAckWait  = 5 * time.Second
	catalogRetryMin = 200 * time.Millisecond
	catalogRetryMax = time.Minute
	// catalogPanics is how often applying an event may panic before it is dropped: one that the program cannot bear would
	// hold up all others for ever, and what waits for it is found by the rescuer.
	catalogPanics = 5
)

// Consume hands every event to the handler, in the order of the stream, until ctx ends; then it returns nil. An
// event is acknowledged after the handler has returned nil. One that fails comes again after a growing delay, and
// the events behind it wait, so the handler must return an error only for what passes by itself. Any number of
// processes may consume at once: each event goes to one of them, and still only one event is under way at a time.
// A message that is not an event is logged and skipped, and so is an event over which the handler panics time and again.
//
// It returns an error only if it cannot begin.
func (b *Broker) Consume(ctx context.Context, handler func(ctx context.Context, ev domain.Event) error) error {
	r := &reader{broker: b, handler: handler, retry: backoff{min: catalogRetryMin, max: catalogRetryMax}}
	consumer, err := r.consumer(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	pause := backoff{min: 100 * time.Millisecond, max: 10 * time.Second}
	for failures := 0; ctx.Err() == nil; {
		if err == nil {
			var progressed bool
			if progressed, err = r.read(ctx, consumer); progressed {
				failures = 0
			}
		}
		if ctx.Err() != nil {
			break
		}
		failures++
		b.log.Warn("reading events is held up", "error", err, "failures", failures)
		wait(ctx, pause.delay(failures))
		consumer, err = r.consumer(ctx)
	}
	return nil
}

// reader is one Consume.
type reader struct {
	broker  *Broker
	handler func(context.Context, domain.Event) error
	retry   backoff
}

func (r *reader) consumer(ctx context.Context) (jetstream.Consumer, error) {
	c, err := r.broker.js.CreateOrUpdateConsumer(ctx, StreamEvents, jetstream.ConsumerConfig{
		Durable:       consumerCatalog,
		Description:   "applies events to the catalog",
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       catalogAckWait,
		MaxDeliver:    -1,
		MaxAckPending: 1, // order: nothing is handed out while an event is under way or waits for another attempt
	})
	if err != nil {
		return nil, fmt.Errorf("making the consumer of events: %w", err)
	}
	return c, nil
}

// read handles events until asking for them fails or ctx ends, and reports whether there were any.
func (r *reader) read(ctx context.Context, consumer jetstream.Consumer) (progressed bool, err error) {
	for ctx.Err() == nil {
		msg, err := consumer.Next(jetstream.FetchContext(ctx))
		switch {
		case err == nil && ctx.Err() != nil:
			return true, msg.Nak()
		case err == nil:
			progressed = true
			if err := r.handle(ctx, msg); err != nil {
				return true, err
			}
		case errors.Is(err, nats.ErrTimeout), ctx.Err() != nil:
		default:
			return progressed, fmt.Errorf("asking for the next event: %w", err)
		}
	}
	return progressed, nil
}

// handle applies one event and settles its message.
func (r *reader) handle(ctx context.Context, msg jetstream.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("reading an event's metadata: %w", err)
	}
	ev, err := decodeEvent(msg.Subject(), msg.Data())
	if err != nil {
		r.broker.log.Error("message is not an event and is skipped", "subject", msg.Subject(), "sequence", meta.Sequence.Stream, "error", err)
		return r.ack(ctx, msg)
	}
	if err := r.apply(ctx, msg, ev); err != nil {
		if ctx.Err() != nil { // cut short by a stop: the next process may have it at once
			return msg.Nak()
		}
		var panicked *panicError
		if errors.As(err, &panicked) && meta.NumDelivered >= catalogPanics {
			r.broker.log.Error("event cannot be applied and is dropped", "type", ev.Type, "job", ev.JobID,
				"datasource", ev.DatasourceID, "generation", ev.Generation, "delivery", meta.NumDelivered, "error", err)
			return r.ack(ctx, msg)
		}
		delay := r.retry.delay(int(min(meta.NumDelivered, 1000)))
		r.broker.log.Warn("event could not be applied and comes again", "type", ev.Type, "job", ev.JobID,
			"datasource", ev.DatasourceID, "delivery", meta.NumDelivered, "delay", delay, "error", err)
		return msg.NakWithDelay(delay)
	}
	return r.ack(ctx, msg)
}

// apply runs the handler and extends the lease meanwhile.
func (r *reader) apply(ctx context.Context, msg jetstream.Msg, ev domain.Event) (err error) {
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		beat := time.NewTicker(catalogAckWait / 3)
		defer beat.Stop()
		for {
			select {
			case <-stop:
				return
			case <-beat.C:
				_ = msg.InProgress() // a lease that is lost makes the event come twice, which is harmless
			}
		}
	}()
	defer func() {
		if v := recover(); v != nil {
			r.broker.log.Error("applying an event panicked", "type", ev.Type, "job", ev.JobID, "panic", v, "stack", string(debug.Stack()))
			err = &panicError{value: v}
		}
		close(stop)
		<-stopped
	}()
	return r.handler(ctx, ev)
}

// ack waits for the server's word, also while stopping: what was applied need not be applied again.
func (r *reader) ack(ctx context.Context, msg jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := msg.DoubleAck(ctx); err != nil {
		return fmt.Errorf("acknowledging an event: %w", err)
	}
	return nil
}

// decodeEvent reads a message of EVENTS and checks it against its subject.
func decodeEvent(subject string, data []byte) (domain.Event, error) {
	var ev domain.Event
	if err := json.Unmarshal(data, &ev); err != nil {
		return ev, fmt.Errorf("decoding event: %w", err)
	}
	if eventSubject(ev.DatastoreID, ev.DatasourceID) != subject {
		return ev, fmt.Errorf("%w: event of datasource %q on subject %q", ErrInvalid, ev.DatasourceID, subject)
	}
	return ev, nil
}
