package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// Repaired is the result of Repair.
type Repaired struct {
	Streams []string // missing streams that were recreated empty
	// JobsReset reports whether JOBS was recreated, or emptied because it was older than the catalog. If so, it lacks
	// the catalog's unfinished jobs, which must be published again.
	JobsReset bool
	// FirstGeneration is the first generation in JOBS after a reset, or 0 if there was no reset.
	FirstGeneration uint64
}

// Lines describes the repairs for operators, one per line. It returns no lines if nothing was repaired.
func (r Repaired) Lines() []string {
	var lines []string
	for _, name := range r.Streams {
		lines = append(lines, fmt.Sprintf("stream %s was missing; created an empty one", name))
	}
	if r.JobsReset {
		lines = append(lines, fmt.Sprintf("the job log was lost and starts again at generation %d; unfinished jobs must be published again", r.FirstGeneration))
	}
	return lines
}

// generationGap is how far above the highest known generation JOBS starts after a reset. Jobs published just before the
// loss may have had generations that the catalog never saw but that occur in index rows.
const generationGap = 1 << 20

// Repair recreates streams that were deleted or lost with their disk, while other processes keep running. JOBS then
// starts above the highest generation known to the catalog. The messages are lost, so the catalog's owner has to
// publish its unfinished jobs again; finished ones aren't needed. Workers and event readers find the new streams by
// themselves.
//
// Processes that own the catalog call Repair every few seconds; any number of them may do so at the same time. If all
// streams exist, Repair changes nothing.
func (b *Broker) Repair(ctx context.Context, highestGeneration uint64) (Repaired, error) {
	var missing []string
	for _, name := range allStreams {
		err := b.retry(ctx, func(ctx context.Context) error {
			_, err := b.js.Stream(ctx, name)
			return err
		})
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			missing = append(missing, name)
		} else if err != nil {
			return Repaired{}, fmt.Errorf("looking for stream %s: %w", name, err)
		}
	}
	repaired, err := b.ensure(ctx, max(highestGeneration, b.highest.Load()), missing)
	if err != nil {
		return repaired, err
	}
	for _, name := range repaired.Streams {
		b.log.Warn("stream was missing; recreated it", "stream", name)
	}
	return repaired, nil
}

// ensure creates the streams or updates their configuration and moves JOBS above the highest generation.
func (b *Broker) ensure(ctx context.Context, highest uint64, names []string) (Repaired, error) {
	var r Repaired
	for _, name := range names {
		stream, created, err := quorum.Ensure(ctx, b.js, b.configOf(name, firstGeneration(highest)))
		if err != nil {
			return r, err
		}
		if n := stream.CachedInfo().Config.Replicas; n > b.opts.Replicas {
			b.log.Warn("a stream has more replicas than SLUICE_NATS_REPLICAS; the extra replicas are kept", "stream", name, "replicas", n, "asked", b.opts.Replicas)
		}
		if created {
			r.Streams = append(r.Streams, name)
		}
	}
	older, unused, err := b.advance(ctx, highest)
	if err != nil {
		return r, err
	}
	// An unused JOBS stream also counts as reset, because it may just have been created by a request whose response was
	// lost.
	if older || unused && slices.Contains(names, StreamJobs) {
		r.JobsReset, r.FirstGeneration = true, firstGeneration(highest)
	}
	return r, nil
}

// firstGeneration returns the first sequence for a new JOBS stream.
func firstGeneration(highest uint64) uint64 {
	if highest == 0 {
		return 1
	}
	return highest + generationGap
}

// advance empties a JOBS stream that lags behind the catalog, so that the stream continues above the catalog's highest
// generation and never uses a generation twice. `older` reports whether the stream lagged behind. If it did not,
// `unused` reports whether it has never contained a message.
func (b *Broker) advance(ctx context.Context, highest uint64) (older, unused bool, err error) {
	var stream jetstream.Stream
	err = b.retry(ctx, func(ctx context.Context) error {
		stream, err = b.js.Stream(ctx, StreamJobs)
		return quorum.StreamError(StreamJobs, err)
	})
	if err != nil {
		return false, false, fmt.Errorf("looking up stream %s: %w", StreamJobs, err)
	}
	info := stream.CachedInfo()
	last := info.State.LastSeq
	if last >= highest {
		return false, last < max(info.Config.FirstSeq, 1), nil
	}
	err = b.retry(ctx, func(ctx context.Context) error {
		return stream.Purge(ctx, jetstream.WithPurgeSequence(firstGeneration(highest)))
	})
	if err != nil {
		return false, false, fmt.Errorf("moving stream %s above generation %d: %w", StreamJobs, highest, err)
	}
	b.log.Warn("the job log was older than the catalog and was emptied", "last_generation", last, "catalog_generation", highest)
	return true, false, nil
}
