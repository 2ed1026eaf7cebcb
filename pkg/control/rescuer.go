package control

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// Waiting is the part of the catalog that replaces lost jobs. Stuck returns datasources whose jobs should be in the
// stream, and Reissue replaces one of those jobs.
type Waiting interface {
	Stuck(ctx context.Context, before time.Time, limit int) ([]catalog.StuckDatasource, error)
	Reissue(ctx context.Context, datasourceID, expectJobID string, job domain.Job) (bool, error)
}

// Stream reports whether a job is running or may still be delivered.
type Stream interface {
	Outstanding(ctx context.Context, job domain.Job) (bool, error)
}

// Rescuer is the last safety net. It creates a new job for a datasource whose unfinished job is no longer in the
// stream, because the stream or an event was lost.
type Rescuer struct {
	Waiting Waiting
	Stream  Stream
	Log     *slog.Logger
	Now     func() time.Time
	// Timeout is how long a datasource may go without events before it is checked. 0 means 2 minutes.
	Timeout time.Duration

	shortTimeoutUntil atomic.Int64 // when the short timeout ends, in microseconds since 1970; see ExpectLostJobs
}

const (
	rescueEvery = 30 * time.Second
	rescueBatch = 500

	shortTimeoutPeriod = 10 * time.Minute
	shortTimeout       = 15 * time.Second
)

// Run checks for lost jobs until ctx is done.
func (r *Rescuer) Run(ctx context.Context) {
	runLoop(ctx, r.Log, nil, rescueEvery, roundBound, func(ctx context.Context) (bool, error) {
		quiet := r.timeout()
		if r.Now().UnixMicro() < r.shortTimeoutUntil.Load() {
			quiet = min(quiet, shortTimeout)
		}
		_, err := r.Rescue(ctx, quiet)
		return false, err
	})
}

// ExpectLostJobs shortens the timeout for the next ten minutes. Call it if the catalog is older than the stream. Such a
// catalog republishes jobs that were already in the stream. The stream drops them as duplicates and never delivers
// them, so the Rescuer must replace them. A single check is not enough, because an acknowledged job looks outstanding
// until all earlier jobs are acknowledged.
func (r *Rescuer) ExpectLostJobs() {
	r.shortTimeoutUntil.Store(r.Now().Add(shortTimeoutPeriod).UnixMicro())
}

func (r *Rescuer) timeout() time.Duration {
	if r.Timeout == 0 {
		return 2 * time.Minute
	}
	return r.Timeout
}

// Rescue checks all datasources whose jobs have been silent for at least `quiet`. It returns the number of new jobs.
func (r *Rescuer) Rescue(ctx context.Context, quiet time.Duration) (total int, err error) {
	for {
		n, err := r.round(ctx, quiet)
		total += n
		if err != nil {
			return total, fmt.Errorf("replacing lost jobs: %w", err)
		}
		if n < rescueBatch {
			return total, nil
		}
	}
}

// round checks the datasources that have been waiting longest.
func (r *Rescuer) round(ctx context.Context, quiet time.Duration) (rescued int, err error) {
	stuck, err := r.Waiting.Stuck(ctx, r.Now().Add(-quiet), rescueBatch)
	if err != nil {
		return 0, fmt.Errorf("listing stuck datasources: %w", err)
	}
	for _, s := range stuck {
		lost := s.Job
		lost.ID = s.JobID
		outstanding, err := r.Stream.Outstanding(ctx, lost)
		if err != nil {
			return rescued, fmt.Errorf("looking up job %s in the stream: %w", lost.ID, err)
		}
		if outstanding {
			continue
		}
		done, err := r.Waiting.Reissue(ctx, s.ID, s.JobID, s.Job)
		if err != nil {
			return rescued, fmt.Errorf("replacing the job of datasource %s: %w", s.ID, err)
		}
		if done {
			rescued++
			r.Log.WarnContext(ctx, "job was lost; created a new one", "datasource", s.ID, "lost", s.JobID, "job", s.Job.ID)
		}
	}
	return rescued, nil
}
