package ingest

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

const (
	// tellAfter is how long a job has run when that is told. Most documents are done sooner, and of those only the end is: each
	// event is written to disk, and applied to the catalog.
	tellAfter = 300 * time.Millisecond
	// tellEvery spaces out the events that tell how far a long document has come.
	tellEvery = time.Second
)

// teller tells how far a job is, from tellAfter on until it is stopped. What cannot be told is news lost, and no failure of
// the job.
type teller struct {
	report reporter
	log    *slog.Logger
	cancel context.CancelFunc
	begun  chan struct{} // closed when the first event has been sent, or will not be

	mu   sync.Mutex // held while an event is sent, so that they keep their order
	now  domain.Progress
	told time.Time // of the last event; zero before the first
}

// startTelling begins with a stage. The teller must be stopped before the job's last event.
func startTelling(ctx context.Context, report reporter, stage string, log *slog.Logger) *teller {
	ctx, cancel := context.WithCancel(ctx)
	t := &teller{report: report, log: log, cancel: cancel, begun: make(chan struct{}), now: domain.Progress{Stage: stage}}
	go func() {
		defer close(t.begun)
		timer := time.NewTimer(tellAfter)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.send(ctx, domain.EventRunning)
	}()
	return t
}

// stop ends the telling and returns when nothing more is sent. It may be called twice.
func (t *teller) stop() {
	t.cancel()
	<-t.begun
}

// at says how far the job is now. It is told if the last time is long enough ago.
func (t *teller) at(ctx context.Context, stage string, done, total int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = domain.Progress{Stage: stage, Done: done, Total: total}
	if !t.told.IsZero() && t.report.now().Sub(t.told) >= tellEvery {
		t.send(ctx, domain.EventProgress)
	}
}

// send sends an event. The caller holds mu.
func (t *teller) send(ctx context.Context, typ domain.EventType) {
	t.told = t.report.now()
	if err := t.report.progress(ctx, typ, t.now.Stage, t.now.Done, t.now.Total); err != nil && ctx.Err() == nil {
		t.log.DebugContext(ctx, "telling how far a job is", "job", t.report.job.ID, "error", err)
	}
}
