package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// ensureConsumer makes a durable consumer or brings it up to date. One that has to be made begins where the last note says
// that it was: else it would hand out all that its stream keeps, which is every job that was ever done.
func (b *Broker) ensureConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (consumer jetstream.Consumer, err error) {
	err = b.do(ctx, func(ctx context.Context) error {
		consumer, err = b.tryConsumer(ctx, stream, cfg)
		return quorum.Lost(stream, err)
	})
	return consumer, err
}

func (b *Broker) tryConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	old, err := b.js.Consumer(ctx, stream, cfg.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		if cfg.DeliverPolicy, cfg.OptStartSeq, err = b.start(ctx, stream, cfg.Durable); err != nil {
			return nil, err
		}
		made, err := b.js.CreateConsumer(ctx, stream, cfg)
		if !errors.Is(err, jetstream.ErrConsumerExists) {
			return made, err
		}
		old, err = b.js.Consumer(ctx, stream, cfg.Durable) // another process was quicker
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	// Where it began cannot be changed.
	kept := old.CachedInfo().Config
	cfg.DeliverPolicy, cfg.OptStartSeq, cfg.MaxWaiting = kept.DeliverPolicy, kept.OptStartSeq, kept.MaxWaiting
	return b.js.UpdateConsumer(ctx, stream, cfg)
}

// start says where a consumer begins that has to be made.
func (b *Broker) start(ctx context.Context, stream, consumer string) (jetstream.DeliverPolicy, uint64, error) {
	n, err := b.noted(ctx, consumer)
	if errors.Is(err, ErrStreamLost) {
		return jetstream.DeliverAllPolicy, 0, nil // the notes are gone too
	}
	if err != nil {
		return 0, 0, err
	}
	s, err := b.js.Stream(ctx, stream)
	if err != nil {
		return 0, 0, err
	}
	if !n.is(s.CachedInfo()) {
		return jetstream.DeliverAllPolicy, 0, nil
	}
	b.log.Warn("consumer was gone and is made again where it was", "consumer", consumer, "sequence", n.Floor)
	return jetstream.DeliverByStartSequencePolicy, n.Floor + 1, nil
}

// note says how far a consumer has come: everything up to the floor is acknowledged.
type note struct {
	Floor  uint64    `json:"floor"`
	Stream time.Time `json:"stream"` // when the stream was created: a note is not about its successor
	At     time.Time `json:"at"`
}

// is reports whether the note is about this stream, and says anything.
func (n note) is(s *jetstream.StreamInfo) bool { return n.Floor > 0 && n.Stream.Equal(s.Created) }

// noteEvery is how often a note is written again that has not changed: before it expires with the ledger's entries.
const noteEvery = 12 * time.Hour

func noteKey(consumer string) string { return "consumer-" + consumer }

func (b *Broker) noted(ctx context.Context, consumer string) (n note, err error) {
	if _, err = b.attempts.get(ctx, noteKey(consumer), &n); err != nil {
		return note{}, fmt.Errorf("reading the note of consumer %s: %w", consumer, err)
	}
	return n, nil
}

// notesEvery is how often it is noted how far consumers have come: that much is done again when one is deleted.
const notesEvery = 10 * time.Second

// keepNotes notes how far all consumers have come, from time to time until ctx ends.
func (b *Broker) keepNotes(ctx context.Context) {
	for wait(ctx, notesEvery); ctx.Err() == nil; wait(ctx, notesEvery) {
		if err := b.noteAll(ctx); err != nil && ctx.Err() == nil {
			b.log.Debug("noting how far consumers have come", "error", err)
		}
	}
}

// noteAll notes how far all consumers have come.
func (b *Broker) noteAll(ctx context.Context) error {
	consumers := map[string]string{ConsumerCatalog: StreamEvents, ConsumerRefresh: StreamSchedules}
	for _, lane := range domain.Lanes() {
		consumers[ConsumerOf(lane)] = StreamJobs
	}
	for consumer, stream := range consumers {
		if err := b.note(ctx, stream, consumer); err != nil {
			return fmt.Errorf("noting how far consumer %s has come: %w", consumer, err)
		}
	}
	return nil
}

func (b *Broker) note(ctx context.Context, stream, consumer string) error {
	var c jetstream.Consumer
	var s jetstream.Stream
	err := b.do(ctx, func(ctx context.Context) (err error) {
		if c, err = b.js.Consumer(ctx, stream, consumer); err != nil {
			return err
		}
		s, err = b.js.Stream(ctx, stream)
		return err
	})
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil // no worker has come yet, or one is about to make it again
	}
	if err != nil {
		return quorum.Lost(stream, err)
	}
	old, err := b.noted(ctx, consumer)
	if err != nil {
		return err
	}
	next := note{Floor: c.CachedInfo().AckFloor.Stream, Stream: s.CachedInfo().Created, At: b.now()}
	if next.Floor == 0 || next.Floor == old.Floor && old.is(s.CachedInfo()) && next.At.Sub(old.At) < noteEvery {
		return nil
	}
	_, err = b.attempts.put(ctx, noteKey(consumer), next)
	return err
}
