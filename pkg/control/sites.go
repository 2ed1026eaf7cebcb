package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
)

// Sites is the catalog as it works on many pages of a site at once.
type Sites interface {
	// SiteWork returns up to limit tasks that come after the given one.
	SiteWork(ctx context.Context, after catalog.SiteTask, limit int) ([]catalog.SiteTask, error)
	// WorkOnSite does the next batch of a task.
	WorkOnSite(ctx context.Context, task catalog.SiteTask) (catalog.SiteBatch, error)
	SiteWake() <-chan struct{}
}

// SiteKeeper does what follows for pages of a site that are too many for one transaction: those that the newest crawl has
// not come upon are asked for or removed, those that were left out for a page which is no more are fetched again, and
// those that wait are withdrawn when their crawl is stopped. What it does follows from the catalog alone, so a restart, or
// another api process, goes on with it.
type SiteKeeper struct {
	Sites Sites
	Hub   Watchers // nil: nobody watches
	Log   *slog.Logger
}

const (
	// sitePoll bounds how long work waits that another api process has left: its wake-up does not reach us.
	sitePoll = 2 * time.Second
	// siteTasks bounds the tasks that are read at a time.
	siteTasks = 100
)

// Run works until ctx ends.
func (k *SiteKeeper) Run(ctx context.Context) {
	every(ctx, k.Log, k.Sites.SiteWake(), sitePoll, roundBound, k.round)
}

// Drain does all that there is to be done, and returns when nothing is left.
func (k *SiteKeeper) Drain(ctx context.Context) error {
	for {
		more, err := k.round(ctx)
		if err != nil || !more {
			return err
		}
	}
}

// round does one batch of every task, so that a large site does not hold up a small one.
func (k *SiteKeeper) round(ctx context.Context) (more bool, err error) {
	var faults []error
	for last := (catalog.SiteTask{}); ; {
		tasks, err := k.Sites.SiteWork(ctx, last, siteTasks)
		if err != nil {
			return false, fmt.Errorf("looking for work on sites: %w", err)
		}
		for _, task := range tasks {
			batch, err := k.Sites.WorkOnSite(ctx, task)
			if err != nil {
				faults = append(faults, fmt.Errorf("working on site %s: %w", task.SiteID(), err))
				continue
			}
			k.tell(batch)
			more = more || batch.More
		}
		if len(tasks) < siteTasks || ctx.Err() != nil {
			return more && len(faults) == 0, errors.Join(faults...)
		}
		last = tasks[len(tasks)-1]
	}
}

func (k *SiteKeeper) tell(batch catalog.SiteBatch) {
	if k.Hub == nil {
		return
	}
	for _, id := range batch.Changed {
		k.Hub.Changed(batch.DatastoreID, id)
	}
}
