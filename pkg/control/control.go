// Package control contains the loops that run the pipeline. They run in the api process, the catalog's only writer:
//
//   - Dispatcher publishes jobs from the outbox to the job stream, limited by a window;
//   - Applier applies the workers' events to the catalog;
//   - Sweeper removes obsolete rows, originals and messages;
//   - Expirer removes expired files and uploads, and the content of expired vector stores;
//   - SiteWorker performs changes that affect many pages of a site;
//   - Scheduler refreshes web content when it is due;
//   - Mover moves datastores to another engine or model;
//   - Upgrader starts moves to a better model;
//   - StreamKeeper recreates lost streams;
//   - Rescuer replaces lost jobs;
//   - Auditor compares index, originals and catalog, and repairs differences;
//   - Repairer performs the repairs that operators request.
//
// Every loop may run in several api processes at once. All actions are idempotent, and a restart loses no state.
package control

import (
	"context"
	"log/slog"
	"time"
)

// runLoop calls `round` at once, then whenever `wake` fires and at least once per interval, until ctx is done. If round
// reports more work, it is called again at once. If it fails, the error is logged and the next call is delayed with
// exponential backoff of up to a minute. Each call is limited to `bound`, so that a hanging engine can't block the loop
// forever.
func runLoop(ctx context.Context, log *slog.Logger, wake <-chan struct{}, interval, bound time.Duration, round func(context.Context) (more bool, err error)) {
	const maxDelay = time.Minute
	delay := time.Duration(0)
	for ctx.Err() == nil {
		more, err := withTimeout(ctx, bound, round)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			delay = min(max(2*delay, time.Second/4), maxDelay)
			log.WarnContext(ctx, "a background loop failed; will retry", "error", err, "delay", delay)
			if !wait(ctx, nil, delay) {
				return
			}
			continue
		}
		delay = 0
		if !more && !wait(ctx, wake, interval) {
			return
		}
	}
}

func withTimeout(ctx context.Context, bound time.Duration, round func(context.Context) (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	return round(ctx)
}

// Time limits for one round of a loop. Audits get more time, because they read everything.
const (
	roundBound = 5 * time.Minute
	auditBound = 6 * time.Hour
)

// wait returns true once `wake` fires or d has passed, and false if ctx is done first.
func wait(ctx context.Context, wake <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
		return true
	case <-timer.C:
		return true
	}
}
