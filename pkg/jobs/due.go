package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// DueHandler handles a datasource that became due at the given time on the servers' clock. It may be called twice for
// the same due time.
type DueHandler func(ctx context.Context, datastoreID, datasourceID string, at time.Time) error

const (
	// dueAckWait is how long the server waits for a process to settle a message before redelivering it.
	dueAckWait = 30 * time.Second
	// dueTimeout is the time limit for one handler call.
	dueTimeout = 20 * time.Second
	// duePending is the maximum number of messages that may be in progress or waiting for a retry.
	duePending  = 1000
	dueRetryMin = time.Second
	dueRetryMax = 5 * time.Minute
)

// Due calls the handler for each datasource that becomes due, one at a time, and returns nil once ctx is done. If the
// handler fails or panics, it is called again with backoff, unless the datasource becomes due again first. Any number
// of processes may call Due and share the work. Due survives the loss of the stream and continues once it has been
// recreated.
func (b *Broker) Due(ctx context.Context, handler DueHandler) error {
	d := &dueReader{broker: b, handler: handler, retry: backoff{min: dueRetryMin, max: dueRetryMax}}
	pause := backoff{min: 100 * time.Millisecond, max: 10 * time.Second}
	for failures := 0; ctx.Err() == nil; {
		handled, err := d.read(ctx)
		if ctx.Err() != nil {
			break
		}
		if handled {
			failures = 0
		}
		failures++
		b.log.Warn("cannot read scheduled refreshes; retrying", "error", err, "failures", failures)
		wait(ctx, pause.delay(failures))
	}
	return nil
}

// dueReader holds the state of one Due call.
type dueReader struct {
	broker  *Broker
	handler DueHandler
	retry   backoff
}

// read handles due datasources until a request for more fails or ctx is done. It reports whether it handled any.
func (d *dueReader) read(ctx context.Context) (handled bool, err error) {
	consumer, err := d.broker.ensureConsumer(ctx, StreamSchedules, jetstream.ConsumerConfig{
		Durable:       ConsumerRefresh,
		Description:   "refreshes web content",
		FilterSubject: dueSubject("*", "*"),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       dueAckWait,
		MaxDeliver:    -1,
		MaxAckPending: duePending,
	})
	if err != nil {
		return false, fmt.Errorf("creating the consumer for scheduled refreshes: %w", err)
	}
	for ctx.Err() == nil {
		msg, err := consumer.Next(jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(requestHeartbeat))
		switch {
		case err == nil && ctx.Err() != nil:
			return handled, msg.Nak() // it arrived during the shutdown
		case err == nil:
			handled = true
			if err := d.deliver(ctx, msg); err != nil {
				return handled, err
			}
		case errors.Is(err, nats.ErrTimeout), ctx.Err() != nil: // nothing became due before the request timed out
		default:
			return handled, fmt.Errorf("fetching scheduled refreshes: %w", err)
		}
	}
	return handled, nil
}

// deliver passes one message to the handler. It then acknowledges the message or, if the handler failed, requests
// redelivery. If the acknowledgement is lost, the server redelivers the message.
func (d *dueReader) deliver(ctx context.Context, msg jetstream.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("reading the metadata of a scheduled refresh: %w", err)
	}
	parts := strings.Split(msg.Subject(), ".")
	if len(parts) != 3 || checkIDs(parts[1], parts[2]) != nil {
		d.broker.log.Error("skipping a message that does not name a datasource", "subject", msg.Subject())
		return msg.Term()
	}
	if err := d.call(ctx, parts[1], parts[2], meta.Timestamp); err != nil {
		if ctx.Err() != nil {
			return msg.Nak() // interrupted by a shutdown
		}
		delay := d.retry.delay(int(min(meta.NumDelivered, 64)))
		d.broker.log.Warn("could not refresh a datasource; will retry", "datasource", parts[2], "delay", delay, "error", err)
		return msg.NakWithDelay(delay)
	}
	return msg.Ack()
}

// call runs the handler, turning a panic into an error.
func (d *dueReader) call(ctx context.Context, datastoreID, datasourceID string, at time.Time) (err error) {
	ctx, cancel := context.WithTimeout(ctx, dueTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			d.broker.log.Error("refreshing a datasource panicked", "datasource", datasourceID, "panic", v, "stack", string(debug.Stack()))
			err = &panicError{value: v}
		}
	}()
	return d.handler(ctx, datastoreID, datasourceID, at)
}
