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

// How the catalog's consumer is kept.
const (
	// MaxBatch is the most events that ConsumeBatches hands out at a time.
	MaxBatch = 64

	// catalogAckWait is how long all events wait for those that a killed process was applying. Applying takes
	// milliseconds; what takes longer is handed out again, which is harmless.
	catalogAckWait = 5 * time.Second
	// catalogPin is how long one process has the events to itself after it last asked for some.
	catalogPin      = 5 * time.Second
	catalogGroup    = "applier"
	catalogRetryMin = 200 * time.Millisecond
	catalogRetryMax = time.Minute
	// catalogPanics is how often applying an event may panic before it is dropped: one that the program cannot bear would
	// hold up all others for ever, and what waits for it is found by the rescuer.
	catalogPanics = 5
	// batchWait bounds the wait for the rest of a batch, which the server has said to be there.
	batchWait = 250 * time.Millisecond
)

// ConsumeBatches hands all events to the handler, in the order of the stream, as many at a time as have come in but not
// more than limit (1 to MaxBatch), until ctx ends; then it returns nil. Events are acknowledged after the handler has
// returned nil. When it fails, events are handed to it one by one, each again after a growing delay until it succeeds,
// and those behind wait: it must fail only for what passes by itself. Any number of processes may consume at once: one
// of them is handed events, another takes over when that one is silent, and still nothing is handed out while older
// events are under way elsewhere. A message that is not an event is logged and skipped, and so is an event over which
// the handler panics time and again.
//
// It returns an error only if it cannot begin.
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
	var noting sync.WaitGroup
	noting.Go(func() { b.keepNotes(ctx) })
	defer noting.Wait()
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
		b.log.Warn("reading events is held up", "error", err, "failures", failures)
		wait(ctx, pause.delay(failures))
		r.next = 0
		consumer, err = r.consumer(ctx)
	}
	r.leave(ctx)
	return nil
}

// reader is one ConsumeBatches.
type reader struct {
	broker  *Broker
	handler func(context.Context, []domain.Event) error
	limit   int
	retry   backoff

	// next is the consumer's own number for its next delivery if everything that it has delivered so far is settled;
	// 0: not known. While deliveries come to us without a gap from there, nobody else has any.
	next uint64
	// pinned says that the server has given us the events to ourselves at some time.
	pinned bool
}

// leaveTimeout bounds the farewell of a process that stops. Without it the next one waits for catalogPin.
const leaveTimeout = time.Second

// leave lets another process have the events at once.
func (r *reader) leave(ctx context.Context) {
	if !r.pinned || !r.broker.conn.nc.IsConnected() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if err := r.broker.events.UnpinConsumer(ctx, ConsumerCatalog, catalogGroup); err != nil {
		r.broker.log.Debug("leaving the events to another process", "error", err)
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
		// One process at a time is handed events. That saves work; the order is held by alone.
		PriorityPolicy: jetstream.PriorityPolicyPinned,
		PriorityGroups: []string{catalogGroup},
		PinnedTTL:      catalogPin,
	})
	if err != nil {
		return nil, fmt.Errorf("making the consumer of events: %w", err)
	}
	return c, nil
}

// read handles events until asking for them fails or ctx ends, and reports whether there were any.
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
		mine, err := r.alone(ctx, consumer, batch)
		if err != nil || !mine || ctx.Err() != nil {
			giveBack(batch)
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

// received is a message of EVENTS with what it says about its delivery.
type received struct {
	jetstream.Msg
	meta *jetstream.MsgMetadata
}

// fetch waits for an event and brings what has come in behind it, in the order of the stream. It returns none if nothing
// has come for a while.
func (r *reader) fetch(ctx context.Context, consumer jetstream.Consumer) ([]received, error) {
	first, err := consumer.Next(jetstream.FetchContext(ctx), jetstream.FetchHeartbeat(askBeat), jetstream.FetchPriorityGroup(catalogGroup))
	switch {
	case err == nil:
	case ctx.Err() != nil, errors.Is(err, nats.ErrTimeout), errors.Is(err, jetstream.ErrPinIDMismatch):
		return nil, nil // nothing came, or it is another's turn
	default:
		return nil, fmt.Errorf("asking for the next event: %w", err)
	}
	r.pinned = true
	batch := make([]received, 0, r.limit)
	if batch, err = appendReceived(batch, first); err != nil {
		return nil, err
	}
	more := min(int(min(batch[0].meta.NumPending, MaxBatch)), r.limit-1)
	if r.next == 0 {
		// What was handed out before and not settled comes again, and the server does not count it. Only all of it
		// together is known to be ours: asking for less than there may be would never bring it in.
		more = MaxBatch - 1
	}
	if more > 0 && ctx.Err() == nil {
		rest, err := consumer.Fetch(more, jetstream.FetchMaxWait(batchWait), jetstream.FetchPriorityGroup(catalogGroup))
		if err != nil {
			giveBack(batch)
			return nil, fmt.Errorf("asking for more events: %w", err)
		}
		for msg := range rest.Messages() {
			if batch, err = appendReceived(batch, msg); err != nil {
				giveBack(batch)
				return nil, err
			}
		}
		// What ended the fetch early ends the next one too, and is told then.
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

// alone reports whether every event that was handed out and is not settled lies in the batch. Older ones that another
// process has, or that wait to come again after it was killed, must be applied first.
func (r *reader) alone(ctx context.Context, consumer jetstream.Consumer, batch []received) (bool, error) {
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
	err := r.broker.do(ctx, func(ctx context.Context) (err error) {
		info, err = consumer.Info(ctx)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return false, nil
		}
		return false, fmt.Errorf("asking who has events: %w", err)
	}
	if info.NumAckPending != len(batch) {
		return false, nil
	}
	r.next = info.Delivered.Consumer + 1
	return true, nil
}

// giveBack lets events be handed out again at once. What does not arrive comes again after catalogAckWait.
func giveBack(batch []received) {
	for _, m := range batch {
		_ = m.Nak()
	}
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
