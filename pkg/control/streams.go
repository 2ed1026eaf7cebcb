package control

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/jobs"
)

// Streams creates lost streams again.
type Streams interface {
	Repair(ctx context.Context, highestGeneration uint64) (jobs.Repaired, error)
}

// Store creates the store of originals again if it is lost.
type Store interface {
	Repair(ctx context.Context) (made bool, err error)
}

// Marks returns the highest generation that was ever used.
type Marks interface {
	MaxGeneration(ctx context.Context) (uint64, error)
}

// StreamKeeper ensures that all streams exist. While the service runs, it creates streams again that were deleted or
// lost with their disk, and publishes the lost jobs again.
type StreamKeeper struct {
	Streams   Streams
	Originals Store
	Marks     Marks
	Rescuer   *Rescuer
	Log       *slog.Logger
}

const keepEvery = 5 * time.Second

// Run checks the streams periodically until ctx ends.
func (k *StreamKeeper) Run(ctx context.Context) {
	runLoop(ctx, k.Log, nil, keepEvery, roundBound, func(ctx context.Context) (bool, error) {
		_, err := k.keep(ctx, func(string, ...any) {})
		return false, err
	})
}

// keep repairs missing streams, describes the repairs with note, and returns the number of jobs that were published
// again.
func (k *StreamKeeper) keep(ctx context.Context, note Note) (rescued int, err error) {
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
	// Repair the streams first: waiting jobs can be published although their originals are lost, and report that.
	if made, err := k.Originals.Repair(ctx); err != nil {
		return 0, fmt.Errorf("repairing the store of originals: %w", err)
	} else if made {
		note("the store of originals was missing and was created again, empty")
		k.Log.Warn("store of originals was missing and was created again, empty")
	}
	// Jobs must also be checked if EVENTS was lost: the results of finished jobs may have been in it.
	if !repaired.JobsReset && !slices.Contains(repaired.Streams, jobs.StreamEvents) {
		return 0, nil
	}
	return k.Rescuer.Rescue(ctx, 0)
}
