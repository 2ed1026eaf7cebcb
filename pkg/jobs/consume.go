package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
)

// Configuration of the consumer that applies events to the catalog.
const (
	// MaxBatch is the maximum number of events in one batch from ConsumeBatches.
	MaxBatch = 64

	// catalogAckWait is how long the server waits for an acknowledgement before it redelivers an event, for example
	// because the process was killed. Later events have to wait until then. Applying events takes milliseconds; if it
	// ever takes longer, a second delivery is harmless.
	catalogAckWait = 5 * time.Second
	// catalogPin is how long a process remains the only consumer after its last request.
	catalogPin      = 5 * time.Second
	catalogGroup    = "applier"
	catalogRetryMin = 200 * time.Millisecond
	catalogRetryMax = time.Minute
	// catalogPanics is the number of panics after which an event is dropped, so that it does not block all later
	// events. control.Rescuer later finds the datasource still waiting for it.
	catalogPanics = 5
	// batchWait is the maximum time to wait for a batch's other events after the first one. They should arrive at once:
	// along with the first event, the server reported how many others it already has.
	batchWait = 250 * time.Millisecond
)

// ConsumeBatches passes all events to the handler in stream order, in batches of at most `limit` events (1 to
// MaxBatch), and returns nil once ctx is done. It acknowledges events once the handler has returned nil.
//
// If the handler fails, ConsumeBatches passes it the events one by one and retries each with backoff until it succeeds.
// Later events wait, so the handler must fail only for temporary reasons. Messages that are not events are logged and
// skipped, and so are events that make the handler panic catalogPanics times.
//
// Any number of processes may call ConsumeBatches, but only one of them receives the events. If that process stops
// responding, another takes over, but it gets no new events until the earlier ones are settled.
//
// ConsumeBatches returns an error only if it cannot start.
func (b *Broker) ConsumeBatches(ctx context.Context, limit int, handler func(ctx context.Context, evs []domain.Event) error) error {
	r := &reader{
		broker: b, handler: handler, limit: min(max(limit, 1), MaxBatch), retry: backoff{min: catalogRetryMin, max: catalogRetryMax},
	}
	consumer, err := r.consumer(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	unserved, err := b.answerServed()
	if err != nil {
		return err
	}
	defer unserved()
	var background sync.WaitGroup
	background.Go(func() { b.keepCheckpoints(ctx) })
	defer background.Wait()
	pause := backoff{min: 100 * time.Millisecond, max: 5 * time.Second}
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
		b.log.Warn("cannot read events; retrying", "error", err, "failures", failures)
		wait(ctx, pause.delay(failures))
		r.next = 0
		consumer, err = r.consumer(ctx)
	}
	r.leave(ctx)
	return nil
}

// reader holds the state of one ConsumeBatches call.
type reader struct {
	broker  *Broker
	handler func(context.Context, []domain.Event) error
	limit   int
	retry   backoff

	// next is the number (consumer sequence) that the next delivery will have if all earlier deliveries are settled.
	// Zero means unknown. If the numbers of a batch's deliveries are consecutive and begin with next, no other process
	// holds an unsettled event.
	next uint64
	// pinned reports whether the server has ever made this process the only consumer.
	pinned bool
}

// Timeout for unpinning during a shutdown. If it fails, the next process must wait for catalogPin to pass.
const unpinTimeout = time.Second

// leave unpins the consumer so that another process can take over immediately.
func (r *reader) leave(ctx context.Context) {
	if !r.pinned || !r.broker.conn.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unpinTimeout)
	defer cancel()
	if err := r.broker.events.UnpinConsumer(ctx, ConsumerCatalog, catalogGroup); err != nil {
		r.broker.log.Debug("could not unpin the consumer for events", "error", err)
	}
}

func (r *reader) consumer(ctx context.Context) (jetstream.Consumer, error) {
	c, err := r.broker.ensureConsumer(ctx, StreamEvents, jetstream.ConsumerConfig{
		Durable:       ConsumerCatalog,
		Description:   "applies events to the catalog",
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       catalogAckWait,
		MaxDeliver:    -1,
		MaxAckPending: MaxBatch,
		// Pinning only saves work, by delivering events to one process at a time. The order of the events does not
		// depend on it; hasAllPending ensures that.
		PriorityPolicy: jetstream.PriorityPolicyPinned,
		PriorityGroups: []string{catalogGroup},
		PinnedTTL:      catalogPin,
	})
	if err != nil {
		return nil, fmt.Errorf("creating the consumer for events: %w", err)
	}
	return c, nil
}

