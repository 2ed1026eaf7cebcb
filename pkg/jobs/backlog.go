package jobs

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/domain"
)

// Backlog counts the unfinished jobs of a kind.
type Backlog struct {
	Waiting uint64 // never handed to a worker
	Taken   uint64 // handed to a worker: running, or waiting for another attempt
	Retried uint64 // those of Taken that were handed out more than once
}

// Unfinished is the number that an admission window bounds.
func (b Backlog) Unfinished() uint64 { return b.Waiting + b.Taken }

// Backlog counts the unfinished jobs of a kind. Before the first worker of the kind has come, every job waits.
func (b *Broker) Backlog(ctx context.Context, kind domain.JobKind) (Backlog, error) {
	if !validKind(kind) {
		return Backlog{}, fmt.Errorf("%w: kind %q", ErrInvalid, kind)
	}
	consumer, err := b.js.Consumer(ctx, StreamJobs, workerName(kind)) // carries fresh counts
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return b.untouched(ctx, kind)
	}
	if err != nil {
		return Backlog{}, fmt.Errorf("counting %s jobs: %w", kind, err)
	}
	info := consumer.CachedInfo()
	return Backlog{Waiting: info.NumPending, Taken: uint64(info.NumAckPending), Retried: uint64(info.NumRedelivered)}, nil
}

func (b *Broker) untouched(ctx context.Context, kind domain.JobKind) (Backlog, error) {
	info, err := b.jobs.Info(ctx, jetstream.WithSubjectFilter(prefixJobs+"."+string(kind)+".*.*"))
	if err != nil {
		return Backlog{}, fmt.Errorf("counting %s jobs: %w", kind, err)
	}
	var waiting uint64
	for _, n := range info.State.Subjects {
		waiting += n
	}
	return Backlog{Waiting: waiting}, nil
}
