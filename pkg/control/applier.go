package control

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// EventLog hands out stored events in order, up to limit at a time, each at least once, until ctx ends. Events whose
// handler fails come again: first one by one, so that one of them does not hold up those before it.
type EventLog interface {
	ConsumeBatches(ctx context.Context, limit int, handler func(context.Context, []domain.Event) error) error
}

// States is where events change what the catalog holds: all of them or none.
type States interface {
	ApplyAll(ctx context.Context, evs []domain.Event) ([]catalog.Applied, error)
}

// Applier stores what workers report.
type Applier struct {
	Events EventLog
	States States
	Hub    Watchers // nil: nobody watches
	Log    *slog.Logger
}

// eventBatch bounds the events of one transaction.
const eventBatch = 100

// Run applies events until ctx ends.
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
		// It would fail for ever and hold up all events behind it. What waits for it is the rescuer's business.
		a.Log.ErrorContext(ctx, "event is malformed and is dropped", "type", evs[0].Type, "datasource", evs[0].DatasourceID, "job", evs[0].JobID, "error", err)
		return nil
	case err != nil:
		return fmt.Errorf("applying %d events, the first %s of job %s: %w", len(evs), evs[0].Type, evs[0].JobID, err)
	}
	for i, ev := range evs {
		a.tell(ev, applied[i])
		if ev.Type == domain.EventError && applied[i].Changed {
			a.Log.InfoContext(ctx, "datasource ended with an error", "datasource", ev.DatasourceID, "job", ev.JobID, "cause", ev.Error)
		}
	}
	return nil
}

func (a *Applier) tell(ev domain.Event, applied catalog.Applied) {
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
