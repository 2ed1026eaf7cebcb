package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// Backlog counts a lane's unfinished jobs.
type Backlog struct {
	Waiting uint64 // not yet delivered: the lane's consumer has them as pending
	Taken   uint64 // delivered: running, or waiting for their turn or a retry
}

// Backlog counts a lane's unfinished jobs. Before the lane's first worker starts, all jobs count as waiting. An
// autoscaler can read the same numbers from NATS, where they are part of the state of consumer ConsumerOf(lane) on
// stream StreamJobs.
func (b *Broker) Backlog(ctx context.Context, lane domain.Lane) (Backlog, error) {
	if !validLane(lane) {
		return Backlog{}, fmt.Errorf("%w: lane %q", ErrInvalid, lane)
	}
	info, err := b.consumerInfo(ctx, lane)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return b.undelivered(ctx, lane)
	}
	if err != nil {
		return Backlog{}, fmt.Errorf("counting %s jobs: %w", lane, err)
	}
	return Backlog{Waiting: info.NumPending, Taken: uint64(info.NumAckPending)}, nil
}

func (b *Broker) consumerInfo(ctx context.Context, lane domain.Lane) (info *jetstream.ConsumerInfo, err error) {
	err = b.retry(ctx, func(ctx context.Context) error {
		consumer, err := b.js.Consumer(ctx, StreamJobs, ConsumerOf(lane))
		if err == nil {
			info = consumer.CachedInfo()
		}
		return quorum.StreamError(StreamJobs, err)
	})
	return info, err
}

func (b *Broker) undelivered(ctx context.Context, lane domain.Lane) (backlog Backlog, err error) {
	err = b.retry(ctx, func(ctx context.Context) error {
		info, err := b.jobs.Info(ctx, jetstream.WithSubjectFilter(jobSubject(lane, "*", "*")))
		if err != nil {
			return quorum.StreamError(StreamJobs, err)
		}
		backlog = Backlog{}
		for _, n := range info.State.Subjects {
			backlog.Waiting += n
		}
		return nil
	})
	if err != nil {
		return Backlog{}, fmt.Errorf("counting %s jobs: %w", lane, err)
	}
	return backlog, nil
}
