package control

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/jobs"
)

// Streams makes streams again that NATS has lost.
type Streams interface {
	Repair(ctx context.Context, highestGeneration uint64) (jobs.Repaired, error)
}

// Store makes the store of originals again when NATS has lost it.
type Store interface {
	Repair(ctx context.Context) (made bool, err error)
}

// Marks knows the highest generation that was ever given out.
type Marks interface {
	MaxGeneration(ctx context.Context) (uint64, error)
}

// Keeper sees to it that the streams are there: one that was deleted, or lost with its disk, is made again while the
// service runs, and the jobs that were lost with it are issued anew.
type Keeper struct {
	Streams   Streams
	Originals Store
	Marks     Marks
	Rescuer   *Rescuer
	Log       *slog.Logger
}

const keepEvery = 5 * time.Second

// Run keeps until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	every(ctx, k.Log, nil, keepEvery, roundBound, func(ctx context.Context) (bool, error) {
		_, err := k.keep(ctx, func(string, ...any) {})
		return false, err
	})
}

// keep repairs what is missing, says what it did, and returns how many jobs were issued anew.
func (k *Keeper) keep(ctx context.Context, note Note) (rescued int, err error) {
	highest, err := k.Marks.MaxGeneration(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the highest generation: %w", err)
	}
	repaired, err := k.Streams.Repair(ctx, highest)
	for _, line := range repaired.Lines() {
		note("%s", line)
	}
	if err != nil {
		return 0, fmt.Errorf("repairing the streams: %w", err)
	}
	// Not before the streams: a job that waits can be issued although its original is lost, and will say so.
	if made, err := k.Originals.Repair(ctx); err != nil {
		return 0, fmt.Errorf("repairing the store of originals: %w", err)
	} else if made {
		note("the store of originals was missing and was created again, empty")
		k.Log.Warn("store of originals was gone and has been made again, empty")
	}
	// With events, the news of jobs that have ended is lost.
	if !repaired.JobsReset && !slices.Contains(repaired.Streams, jobs.StreamEvents) {
		return 0, nil
	}
	return k.Rescuer.Rescue(ctx, 0)
}
