package instrument

import (
	"context"
	"log/slog"
	"slices"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/telemetry"
)

// Jobs returns a handler that traces each run of a job as a span, in the trace of the request that created the job.
// Events published during a run belong to its span. Failed runs are logged with the trace id.
func Jobs(traces *telemetry.Traces, log *slog.Logger, next jobs.Handler) jobs.Handler {
	next = withJobAttrs(next)
	if traces == nil {
		return next
	}
	return func(ctx context.Context, job domain.Job) error {
		ctx, span := traces.Continue(ctx, job.Trace, string(job.Kind),
			telemetry.Text("sluice.job", job.ID), telemetry.Text("sluice.datasource", job.DatasourceID), telemetry.Text("sluice.datastore", job.DatastoreID),
			telemetry.Number("sluice.generation", job.Generation), telemetry.Number("sluice.delivery", job.Delivery))
		job.Trace = telemetry.Inject(ctx)
		err := next(ctx, job)
		if err != nil {
			log.DebugContext(ctx, "job failed", "job", job.ID, "datasource", job.DatasourceID, "error", err)
		}
		span.End(err)
		return err
	}
}

// withJobAttrs adds the ids of the job and its datasource to every line logged while the job is being processed.
func withJobAttrs(next jobs.Handler) jobs.Handler {
	return func(ctx context.Context, job domain.Job) error {
		return next(telemetry.WithLogAttrs(ctx, slog.String("datasource", job.DatasourceID), slog.String("job", job.ID)), job)
	}
}

// States wraps a control.States. It gives each applied event a span in its job's trace and measures how long it takes
// to apply events.
func (s *Stages) States(next control.States, traces *telemetry.Traces) control.States {
	return tracedStates{next, traces, s}
}

type tracedStates struct {
	control.States
	traces *telemetry.Traces
	stages *Stages
}

// ApplyAll implements control.States.
func (t tracedStates) ApplyAll(ctx context.Context, evs []domain.Event) (applied []catalog.Applied, err error) {
	ctx, end := t.stages.Begin(ctx, stageApply)
	defer func() { end(err) }()
	if t.traces == nil {
		return t.States.ApplyAll(ctx, evs)
	}
	evs = slices.Clone(evs)
	for i, ev := range evs {
		if ev.Trace == "" {
			continue
		}
		within, span := t.traces.Continue(ctx, ev.Trace, "apply "+string(ev.Type),
			telemetry.Text("sluice.job", ev.JobID), telemetry.Text("sluice.datasource", ev.DatasourceID), telemetry.Number("sluice.batch", len(evs)))
		evs[i].Trace = telemetry.Inject(within)
		defer func() { span.End(err) }() // all spans end at the same time, because the events are applied together
	}
	return t.States.ApplyAll(ctx, evs)
}
