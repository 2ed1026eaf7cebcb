package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// handle applies a batch of events and acknowledges their messages. If a shutdown interrupts handle, it asks the server
// to redeliver the events immediately, so that another process can apply them.
func (r *reader) handle(ctx context.Context, batch []received) error {
	evs := make([]domain.Event, 0, len(batch))
	for _, m := range batch {
		ev, err := decodeEvent(m.Subject(), m.Data())
		if err != nil {
			r.broker.log.Error("skipping a message that is not a valid event", "subject", m.Subject(), "sequence", m.meta.Sequence.Stream, "error", err)
			continue
		}
		evs = append(evs, ev)
	}
	applied := func() error {
		defer r.extend(batch)()
		for some := range slices.Chunk(evs, r.limit) {
			if err := r.applyAll(ctx, some); err != nil {
				return err
			}
		}
		return nil
	}
	if err := applied(); err != nil { // interrupted by a shutdown: release the events to the next process
		redeliver(batch)
		return nil
	}
	return r.ack(ctx, batch)
}

// extend keeps extending the batch's acknowledgement deadline until the returned function is called.
func (r *reader) extend(batch []received) (stop func()) {
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		beat := time.NewTicker(catalogAckWait / 3)
		defer beat.Stop()
		for {
			select {
			case <-stopping:
				return
			case <-beat.C:
				for _, m := range batch {
					_ = m.InProgress() // if this fails, the lease expires and the event is redelivered, which is harmless
				}
			}
		}
	}()
	return func() {
		close(stopping)
		<-stopped
	}
}

// applyAll passes the events to the handler as one batch. If that fails, it passes them one at a time until each is
// applied or dropped. It returns an error only if ctx is done first.
func (r *reader) applyAll(ctx context.Context, evs []domain.Event) error {
	if len(evs) > 1 {
		err := r.apply(ctx, evs)
		if err == nil {
			return nil
		}
		r.broker.log.Warn("could not apply a batch of events; applying them one by one", "events", len(evs), "error", err)
	}
	for _, ev := range evs {
		if err := r.applyOne(ctx, ev); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) applyOne(ctx context.Context, ev domain.Event) error {
	panics := 0
	for failures := 1; ; failures++ {
		err := r.apply(ctx, []domain.Event{ev})
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		if _, ok := errors.AsType[*panicError](err); ok {
			if panics++; panics == catalogPanics {
				r.broker.log.Error("dropping an event that cannot be applied", "type", ev.Type, "job", ev.JobID,
					"datasource", ev.DatasourceID, "generation", ev.Generation, "tries", failures, "error", err)
				return nil
			}
		}
		delay := r.retry.delay(failures)
		r.broker.log.Warn("could not apply an event; will retry", "type", ev.Type, "job", ev.JobID,
			"datasource", ev.DatasourceID, "failures", failures, "delay", delay, "error", err)
		wait(ctx, delay)
		if ctx.Err() != nil {
			return err
		}
	}
}

// apply runs the handler, turning a panic into an error.
func (r *reader) apply(ctx context.Context, evs []domain.Event) (err error) {
	defer func() {
		if v := recover(); v != nil {
			r.broker.log.Error("applying events panicked", "events", len(evs), "type", evs[0].Type, "job", evs[0].JobID,
				"datasource", evs[0].DatasourceID, "panic", v, "stack", string(debug.Stack()))
			err = &panicError{value: v}
		}
	}()
	return r.handler(ctx, evs)
}

// Timeout for an acknowledgement, even during a shutdown.
const ackTimeout = 5 * time.Second

// ack acknowledges the batch and waits for the server's confirmation, even during a shutdown, so that applied events
// aren't redelivered. The server processes a connection's acknowledgements in order, so only the last one needs
// confirming.
func (r *reader) ack(ctx context.Context, batch []received) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ackTimeout)
	defer cancel()
	last := len(batch) - 1
	for _, m := range batch[:last] {
		if err := m.Ack(); err != nil {
			return fmt.Errorf("acknowledging an event: %w", err)
		}
	}
	if err := r.broker.retry(ctx, batch[last].DoubleAck); err != nil {
		return fmt.Errorf("acknowledging events: %w", err)
	}
	return nil
}
