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

	suspects atomic.Int64 // set by Suspect, in microseconds since 1970
}

const (
	rescueEvery = 30 * time.Second
	rescueBatch = 500
)

// Run rescues until ctx ends.
func (r *Rescuer) Run(ctx context.Context) {
	every(ctx, r.Log, nil, rescueEvery, roundBound, func(ctx context.Context) (bool, error) {
		quiet := r.patience()
		if at := r.suspects.Load(); at != 0 {
			quiet = min(quiet, r.Now().Sub(time.UnixMicro(at)))
		}
		_, err := r.Rescue(ctx, quiet)
		return false, err
	})
}

// Suspect has every round look at what has been without news since before the given time, without patience: a job that an
// older catalog takes for unfinished can look outstanding until those before it in the stream are acknowledged.
func (r *Rescuer) Suspect(before time.Time) { r.suspects.Store(before.UnixMicro()) }

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
			r.Log.Warn("job was lost and has been issued anew", "datasource", s.ID, "lost", s.JobID, "job", s.Job.ID)
		}
	}
	return rescued, nil
}
