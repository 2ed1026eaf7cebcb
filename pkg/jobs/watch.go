package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
)

// Watch returns the events of a datastore that are stored from now on, in order. The channel is closed when ctx
// ends or the stream can no longer be read; the receiver must end ctx. A receiver that is slow slows nobody else.
func (b *Broker) Watch(ctx context.Context, datastoreID string) (<-chan domain.Event, error) {
	if !domain.ValidID(datastoreID) {
		return nil, fmt.Errorf("%w: datastore id %q", ErrInvalid, datastoreID)
	}
	consumer, err := b.js.OrderedConsumer(ctx, StreamEvents, jetstream.OrderedConsumerConfig{
		FilterSubjects:    []string{prefixEvents + "." + datastoreID + ".*"},
		DeliverPolicy:     jetstream.DeliverNewPolicy,
		InactiveThreshold: time.Minute,
	})
	if err != nil {
		return nil, fmt.Errorf("watching datastore %s: %w", datastoreID, err)
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(64))
	if err != nil {
		return nil, fmt.Errorf("watching datastore %s: %w", datastoreID, err)
	}
	events := make(chan domain.Event, 16)
	go func() {
		defer close(events)
		defer messages.Stop()
		for {
			msg, err := messages.Next(jetstream.NextContext(ctx))
			if err != nil {
				if ctx.Err() == nil && !errors.Is(err, jetstream.ErrMsgIteratorClosed) {
					b.log.Warn("watching events ends", "datastore", datastoreID, "error", err)
				}
				return
			}
			ev, err := decodeEvent(msg.Subject(), msg.Data())
			if err != nil {
				continue // the catalog's consumer logs it
			}
			select {
			case events <- ev:
			case <-ctx.Done():
				return
			}
		}
	}()
	return events, nil
}
