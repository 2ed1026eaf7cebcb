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

// ensureConsumer creates a durable consumer or updates its configuration. A new consumer starts at the last checkpoint.
// Otherwise the whole stream would be redelivered, including, in JOBS, the finished jobs.
func (b *Broker) ensureConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (consumer jetstream.Consumer, err error) {
	err = b.retry(ctx, func(ctx context.Context) error {
		consumer, err = b.tryConsumer(ctx, stream, cfg)
		return quorum.StreamError(stream, err)
	})
	return consumer, err
}

func (b *Broker) tryConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	consumer, err := b.createOrUpdateConsumer(ctx, stream, cfg)
	if errors.Is(err, errAhead) {
		return b.createOrUpdateConsumer(ctx, stream, cfg)
	}
	return consumer, err
}

func (b *Broker) createOrUpdateConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	old, err := b.js.Consumer(ctx, stream, cfg.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		if cfg.DeliverPolicy, cfg.OptStartSeq, err = b.start(ctx, stream, cfg.Durable); err != nil {
			return nil, err
		}
		made, err := b.js.CreateConsumer(ctx, stream, cfg)
		if !errors.Is(err, jetstream.ErrConsumerExists) {
			return made, err
		}
		old, err = b.js.Consumer(ctx, stream, cfg.Durable) // another process created it first
		if err != nil {
			return nil, err
		}
	} else if err != nil {
		return nil, err
	}
	if err := b.discardAhead(ctx, stream, old.CachedInfo()); err != nil {
		return nil, err
	}
	// An existing consumer's start position cannot be changed.
	kept := old.CachedInfo().Config
	cfg.DeliverPolicy, cfg.OptStartSeq, cfg.MaxWaiting = kept.DeliverPolicy, kept.OptStartSeq, kept.MaxWaiting
	return b.js.UpdateConsumer(ctx, stream, cfg)
}

// errAhead means that a consumer was deleted because of a damaged position.
var errAhead = errors.New("the consumer's position was beyond the last message")

// discardAhead deletes a consumer positioned beyond its stream's last message, then fails with errAhead. Such a
// consumer would skip all messages up to that position. Either its file is damaged or the stream has lost its last
// messages. In a cluster, discardAhead does nothing: the servers agree on positions, but a lagging server may report an
// outdated last message.
func (b *Broker) discardAhead(ctx context.Context, stream string, c *jetstream.ConsumerInfo) error {
	if c.Cluster != nil && len(c.Cluster.Replicas) > 0 {
		return nil
	}
	s, err := b.js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	last := s.CachedInfo().State.LastSeq
	if c.Delivered.Stream <= last && c.AckFloor.Stream <= last {
		return nil
	}
	b.log.Warn("the consumer's position is beyond the last message; recreating the consumer", "consumer", c.Name, "position", c.Delivered.Stream, "last", last)
	if err := b.js.DeleteConsumer(ctx, stream, c.Name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return err
	}
	return errAhead
}

// start returns a new consumer's start position in the stream.
func (b *Broker) start(ctx context.Context, stream, consumer string) (jetstream.DeliverPolicy, uint64, error) {
	last, err := b.checkpointOf(ctx, consumer)
	if errors.Is(err, ErrStreamLost) {
		return jetstream.DeliverAllPolicy, 0, nil // the checkpoints are gone too
	}
	if err != nil {
		return 0, 0, err
	}
	s, err := b.js.Stream(ctx, stream)
	if err != nil {
		return 0, 0, err
	}
	if info := s.CachedInfo(); !last.appliesTo(info) || last.Floor > info.State.LastSeq {
		return jetstream.DeliverAllPolicy, 0, nil
	}
	b.log.Warn("the consumer was missing; recreating it at its checkpoint", "consumer", consumer, "sequence", last.Floor)
	return jetstream.DeliverByStartSequencePolicy, last.Floor + 1, nil
}

// checkpoint records a consumer's progress: all messages up to and including Floor are acknowledged.
type checkpoint struct {
	Floor  uint64    `json:"floor"`
	Stream time.Time `json:"stream"` // when the stream was created, to recognise a later one with the same name
	At     time.Time `json:"at"`
}

// appliesTo reports whether the checkpoint belongs to this stream and is not empty.
func (c checkpoint) appliesTo(s *jetstream.StreamInfo) bool {
	return c.Floor > 0 && c.Stream.Equal(s.Created)
}

// rewriteInterval is how often an unchanged checkpoint is rewritten, so that its entry in the attempt store doesn't
// expire.
const rewriteInterval = 12 * time.Hour

func checkpointKey(consumer string) string { return "consumer-" + consumer }

func (b *Broker) checkpointOf(ctx context.Context, consumer string) (c checkpoint, err error) {
	if _, err = b.attempts.get(ctx, checkpointKey(consumer), &c); err != nil {
		return checkpoint{}, fmt.Errorf("reading the checkpoint of consumer %s: %w", consumer, err)
	}
	return c, nil
}

// checkpointInterval is the time between two checkpoints. If a consumer is deleted, the messages acknowledged since its
// last checkpoint are redelivered.
const checkpointInterval = 10 * time.Second

// keepCheckpoints stores checkpoints for all consumers at regular intervals until ctx is done.
func (b *Broker) keepCheckpoints(ctx context.Context) {
	for wait(ctx, checkpointInterval); ctx.Err() == nil; wait(ctx, checkpointInterval) {
		if err := b.checkpointAll(ctx); err != nil && ctx.Err() == nil {
			b.log.Debug("could not store the checkpoints of consumers", "error", err)
		}
	}
}

func (b *Broker) checkpointAll(ctx context.Context) error {
	consumers := map[string]string{ConsumerCatalog: StreamEvents, ConsumerRefresh: StreamSchedules}
	for _, lane := range domain.Lanes() {
		consumers[ConsumerOf(lane)] = StreamJobs
	}
	for consumer, stream := range consumers {
		if err := b.checkpoint(ctx, stream, consumer); err != nil {
			return fmt.Errorf("storing the checkpoint of consumer %s: %w", consumer, err)
		}
	}
	return nil
}

func (b *Broker) checkpoint(ctx context.Context, stream, consumer string) error {
	var c jetstream.Consumer
	var s jetstream.Stream
	err := b.retry(ctx, func(ctx context.Context) (err error) {
		if c, err = b.js.Consumer(ctx, stream, consumer); err != nil {
			return err
		}
		s, err = b.js.Stream(ctx, stream)
		return err
	})
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil // no worker has started yet, or a worker is about to recreate it
	}
	if err != nil {
		return quorum.StreamError(stream, err)
	}
	old, err := b.checkpointOf(ctx, consumer)
	if err != nil {
		return err
	}
	next := checkpoint{Floor: c.CachedInfo().AckFloor.Stream, Stream: s.CachedInfo().Created, At: b.now()}
	if next.Floor == 0 || next.Floor == old.Floor && old.appliesTo(s.CachedInfo()) && next.At.Sub(old.At) < rewriteInterval {
		return nil
	}
	_, err = b.attempts.put(ctx, checkpointKey(consumer), next)
	return err
}
