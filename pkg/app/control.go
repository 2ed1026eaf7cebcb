package app

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed/minilm"
	"github.com/sluice/sluice/pkg/embed/static"
)

// isUpgrade reports whether a move only replaces the fastest built-in embedding model with the best one. Such moves run
// in the background, because searches work well enough until they end.
func isUpgrade(from, to domain.Place) bool {
	return from.Engine == to.Engine && from.Model == static.ID && to.Model == minilm.ID
}

// startControl starts the control loops, which read the catalog and drive the pipeline.
func (s *Service) startControl(ctx context.Context) error {
	s.hub = control.NewHub(s.broker.Announce)
	applier := control.Applier{Events: s.broker, States: s.stages.States(s.catalog, s.options.Traces), Hub: s.hub, Log: s.log}
	dispatcher := control.Dispatcher{Outbox: s.catalog, Jobs: s.broker, Window: s.config.Window, Hub: s.hub, Log: s.log, Now: s.now}
	if s.options.hooks.publisher != nil {
		dispatcher.Jobs = s.options.hooks.publisher(dispatcher.Jobs)
	}
	sweeper := control.Sweeper{
		Sweeps: s.catalog, Stores: s.catalog, Engines: controlledEngines{s.engines}, Originals: s.originals, JobLog: s.broker, Log: s.log, Now: s.now, GuardedNow: s.guardedNow,
		Retention: s.config.ConversationRetention, Holding: s.backups.isHolding,
	}
	expirer := control.Expirer{Content: s.catalog, Log: s.log}
	mover := control.Mover{Catalog: s.catalog, Log: s.log, Now: s.now, Background: isUpgrade}
	s.rescuer = &control.Rescuer{Waiting: s.catalog, Stream: s.broker, Log: s.log, Now: s.now}
	s.auditor = &control.Auditor{
		Catalog: s.catalog, Engines: controlledEngines{s.engines}, Originals: s.originals, JobLog: s.broker, Every: s.config.AuditEvery, Alarm: s.indexAlarm,
		Holder: s.holder, Log: s.log, Now: s.now, GuardedNow: s.guardedNow, Audited: s.auditEnded,
	}
	sites := control.SiteWorker{Sites: s.catalog, Hub: s.hub, Log: s.log}
	scheduler := &control.Scheduler{Catalog: s.catalog, Schedules: s.broker, Wake: s.scheduled, Hub: s.hub, Log: s.log}
	keeper := &control.StreamKeeper{Streams: s.broker, Originals: s.originals, Marks: s.catalog, Rescuer: s.rescuer, Log: s.log}
	repairer := control.Repairer{Requests: s.catalog, Streams: keeper, Auditor: s.auditor, Scheduler: scheduler, Log: s.log}
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	s.control = newGroup(ctx, s.failed)
	s.control.run("applying events", applier.Run)
	s.control.run("receiving announcements of changes", func(ctx context.Context) error { return s.broker.Announcements(ctx, s.hub.ChangedElsewhere) })
	if s.config.DatabaseURL != "" {
		s.control.run("renewing the lease on the NATS servers", s.renewNATSLease)
	}
	s.control.loop(dispatcher.Run)
	s.control.loop(sweeper.Run)
	s.control.loop(expirer.Run)
	s.control.loop(mover.Run)
	if s.config.EmbedModel == config.EmbedAuto {
		upgrader := control.Upgrader{Catalog: s.catalog, From: static.ID, To: minilm.ID, Log: s.log, Now: s.now}
		s.control.loop(upgrader.Run)
	}
	s.control.loop(sites.Run)
	s.control.loop(scheduler.Run)
	s.control.loop(keeper.Run)
	s.control.loop(s.rescuer.Run)
	s.control.loop(s.auditor.Run)
	s.control.loop(repairer.Run)
	s.control.loop(s.prune)
	s.control.loop(func(ctx context.Context) { s.engines.logMissingFeatures(ctx, s.log) })
	for i := range s.engines.remote {
		s.control.loop(func(ctx context.Context) { s.watchRemote(ctx, s.engines.remote[i]) })
	}
	s.control.loop(func(ctx context.Context) { returnIdleMemory(ctx, s.clearIdleCaches) })
	s.deferClose(func() error { s.control.stop(); return nil })
	return nil
}

// catchUp reconciles the job log with the catalog before anything new is published. If the log has lost some of the
// catalog's jobs, they are published again. If the catalog is an older copy, jobs accepted after the copy was made are
// added to it from the log.
func (s *Service) catchUp(ctx context.Context) error {
	if s.broker.Reset() {
		if _, err := s.rescuer.Rescue(ctx, 0); err != nil {
			return fmt.Errorf("recreating the jobs of a lost stream: %w", err)
		}
		return nil
	}
	known, err := s.catalog.MaxGeneration(ctx)
	if err != nil {
		return fmt.Errorf("reading the highest generation: %w", err)
	}
	var report control.Report
	err = s.auditor.Adopt(ctx, known+1, &report, func(format string, args ...any) {
		s.log.Warn("the catalog was older than the job log and was updated from it", "taken_over", fmt.Sprintf(format, args...))
	})
	if err != nil {
		return fmt.Errorf("updating the catalog from the job log: %w", err)
	}
	if report.Adopted == 0 {
		return nil
	}
	// Some jobs that are unfinished in this copy of the catalog may have finished after the copy was made. The events
	// that reported this are no longer available.
	s.rescuer.ExpectLostJobs()
	if _, err := s.rescuer.Rescue(ctx, 0); err != nil {
		return fmt.Errorf("recreating jobs that the older catalog lists as unfinished: %w", err)
	}
	return nil
}

// prune deletes what interrupted uploads have left behind in the original store. It runs at startup and then
// periodically.
func (s *Service) prune(ctx context.Context) {
	tick := time.NewTicker(s.config.AuditEvery)
	defer tick.Stop()
	for {
		held, err := s.catalog.Lease(ctx, "prune", s.holder, s.config.AuditEvery/2)
		if held {
			_, err = s.originals.Prune(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("cannot remove the files of interrupted uploads", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// auditEnded records the end of an audit that started at `began`.
func (s *Service) auditEnded(began time.Time) {
	s.rebuild.auditEnded(began)
	for _, r := range s.engines.remote {
		r.rebuild.auditEnded(began)
	}
}

// requestAudit requests an immediate audit because the embedded index is damaged.
func (s *Service) requestAudit() {
	s.rebuild.recordDamage(s.now())
	notify(s.indexAlarm)
}

// reschedule makes the scheduler compare the schedules with the catalog as soon as possible.
func (s *Service) reschedule() { notify(s.scheduled) }

// build requests an immediate audit to rebuild the missing embedded index from the catalog.
func (s *Service) build() {
	s.rebuild.begin(s.now())
	notify(s.indexAlarm)
}

func notify(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default: // a signal is already pending
	}
}
