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

// Waiting lists datasources whose job should be in the stream, and puts a new job in its place.
type Waiting interface {
	Stuck(ctx context.Context, before time.Time, limit int) ([]catalog.StuckDatasource, error)
	Reissue(ctx context.Context, datasourceID, expectJobID string, job domain.Job) (bool, error)
}

// Stream says whether a job may still come to a worker, or is with one.
type Stream interface {
	Outstanding(ctx context.Context, job domain.Job) (bool, error)
}

// Rescuer is the last line behind every other guarantee: a datasource that waits for a job which the stream does not
// have, because the stream or an event was lost, gets a new one.
type Rescuer struct {
	Waiting Waiting
	Stream  Stream
	Log     *slog.Logger
	Now     func() time.Time
	// Patience is how long a datasource waits without news before it is looked at; 0 means 2 minutes.
	Patience time.Duration

	suspicious atomic.Int64 // until when, in microseconds since 1970; see Suspect
}

const (
	rescueEvery = 30 * time.Second
	rescueBatch = 500

	suspicion          = 10 * time.Minute
	suspiciousPatience = 15 * time.Second
)

// Run rescues until ctx ends.
func (r *Rescuer) Run(ctx context.Context) {
	every(ctx, r.Log, nil, rescueEvery, roundBound, func(ctx context.Context) (bool, error) {
		quiet := r.patience()
		if r.Now().UnixMicro() < r.suspicious.Load() {
			quiet = min(quiet, suspiciousPatience)
		}
		_, err := r.Rescue(ctx, quiet)
		return false, err
	})
}

// Suspect has the rounds of the next ten minutes look with less patience, since the catalog is older than the stream: a job
// that it takes for unfinished can look outstanding until those before it in the stream are acknowledged; and one that it
// takes for unpublished is published again, found to be a duplicate, and comes to no worker.
func (r *Rescuer) Suspect() { r.suspicious.Store(r.Now().Add(suspicion).UnixMicro()) }

func (r *Rescuer) patience() time.Duration {
	if r.Patience == 0 {
		return 2 * time.Minute
	}
	return r.Patience
}

// Rescue looks at everything that has been without news for the given time and returns how many jobs it has issued anew.
func (r *Rescuer) Rescue(ctx context.Context, quiet time.Duration) (total int, err error) {
	for {
		n, err := r.round(ctx, quiet)
		total += n
		if err != nil {
			return total, fmt.Errorf("issuing lost jobs anew: %w", err)
		}
		if n < rescueBatch {
			return total, nil
		}
	}
}

// round looks at those that have been without news for longest.
func (r *Rescuer) round(ctx context.Context, quiet time.Duration) (rescued int, err error) {
	stuck, err := r.Waiting.Stuck(ctx, r.Now().Add(-quiet), rescueBatch)
	if err != nil {
		return 0, fmt.Errorf("looking for stuck datasources: %w", err)
	}
	for _, s := range stuck {
		lost := s.Job
		lost.ID = s.JobID
		outstanding, err := r.Stream.Outstanding(ctx, lost)
		if err != nil {
			return rescued, fmt.Errorf("looking for job %s in the stream: %w", lost.ID, err)
		}
		if outstanding {
			continue
		}
		done, err := r.Waiting.Reissue(ctx, s.ID, s.JobID, s.Job)
		if err != nil {
			return rescued, fmt.Errorf("issuing the job of datasource %s anew: %w", s.ID, err)
		}
		if done {
			rescued++
			r.Log.WarnContext(ctx, "job was lost and has been issued anew", "datasource", s.ID, "lost", s.JobID, "job", s.Job.ID)
		}
	}
	return rescued, nil
}