// read handles events until a request for more fails or ctx is done. It reports whether it handled any.
func (r *reader) read(ctx context.Context, consumer jetstream.Consumer) (progressed bool, err error) {
	crowded := backoff{min: 20 * time.Millisecond, max: time.Second}
	for others := 0; ctx.Err() == nil; {
		batch, err := r.fetch(ctx, consumer)
		if err != nil {
			return progressed, err
		}
		if len(batch) == 0 {
			continue
		}
		mine, err := r.hasAllPending(ctx, consumer, batch)
		if err != nil || !mine || ctx.Err() != nil {
			redeliver(batch)
			if err != nil {
				return progressed, err
			}
			others++
			wait(ctx, crowded.delay(others))
			continue
		}
		progressed, others = true, 0
		if err := r.handle(ctx, batch); err != nil {
			return true, err
		}
	}
	return progressed, nil
}

// received is an EVENTS message with its delivery metadata.
type received struct {
	jetstream.Msg
	meta *jetstream.MsgMetadata
}

// fetch waits for an event and returns it and the events queued behind it, in stream order, or none if the request
// times out.
func (r *reader) fetch(ctx context.Context, consumer jetstream.Consumer) ([]received, error) {
	first, err := consumer.Next(jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(requestHeartbeat), jetstream.FetchPriorityGroup(catalogGroup))
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrPinIDMismatch):
		return nil, nil // no event arrived, or another process is pinned
	default:
		return nil, fmt.Errorf("requesting the next event: %w", err)
	}
	r.pinned = true
	batch := make([]received, 0, r.limit)
	if batch, err = appendReceived(batch, first); err != nil {
		return nil, err
	}
	more := min(int(min(batch[0].meta.NumPending, MaxBatch)), r.limit-1)
	if r.next == 0 {
		// Redelivered events don't count as pending, so their number isn't known. Request as many events as possible,
		// because hasAllPending accepts a batch only if it contains all unsettled events.
		more = MaxBatch - 1
	}
	if more > 0 && ctx.Err() == nil {
		rest, err := consumer.Fetch(more, jetstream.FetchMaxWait(batchWait), jetstream.FetchPriorityGroup(catalogGroup))
		if err != nil {
			redeliver(batch)
			return nil, fmt.Errorf("requesting more events: %w", err)
		}
		for msg := range rest.Messages() {
			if batch, err = appendReceived(batch, msg); err != nil {
				redeliver(batch)
				return nil, err
			}
		}
		// If an error ended this fetch early, the next fetch hits the same error and returns it.
	}
	slices.SortFunc(batch, func(x, y received) int { return cmp.Compare(x.meta.Sequence.Stream, y.meta.Sequence.Stream) })
	return batch, nil
}

func appendReceived(batch []received, msg jetstream.Msg) ([]received, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return batch, fmt.Errorf("reading an event's metadata: %w", err)
	}
	return append(batch, received{Msg: msg, meta: meta}), nil
}

// hasAllPending reports whether the batch contains all delivered but unsettled events. Any missing ones are held by
// another process, dead or alive, and must be applied first because they are older.
func (r *reader) hasAllPending(ctx context.Context, consumer jetstream.Consumer, batch []received) (bool, error) {
	if r.next != 0 {
		first, last := batch[0].meta.Sequence.Consumer, batch[0].meta.Sequence.Consumer
		for _, m := range batch[1:] {
			first, last = min(first, m.meta.Sequence.Consumer), max(last, m.meta.Sequence.Consumer)
		}
		if first == r.next && last == first+uint64(len(batch))-1 {
			r.next = last + 1
			return true, nil
		}
	}
	r.next = 0
	var info *jetstream.ConsumerInfo
	err := r.broker.retry(ctx, func(ctx context.Context) (err error) {
		info, err = consumer.Info(ctx)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return false, nil
		}
		return false, fmt.Errorf("reading the state of the consumer for events: %w", err)
	}
	if info.NumAckPending != len(batch) {
		return false, nil
	}
	r.next = info.Delivered.Consumer + 1
	return true, nil
}

// redeliver asks the server to redeliver events immediately. If a request is lost, the event is redelivered after
// catalogAckWait.
func redeliver(batch []received) {
	for _, m := range batch {
		_ = m.Nak()
	}
}

// decodeEvent decodes an EVENTS message and checks that the event matches the message's subject.
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
