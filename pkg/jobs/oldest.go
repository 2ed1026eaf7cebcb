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

// Oldest returns the time when a lane's oldest undelivered job was published, or the zero time if there is no such job.
func (b *Broker) Oldest(ctx context.Context, lane domain.Lane) (time.Time, error) {
	if !validLane(lane) {
		return time.Time{}, fmt.Errorf("%w: lane %q", ErrInvalid, lane)
	}
	var delivered uint64
	info, err := b.consumerInfo(ctx, lane)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound): // no worker has started yet
	case err != nil:
		return time.Time{}, fmt.Errorf("looking for the oldest %s job: %w", lane, err)
	case info.NumPending == 0:
		return time.Time{}, nil
	default:
		delivered = info.Delivered.Stream
	}
	var stored time.Time
	err = b.retry(ctx, func(ctx context.Context) error {
		msg, err := b.jobs.GetMsg(ctx, delivered+1, jetstream.WithGetMsgSubject(jobSubject(lane, "*", "*")))
		if errors.Is(err, jetstream.ErrMsgNotFound) { // a worker has received it by now
			return nil
		}
		if err == nil {
			stored = msg.Time
		}
		return quorum.StreamError(StreamJobs, err)
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for the oldest %s job: %w", lane, err)
	}
	return stored, nil
}
