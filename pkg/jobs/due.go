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

// DueHandler is told that a datasource became due at a time of the servers' clock. It may be told twice.
type DueHandler func(ctx context.Context, datastoreID, datasourceID string, at time.Time) error

const (
	// dueAckWait is how long what is due waits for a process that has gone silent with it.
	dueAckWait = 30 * time.Second
	// dueTimeout bounds one call of the handler.
	dueTimeout = 20 * time.Second
	// duePending bounds what is with processes or waits for another try. Beyond it nothing new is handed out.
	duePending  = 1000
	dueRetryMin = time.Second
	dueRetryMax = 5 * time.Minute
)

// Due tells the handler what has become due, one datasource at a time, until ctx ends; then it returns nil. When the
// handler fails or panics, it is told again after a growing delay, unless the datasource has become due anew meanwhile,
// of which it is told instead. Any number of processes may ask; each is told a part. It mends itself when the stream is
// made again.
func (b *Broker) Due(ctx context.Context, handler DueHandler) error {
	d := &dueReader{broker: b, handler: handler, retry: backoff{min: dueRetryMin, max: dueRetryMax}}
	pause := backoff{min: 100 * time.Millisecond, max: 10 * time.Second}
	for failures := 0; ctx.Err() == nil; {
		told, err := d.read(ctx)
		if ctx.Err() != nil {
			break
		}
		if told {
			failures = 0
		}
		failures++
		b.log.Warn("reading what is due to be fetched again is held up", "error", err, "failures", failures)
		wait(ctx, pause.delay(failures))
	}
	return nil
}

// dueReader is one Due.
type dueReader struct {
	broker  *Broker
	handler DueHandler
	retry   backoff
}

// read tells what is due until asking for it fails or ctx ends, and reports whether there was any.
func (d *dueReader) read(ctx context.Context) (told bool, err error) {
	consumer, err := d.broker.ensureConsumer(ctx, StreamSchedules, jetstream.ConsumerConfig{
		Durable:       ConsumerRefresh,
		Description:   "has web content fetched again",
		FilterSubject: dueSubject("*", "*"),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       dueAckWait,
		MaxDeliver:    -1,
		MaxAckPending: duePending,
	})
	if err != nil {
		return false, fmt.Errorf("making the consumer of what is due: %w", err)
	}
	for ctx.Err() == nil {
		msg, err := consumer.Next(jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(askBeat))
		switch {
		case err == nil && ctx.Err() != nil:
			return told, msg.Nak() // it came as we were leaving
		case err == nil:
			told = true
			if err := d.deliver(ctx, msg); err != nil {
				return told, err
			}
		case errors.Is(err, nats.ErrTimeout), ctx.Err() != nil: // nothing is due for a while
		default:
			return told, fmt.Errorf("asking for what is due: %w", err)
		}
	}
	return told, nil
}

// deliver tells the handler of one message and settles it. A settlement that is lost makes it come again.
func (d *dueReader) deliver(ctx context.Context, msg jetstream.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("reading the metadata of what is due: %w", err)
	}
	parts := strings.Split(msg.Subject(), ".")
	if len(parts) != 3 || checkIDs(parts[1], parts[2]) != nil {
		d.broker.log.Error("message is not about a datasource and is skipped", "subject", msg.Subject())
		return msg.Term()
	}
	if err := d.tell(ctx, parts[1], parts[2], meta.Timestamp); err != nil {
		if ctx.Err() != nil {
			return msg.Nak() // cut short by a stop
		}
		delay := d.retry.delay(int(min(meta.NumDelivered, 64)))
		d.broker.log.Warn("datasource is due and could not be fetched again yet", "datasource", parts[2], "delay", delay, "error", err)
		return msg.NakWithDelay(delay)
	}
	return msg.Ack()
}

// tell calls the handler and makes an error of a panic.
func (d *dueReader) tell(ctx context.Context, datastoreID, datasourceID string, at time.Time) (err error) {
	ctx, cancel := context.WithTimeout(ctx, dueTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			d.broker.log.Error("fetching again what is due panicked", "datasource", datasourceID, "panic", v, "stack", string(debug.Stack()))
			err = &panicError{value: v}
		}
	}()
	return d.handler(ctx, datastoreID, datasourceID, at)
}
