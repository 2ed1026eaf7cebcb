package ingest

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

const (
	// progressAfter is how long a job runs before its first progress event. Most documents are finished before that, so
	// no event has to be written to disk and applied to the catalog.
	progressAfter = 300 * time.Millisecond
	// progressInterval is the minimum time between two of a job's progress events.
	progressInterval = time.Second
)

// progress reports how far a job has got. Reports begin after progressAfter and end with stop. They are informational,
// so a report that can't be sent doesn't fail the job.
type progress struct {
	report reporter
	log    *slog.Logger
	cancel context.CancelFunc
	begun  chan struct{} // closed once the first event is sent or skipped

	mu   sync.Mutex // also held while sending, to keep the order of events
	now  domain.Progress
	sent time.Time // time of the last event; zero before the first
}

// startProgress starts reporting with the given stage. The caller must call stop before the job's last event.
func startProgress(ctx context.Context, report reporter, stage string, log *slog.Logger) *progress {
	ctx, cancel := context.WithCancel(ctx)
	p := &progress{report: report, log: log, cancel: cancel, begun: make(chan struct{}), now: domain.Progress{Stage: stage}}
	go func() {
		defer close(p.begun)
		timer := time.NewTimer(progressAfter)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.send(ctx, domain.EventRunning)
	}()
	return p
}

// stop ends the reporting. No event is sent after it returns. Calling it twice is safe.
func (p *progress) stop() {
	p.cancel()
	<-p.begun
}

// update records the job's progress and reports it if the last report is old enough.
func (p *progress) update(ctx context.Context, stage string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = domain.Progress{Stage: stage, Done: done, Total: total}
	if !p.sent.IsZero() && p.report.now().Sub(p.sent) >= progressInterval {
		p.send(ctx, domain.EventProgress)
	}
}

// send sends an event. The caller holds mu.
func (p *progress) send(ctx context.Context, typ domain.EventType) {
	p.sent = p.report.now()
	if err := p.report.progress(ctx, typ, p.now.Stage, p.now.Done, p.now.Total); err != nil && ctx.Err() == nil {
		p.log.DebugContext(ctx, "reporting the progress of a job failed", "job", p.report.job.ID, "error", err)
	}
}
