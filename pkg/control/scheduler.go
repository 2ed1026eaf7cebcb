package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
)

// Refreshes is the part of the catalog that stores refresh schedules.
type Refreshes interface {
	// Refreshes returns one page of the schedules, in a fixed order. `next` is "" after the last page.
	Refreshes(ctx context.Context, cursor string, limit int) (page []catalog.Refresh, next string, err error)
	// RefreshDue queues a refresh that was due at the given time and reports whether it queued one. Repeated calls are
	// harmless.
	RefreshDue(ctx context.Context, id string, at time.Time) (queued bool, err error)
}

// Schedules stores refresh schedules and signals when a datasource is due.
type Schedules interface {
	Schedules(ctx context.Context, f func(jobs.Schedule) error) error
	SetSchedule(ctx context.Context, datastoreID, datasourceID string, r domain.Refresh) error
	RemoveSchedule(ctx context.Context, datastoreID, datasourceID string) error
	Due(ctx context.Context, handler jobs.DueHandler) error
}

// Scheduler refreshes web content when it is due. The catalog is authoritative: the scheduler makes the stored
// schedules match it, which repairs lost and outdated ones.
//
// Many datasources may be due at once. Their jobs go through the outbox like all others, behind new content, and the
// dispatcher publishes them gradually.
type Scheduler struct {
	Catalog   Refreshes
	Schedules Schedules
	Wake      <-chan struct{} // fires when schedules have changed in the catalog; nil: compare only periodically
	Hub       Watchers        // nil if there are no watchers
	Log       *slog.Logger

	unsupportedOnce sync.Once // the missing support for schedules is logged only once
}

const (
	// Interval for comparing the schedules with the catalog: a tenth of the shortest refresh interval. A lost schedule
	// is restored within this time.
	scheduleEvery = time.Minute
	// Minimum pause between comparisons. Importing many web sites must not trigger one per site.
	schedulePause = time.Second
	// Number of schedules read per page.
	schedulePage = 500
)

// Run maintains the schedules and starts due refreshes until ctx is done.
func (s *Scheduler) Run(ctx context.Context) {
	var background sync.WaitGroup
	background.Go(func() {
		if err := s.Schedules.Due(ctx, s.due); err != nil {
			s.Log.ErrorContext(ctx, "stopped handling scheduled refreshes", "error", err)
		}
	})
	defer background.Wait()
	runLoop(ctx, s.Log, s.Wake, scheduleEvery, roundBound, func(ctx context.Context) (bool, error) {
		done, err := s.Reconcile(ctx)
		if errors.Is(err, jobs.ErrNoSchedules) {
			s.unsupportedOnce.Do(func() { s.Log.WarnContext(ctx, "scheduled refreshes of web content are off", "error", err) })
			return false, nil
		}
		if done.Set+done.Removed > 0 {
			s.Log.DebugContext(ctx, "updated refresh schedules", "set", done.Set, "removed", done.Removed)
		}
		wait(ctx, nil, schedulePause)
		return false, err
	})
}

// Reconciled is the result of Reconcile.
type Reconciled struct {
	Set     int // schedules that were missing or different
	Removed int // schedules for content that is no longer refreshed
}

// Reconcile makes the schedules match the catalog. It logs and skips invalid schedules, and fails with
// jobs.ErrNoSchedules if the servers don't support schedules. Several processes may call it at once.
func (s *Scheduler) Reconcile(ctx context.Context) (done Reconciled, err error) {
	// Read the schedules first. Then any schedule that isn't in the catalog must have been removed there. If the
	// catalog were read first, the schedule might just have been added in between.
	strays := map[scheduled]string{}
	err = s.Schedules.Schedules(ctx, func(there jobs.Schedule) error {
		strays[scheduled{there.DatastoreID, there.DatasourceID}] = there.Pattern
		return nil
	})
	if err != nil {
		return done, err
	}
	for cursor, more := "", true; more; more = cursor != "" {
		var page []catalog.Refresh
		if page, cursor, err = s.Catalog.Refreshes(ctx, cursor, schedulePage); err != nil {
			return done, fmt.Errorf("reading the refresh schedules of the catalog: %w", err)
		}
		for _, row := range page {
			if err := s.set(ctx, row, strays, &done); err != nil {
				return done, err
			}
		}
	}
	for stray := range strays {
		if err := s.Schedules.RemoveSchedule(ctx, stray.datastoreID, stray.datasourceID); err != nil {
			return done, err
		}
		done.Removed++
	}
	return done, nil
}

// scheduled identifies a datasource that has a schedule.
type scheduled struct{ datastoreID, datasourceID string }

// set makes a datasource's stored schedule match its catalog row. It also deletes the datasource from `strays`. After
// the last row, `strays` contains only datasources that have a schedule but aren't in the catalog.
func (s *Scheduler) set(ctx context.Context, row catalog.Refresh, strays map[scheduled]string, done *Reconciled) error {
	refresh, err := domain.ParseRefresh(row.Schedule)
	if err != nil {
		s.Log.WarnContext(ctx, "datasource has an invalid refresh schedule and is not refreshed", "datasource", row.DatasourceID, "error", err)
	}
	if refresh.IsZero() {
		return nil
	}
	key := scheduled{row.DatastoreID, row.DatasourceID}
	if strays[key] != refresh.Schedule() {
		if err := s.Schedules.SetSchedule(ctx, row.DatastoreID, row.DatasourceID, refresh); err != nil {
			return err
		}
		done.Set++
	}
	delete(strays, key)
	return nil
}

// due queues a refresh of a datasource unless it was deleted or is already being processed.
func (s *Scheduler) due(ctx context.Context, datastoreID, datasourceID string, at time.Time) error {
	queued, err := s.Catalog.RefreshDue(ctx, datasourceID, at)
	if err != nil {
		return fmt.Errorf("queueing the refresh of datasource %s: %w", datasourceID, err)
	}
	if queued && s.Hub != nil {
		s.Hub.Changed(datastoreID, datasourceID)
	}
	return nil
}
