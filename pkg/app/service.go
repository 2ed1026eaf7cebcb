package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/answer/chat"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/originals"
	"github.com/sluice/sluice/pkg/seal"
	"github.com/sluice/sluice/pkg/telemetry/instrument"
)

// Service is the api process: the HTTP API, the control loops and, unless configured otherwise, the workers.
type Service struct {
	config     config.Config
	options    Options
	log        *slog.Logger
	now        func() time.Time
	guardedNow func() time.Time // for deleting old objects; see guardedClock

	dir        *datadir.Dir
	catalog    *catalog.Catalog
	broker     *jobs.Broker
	nats       *natsd.Server // nil if the servers at NATS_URL are used
	conn       *jobs.Conn
	originals  *originals.Store
	engines    *engines
	embedders  *embedders
	models     chat.Models
	reranker   *instrument.Reranker // nil if not configured
	crawler    *web                 // nil if other processes crawl
	sealer     *seal.Sealer         // nil if it has no key in common with the crawlers
	hub        *control.Hub
	auditor    *control.Auditor
	rescuer    *control.Rescuer
	indexAlarm chan struct{}
	scheduled  chan struct{} // signals that the refresh times for web content have changed
	backups    *backups
	rebuild    rebuild
	auditLog   *slog.Logger // records how keys are used
	holder     string       // this process's id among those sharing the catalog
	metrics    *prometheus.Registry
	jobs       *instrument.JobMetrics
	stages     *instrument.Stages
	admission  *admissionGates
	checks     []api.Check // checks for things that not every process has

	listener net.Listener
	server   *http.Server
	closing  context.CancelFunc // cancels streams that never end on their own
	workers  *group
	control  *group
	closers  []func() error // in the order opened
	failed   chan error
}

// NewService returns an api process. It can be started only once.
func NewService(c config.Config, o Options) *Service {
	now := o.hooks.clock()
	s := &Service{
		config: c, options: o, log: o.Log, now: now, guardedNow: newGuardedClock(now).now, failed: make(chan error, 1),
		backups: &backups{}, auditLog: o.Log, engines: &engines{}, indexAlarm: make(chan struct{}, 1), scheduled: make(chan struct{}, 1), holder: domain.NewID(), metrics: newRegistry(),
	}
	s.jobs, s.stages = instrument.NewJobMetrics(s.metrics), instrument.NewStages(s.metrics)
	s.admission = newAdmission(c, s.metrics)
	return s
}

// Addr returns the address the service listens on. The service must have been started.
func (s *Service) Addr() string { return s.listener.Addr().String() }

// Failed returns a channel that receives an error if something in the process fails and can't recover.
func (s *Service) Failed() <-chan error { return s.failed }

// Start opens everything and returns once the service is ready. If it fails, call Stop to close what was opened.
func (s *Service) Start(ctx context.Context) error {
	began := time.Now()
	for _, step := range []func(context.Context) error{
		s.openDir, s.openSealer, s.openModels, s.listen, s.openCatalog, s.openNATS, s.openIndexes, s.firstKey, s.prepareBackups, s.startControl, s.startWorkers, s.serve,
	} {
		if err := step(ctx); err != nil {
			if errors.Is(err, syscall.ENOSPC) && s.dir != nil {
				return datadir.UnusableError(s.dir.Path(), err)
			}
			return err
		}
	}
	s.printNextSteps(ctx)
	s.log.Info("ready", "address", "http://"+s.Addr(), "data_dir", s.dir.Path(), "after", time.Since(began).Round(time.Millisecond))
	return nil
}

func (s *Service) deferClose(f func() error) { s.closers = append(s.closers, f) }

// startWorkers starts the ingestor and the crawler in this process, unless they run in separate processes. The embedded
// index's ingestor always runs here.
func (s *Service) startWorkers(ctx context.Context) error {
	s.workers = newGroup(ctx, s.failed)
	remote := s.config.NATSURL != "" || s.config.NATSListen != ""
	var lanes []domain.Lane
	if s.engines.embedded != nil {
		lanes = append(lanes, domain.LaneLocal, domain.LaneLocalScan)
	}
	if s.config.Workers && len(s.engines.remote) > 0 {
		lanes = append(lanes, domain.LaneIngest, domain.LaneScan)
	}
	if len(lanes) > 0 {
		reader := newExtractor(s.config, s.dir.Join(datadir.Cache), s.dir.Join(datadir.Temp), s.log)
		s.deferClose(reader.Close)
		ingestor := ingestWorker(s.config, s.options, s.dir.Join(datadir.Temp), s.originals, s.broker, reader, s.embedders, s.engines, s.stages, s.now)
		ingestor.Yield = s.admission.backpressure.Wait
		ingestor.Background = newBackground(func() bool { return s.admission.searches.IsBusy() || s.admission.answers.IsBusy() })
		scans := scanWorker(s.config, ingestor)
		s.checks = append(s.checks, scanCheck(reader, s.log))
		for _, lane := range lanes {
			handle := ingestor.Handle
			if lane.Kind() == domain.JobScan {
				handle = scans.Handle
			}
			s.workers.run("ingesting", func(ctx context.Context) error {
				return s.broker.Work(ctx, lane, workerOptions(s.config, lane, remote, s.jobs), instrument.Jobs(s.options.Traces, s.log, handle))
			})
		}
	}
	if s.config.Workers {
		var err error
		if s.crawler, err = openWeb(s.config, s.broker, s.dir.Join(datadir.Temp), s.log); err != nil {
			return err
		}
		s.deferClose(s.crawler.Close)
		crawler := crawlWorker(s.config, s.originals, s.broker, s.crawler, s.sealer, s.stages, s.now)
		s.workers.run("crawling", func(ctx context.Context) error {
			return s.broker.Work(ctx, domain.LaneCrawl, workerOptions(s.config, domain.LaneCrawl, remote, s.jobs), instrument.Jobs(s.options.Traces, s.log, crawler.Handle))
		})
	}
	s.deferClose(func() error { s.workers.stop(); return nil })
	return nil
}

// Stop stops accepting requests, finishes work in progress or returns it to the queue, and closes everything in reverse
// order of opening. It may be called twice.
func (s *Service) Stop() error {
	err := closeAll(s.closers)
	s.closers = nil
	return err
}
