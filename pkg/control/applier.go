package control

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// EventLog hands out stored events in order, each at least once, until ctx ends. An event whose handler fails comes
// again.
type EventLog interface {
	Consume(ctx context.Context, handler func(context.Context, domain.Event) error) error
}

// States is where events change what the catalog holds.
type States interface {
	Apply(ctx context.Context, ev domain.Event) (catalog.Applied, error)
}

// Applier stores what workers report.
type Applier struct {
	Events EventLog
	States States
	Hub    *Hub // nil: nobody watches
	Log    *slog.Logger
}

// Run applies events until ctx ends.
func (a *Applier) Run(ctx context.Context) error {
	err := a.Events.Consume(ctx, func(ctx context.Context, ev domain.Event) error {
		applied, err := a.States.Apply(ctx, ev)
		if domain.CodeOf(err) == domain.CodeInvalid {
			// It would fail for ever and hold up all events behind it. What waits for it is the rescuer's business.
			a.Log.Error("event is malformed and is dropped", "type", ev.Type, "datasource", ev.DatasourceID, "job", ev.JobID, "error", err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("applying %s of job %s: %w", ev.Type, ev.JobID, err)
		}
		a.tell(ev, applied)
		if ev.Type == domain.EventError && applied.Changed {
			a.Log.Info("datasource ended with an error", "datasource", ev.DatasourceID, "job", ev.JobID, "cause", ev.Error)
		}
		return nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("consuming events: %w", err)
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
}
