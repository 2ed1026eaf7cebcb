// Package control holds the loops by which the api, the catalog's one writer, drives the pipeline:
//
//   - Dispatcher moves jobs from the outbox into the job stream, a window at a time;
//   - Applier stores what workers report;
//   - Sweeper removes what no reader needs any more;
//   - SiteKeeper does what follows for many pages of a site at once;
//   - Scheduler has web content fetched again when it is due;
//   - Rescuer puts back what waits for a job that nobody has;
//   - Auditor compares index, originals and catalog, and mends what differs.
//
// Every loop may run in several api processes at once: what they do is idempotent, and none keeps state that a restart
// would lose.
package control

import (
	"context"
	"log/slog"
	"time"
)

// every calls round at once, then whenever wake fires and at least each interval, until ctx ends. A round that fails is
// logged and tried again after a delay that doubles up to a minute: the engine behind it may be down for a while. A
// round that says there is more to do is followed by the next without waiting. A round that takes longer than bound is
// cut short: an engine that hangs must not hold the loop for ever.
func every(ctx context.Context, log *slog.Logger, wake <-chan struct{}, interval, bound time.Duration, round func(context.Context) (more bool, err error)) {
	const longest = time.Minute
	delay := time.Duration(0)
	for ctx.Err() == nil {
		more, err := bounded(ctx, bound, round)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			delay = min(max(2*delay, time.Second/4), longest)
			log.WarnContext(ctx, "control round failed, trying again", "error", err, "delay", delay)
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

func bounded(ctx context.Context, bound time.Duration, round func(context.Context) (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	return round(ctx)
}

// Bounds of a round. An audit reads everything there is.
const (
	roundBound = 5 * time.Minute
	auditBound = 6 * time.Hour
)

// wait returns true when wake fires or d has passed, false when ctx ends first.
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
