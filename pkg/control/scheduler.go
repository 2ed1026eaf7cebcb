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

// Refreshes is what the catalog knows about content that is fetched again by itself.
type Refreshes interface {
	// Refreshes returns a page of all there is, in a fixed order; next is "" after the last.
	Refreshes(ctx context.Context, cursor string, limit int) (page []catalog.Refresh, next string, err error)
	// RefreshDue has a datasource fetched again that became due, and reports whether it was queued. Telling twice is
	// harmless.
	RefreshDue(ctx context.Context, id string, at time.Time) (queued bool, err error)
}

// Schedules keep time: they tell when a datasource is due.
type Schedules interface {
	Schedules(ctx context.Context, f func(jobs.Schedule) error) error
	SetSchedule(ctx context.Context, datastoreID, datasourceID string, r domain.Refresh) error
	RemoveSchedule(ctx context.Context, datastoreID, datasourceID string) error
	Due(ctx context.Context, handler jobs.DueHandler) error
}

// Scheduler has web content fetched again when it is due. The catalog says when; the schedules follow it, so that
// schedules that are lost or out of date mend themselves.
//
// A thousand datasources that were set to the same interval at once are due at once. Their jobs go through the outbox
// like all others, behind fresh content, and the dispatcher admits them a window at a time.
type Scheduler struct {
	Catalog   Refreshes
	Schedules Schedules
	Wake      <-chan struct{} // fires when refreshes have changed; nil: they are compared now and then
	Hub       Watchers        // nil: nobody watches
	Log       *slog.Logger

	tooOld sync.Once // told that the servers keep no schedules
}

const (
	// scheduleEvery bounds how long a schedule is missing. The shortest interval is ten times as long.
	scheduleEvery = time.Minute
	// schedulePause keeps an import of many web sites from having everything compared for each.
	schedulePause = time.Second
	// schedulePage is how many refreshes are read at a time.
	schedulePage = 500
)

// Run sees to the schedules and what is due until ctx ends.
func (s *Scheduler) Run(ctx context.Context) {
	var telling sync.WaitGroup
	telling.Go(func() {
		if err := s.Schedules.Due(ctx, s.due); err != nil {
			s.Log.ErrorContext(ctx, "what is due is no longer fetched again", "error", err)
		}
	})
	defer telling.Wait()
	every(ctx, s.Log, s.Wake, scheduleEvery, roundBound, func(ctx context.Context) (bool, error) {
		done, err := s.Reconcile(ctx)
		if errors.Is(err, jobs.ErrNoSchedules) {
			s.tooOld.Do(func() { s.Log.WarnContext(ctx, "web content is not fetched again by itself", "error", err) })
			return false, nil
		}
		if done.Set+done.Removed > 0 {
			s.Log.DebugContext(ctx, "refresh schedules were brought up to date", "set", done.Set, "removed", done.Removed)
		}
		wait(ctx, nil, schedulePause)
		return false, err
	})
}

// Reconciled says what Reconcile has done.
type Reconciled struct {
	Set     int // schedules that were missing or others than the catalog's
	Removed int // schedules of what is not fetched again any more
}

// Reconcile makes the schedules those of the catalog, and leaves alone those that are. Several processes may do it at
// once. A refresh that the catalog keeps and nobody can read is logged and passed over. It fails with
// jobs.ErrNoSchedules if the servers keep none.
func (s *Scheduler) Reconcile(ctx context.Context) (done Reconciled, err error) {
	// The schedules first: one that is read here and not in the catalog afterwards has been given up. The other way round
	// it could have been set just now.
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
			return done, fmt.Errorf("reading which datasources are fetched again: %w", err)
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

// scheduled is a datasource that has a schedule.
type scheduled struct{ datastoreID, datasourceID string }

// set sees to the schedule of one datasource, and takes it from the strays, which are all others by their pattern.
func (s *Scheduler) set(ctx context.Context, row catalog.Refresh, strays map[scheduled]string, done *Reconciled) error {
	refresh, err := domain.ParseRefresh(row.Schedule)
	if err != nil {
		s.Log.WarnContext(ctx, "datasource is not fetched again by itself", "datasource", row.DatasourceID, "error", err)
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

// due has a datasource fetched again. One that is not queued is gone, or at work already.
func (s *Scheduler) due(ctx context.Context, datastoreID, datasourceID string, at time.Time) error {
	queued, err := s.Catalog.RefreshDue(ctx, datasourceID, at)
	if err != nil {
		return fmt.Errorf("having datasource %s fetched again: %w", datasourceID, err)
	}
	if queued && s.Hub != nil {
		s.Hub.Changed(datastoreID, datasourceID)
	}
	return nil
}
