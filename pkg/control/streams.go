package control

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/jobs"
)

// Streams recreates lost streams.
type Streams interface {
	Repair(ctx context.Context, highestGeneration uint64) (jobs.Repaired, error)
}

// Store is the original store. If the store was lost, Repair recreates it and returns true.
type Store interface {
	Repair(ctx context.Context) (made bool, err error)
}

// Marks returns the highest generation ever used.
type Marks interface {
	MaxGeneration(ctx context.Context) (uint64, error)
}

// StreamKeeper makes sure all streams exist. While the service runs, it recreates streams that were deleted or lost
// with their disk, and replaces the lost jobs.
type StreamKeeper struct {
	Streams   Streams
	Originals Store
	Marks     Marks
	Rescuer   *Rescuer
	Log       *slog.Logger
}

const keepEvery = 5 * time.Second

// Run checks the streams periodically until ctx is done.
func (k *StreamKeeper) Run(ctx context.Context) {
	runLoop(ctx, k.Log, nil, keepEvery, roundBound, func(ctx context.Context) (bool, error) {
		_, err := k.repair(ctx, func(string, ...any) {})
		return false, err
	})
}

// repair recreates missing streams, calls `note` with a line per repair, and returns the number of replaced jobs.
func (k *StreamKeeper) repair(ctx context.Context, note Note) (rescued int, err error) {
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
	// Recreate the original store last, because a job whose original is lost needs the streams to report the loss.
	if made, err := k.Originals.Repair(ctx); err != nil {
		return 0, fmt.Errorf("repairing the store of originals: %w", err)
	} else if made {
		note("the store of originals was missing; created an empty one")
		k.Log.Warn("store of originals was missing; created an empty one")
	}
	// If EVENTS was lost, finished jobs' results may be lost too, so check the jobs as well.
	if !repaired.JobsReset && !slices.Contains(repaired.Streams, jobs.StreamEvents) {
		return 0, nil
	}
	return k.Rescuer.Rescue(ctx, 0)
}
