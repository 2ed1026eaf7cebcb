package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
)

// Sites is the part of the catalog that changes many of a site's pages at once.
type Sites interface {
	// SiteWork returns up to `limit` of the tasks that follow `after`.
	SiteWork(ctx context.Context, after catalog.SiteTask, limit int) ([]catalog.SiteTask, error)
	// WorkOnSite performs the next batch of a task.
	WorkOnSite(ctx context.Context, task catalog.SiteTask) (catalog.SiteBatch, error)
	SiteWake() <-chan struct{}
}

// SiteWorker makes changes that affect too many of a site's pages for one transaction. It refetches or removes pages
// that the last crawl did not find, refetches duplicates of removed pages, and cancels pages queued by a stopped crawl.
// The catalog records the remaining work, so a task continues after a restart and in other processes.
type SiteWorker struct {
	Sites Sites
	Hub   Watchers // nil if there are no watchers
	Log   *slog.Logger
}

const (
	// Polling interval for tasks from other api processes, which do not trigger SiteWake here.
	sitePoll = 2 * time.Second
	// Maximum number of tasks read at a time.
	siteTasks = 100
)

// Run performs tasks until ctx is done.
func (k *SiteWorker) Run(ctx context.Context) {
	runLoop(ctx, k.Log, k.Sites.SiteWake(), sitePoll, roundBound, k.round)
}

// Drain performs all tasks and returns when none are left.
func (k *SiteWorker) Drain(ctx context.Context) error {
	for {
		more, err := k.round(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// round performs one batch of each task, so that large sites don't block small ones. `more` reports whether work is
// left.
func (k *SiteWorker) round(ctx context.Context) (more bool, err error) {
	var faults []error
	for last := (catalog.SiteTask{}); ; {
		tasks, err := k.Sites.SiteWork(ctx, last, siteTasks)
		if err != nil {
			return false, fmt.Errorf("listing site tasks: %w", err)
		}
		for _, task := range tasks {
			batch, err := k.Sites.WorkOnSite(ctx, task)
			if err != nil {
				faults = append(faults, fmt.Errorf("working on site %s: %w", task.SiteID(), err))
				continue
			}
			k.notify(batch)
			more = more || batch.More
		}
		if len(tasks) < siteTasks || ctx.Err() != nil {
			return more && len(faults) == 0, errors.Join(faults...)
		}
		last = tasks[len(tasks)-1]
	}
}

func (k *SiteWorker) notify(batch catalog.SiteBatch) {
	if k.Hub == nil {
		return
	}
	for _, id := range batch.Changed {
		k.Hub.Changed(batch.DatastoreID, id)
	}
}
