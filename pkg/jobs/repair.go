package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sluice/sluice/pkg/jobs/quorum"
)

// Repaired says what Repair has done.
type Repaired struct {
	Streams []string // that were gone and have been made again, empty
	// JobsReset says that JOBS was made again, or emptied because it was older than the catalog. Jobs that the catalog
	// holds as unfinished are not in it and must be published again.
	JobsReset bool
	// FirstGeneration is what the generations of JOBS begin with after a reset, else 0.
	FirstGeneration uint64
}

// Lines says it in words for people, a line each; none when there was nothing to repair.
func (r Repaired) Lines() []string {
	var lines []string
	for _, name := range r.Streams {
		lines = append(lines, fmt.Sprintf("stream %s was gone: it is there again, empty", name))
	}
	if r.JobsReset {
		lines = append(lines, fmt.Sprintf("the job log begins anew, with generation %d: what it held is lost, and unfinished jobs have to be issued anew", r.FirstGeneration))
	}
	return lines
}

// generationGap is left out above the highest known generation when JOBS has to begin anew: jobs that were published just
// before the loss have generations that nobody has noted, and rows may have been written under them.
const generationGap = 1 << 20

// Repair makes streams again that were deleted, or lost with their disk, while processes run, JOBS above the highest
// generation that the catalog knows. What they held is lost: unfinished jobs are published again by who holds the catalog,
// finished ones are not missed. Workers and readers of events find what was made by themselves. Repair is for processes that
// own the catalog, to be called every few seconds: it changes nothing while all is well, and any number of processes may
// call it at once.
func (b *Broker) Repair(ctx context.Context, highestGeneration uint64) (Repaired, error) {
	var missing []string
	for _, name := range allStreams {
		err := b.do(ctx, func(ctx context.Context) error {
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
		b.log.Warn("stream was gone and has been made again", "stream", name)
	}
	return repaired, nil
}

// ensure makes the streams or brings them up to date, and moves JOBS above the highest generation.
func (b *Broker) ensure(ctx context.Context, highest uint64, names []string) (Repaired, error) {
	var r Repaired
	for _, name := range names {
		stream, created, err := quorum.Ensure(ctx, b.js, b.configOf(name, firstGeneration(highest)))
		if err != nil {
			return r, err
		}
		if n := stream.CachedInfo().Config.Replicas; n > b.opts.Replicas {
			b.log.Warn("a stream has more replicas than SLUICE_NATS_REPLICAS asks for, and keeps them", "stream", name, "replicas", n, "asked", b.opts.Replicas)
		}
		if created {
			r.Streams = append(r.Streams, name)
		}
	}
	older, unused, err := b.advance(ctx, highest)
	if err != nil {
		return r, err
	}
	// One that nothing was ever published to may have been made just now by a request whose answer was lost.
	if older || unused && slices.Contains(names, StreamJobs) {
		r.JobsReset, r.FirstGeneration = true, firstGeneration(highest)
	}
	return r, nil
}

// firstGeneration is where JOBS begins.
func firstGeneration(highest uint64) uint64 {
	if highest == 0 {
		return 1
	}
	return highest + generationGap
}

// advance moves a JOBS stream that lags behind the catalog above its highest generation. Its jobs are older than
// what the catalog knows, and their generations would be given out a second time, so they go. It reports whether they
// did, or else whether nothing was ever published.
func (b *Broker) advance(ctx context.Context, highest uint64) (older, unused bool, err error) {
	var stream jetstream.Stream
	err = b.do(ctx, func(ctx context.Context) error {
		stream, err = b.js.Stream(ctx, StreamJobs)
		return quorum.Lost(StreamJobs, err)
	})
	if err != nil {
		return false, false, fmt.Errorf("looking up stream %s: %w", StreamJobs, err)
	}
	info := stream.CachedInfo()
	last := info.State.LastSeq
	if last >= highest {
		return false, last < max(info.Config.FirstSeq, 1), nil
	}
	err = b.do(ctx, func(ctx context.Context) error {
		return stream.Purge(ctx, jetstream.WithPurgeSequence(firstGeneration(highest)))
	})
	if err != nil {
		return false, false, fmt.Errorf("moving stream %s above generation %d: %w", StreamJobs, highest, err)
	}
	b.log.Warn("job log was older than the catalog and has been emptied", "last_generation", last, "catalog_generation", highest)
	return true, false, nil
}
