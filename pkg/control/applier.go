package control

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// EventLog delivers stored events in order, each at least once, until ctx is done. The handler receives up to `limit`
// events at a time. If it fails, they are redelivered one by one, so that the events before a faulty one are still
// applied.
type EventLog interface {
	ConsumeBatches(ctx context.Context, limit int, handler func(context.Context, []domain.Event) error) error
}

// States applies events to the catalog in a single transaction.
type States interface {
	ApplyAll(ctx context.Context, evs []domain.Event) ([]catalog.Applied, error)
}

// Applier applies the workers' events to the catalog.
type Applier struct {
	Events EventLog
	States States
	Hub    Watchers // nil if there are no watchers
	Log    *slog.Logger
}

// Maximum number of events in one transaction.
const eventBatch = 100

// Run applies events until ctx is done.
func (a *Applier) Run(ctx context.Context) error {
	err := a.Events.ConsumeBatches(ctx, eventBatch, a.apply)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("consuming events: %w", err)
	}
	return nil
}

func (a *Applier) apply(ctx context.Context, evs []domain.Event) error {
	applied, err := a.States.ApplyAll(ctx, evs)
	switch {
	case len(evs) == 1 && domain.CodeOf(err) == domain.CodeInvalid:
		// Drop the event: it would fail every time and block all later events. The Rescuer will notice that the
		// datasource is still waiting.
		a.Log.ErrorContext(ctx, "dropping a malformed event", "type", evs[0].Type, "datasource", evs[0].DatasourceID, "job", evs[0].JobID, "error", err)
		return nil
	case err != nil:
		return fmt.Errorf("applying %d events, the first %s of job %s: %w", len(evs), evs[0].Type, evs[0].JobID, err)
	}
	for i, ev := range evs {
		a.notify(ev, applied[i])
		if ev.Type == domain.EventError && applied[i].Changed {
			a.Log.InfoContext(ctx, "datasource failed", "datasource", ev.DatasourceID, "job", ev.JobID, "cause", ev.Error)
		}
	}
	return nil
}

func (a *Applier) notify(ev domain.Event, applied catalog.Applied) {
	if a.Hub == nil || !applied.Changed {
		return
	}
	a.Hub.Changed(ev.DatastoreID, ev.DatasourceID)
	if applied.Site != nil {
		a.Hub.Changed(ev.DatastoreID, applied.Site.ID)
	}
	for _, id := range applied.Others {
		a.Hub.Changed(ev.DatastoreID, id)
	}
}
