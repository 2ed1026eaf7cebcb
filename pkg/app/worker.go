package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/lockdir"
	"github.com/sluice/sluice/pkg/originals"
	"github.com/sluice/sluice/pkg/seal"
	"github.com/sluice/sluice/pkg/telemetry/instrument"
)

// Worker is an ingestor or crawler process. Both kinds of process need NATS but not the catalog, and ingestors also
// need the index and the embedding model.
type Worker struct {
	shape   Shape
	config  config.Config
	options Options
	log     *slog.Logger
	now     func() time.Time

	scratch   *lockdir.Dir // temporary: a worker has no data directory, and several may share a machine
	conn      *jobs.Conn
	broker    *jobs.Broker
	originals *originals.Store
	engines   *engines
	metrics   *prometheus.Registry
	jobs      *instrument.JobMetrics
	stages    *instrument.Stages
	telemetry *healthServer
	checks    []api.Check    // checks for things that not every process has
	closers   []func() error // in the order opened
	failed    chan error
}

// NewWorker returns an ingestor or crawler process, depending on the shape. It can be started only once.
func NewWorker(shape Shape, c config.Config, o Options) *Worker {
	return &Worker{
		options: o, shape: shape, config: c, log: o.Log, now: o.hooks.clock(),
		engines: &engines{}, metrics: newRegistry(), failed: make(chan error, 1),
	}
}

// How long a starting worker waits for the api process to create the NATS streams.
const attachTimeout = time.Minute

// Start connects to all services and starts working. If it fails, call Stop to close what was opened.
func (w *Worker) Start(ctx context.Context) error {
	began := time.Now()
	if err := w.check(); err != nil {
		return err
	}
	w.jobs, w.stages = instrument.NewJobMetrics(w.metrics), instrument.NewStages(w.metrics)
	steps := []func(context.Context) error{w.openScratch, w.attach, w.startCrawler, w.serve}
	if w.shape == Ingestor {
		steps = []func(context.Context) error{w.openScratch, w.attach, w.openIndexes, w.startIngestor, w.serve}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	w.log.Info("ready", "health", "http://"+w.Addr(), "after", time.Since(began).Round(time.Millisecond))
	return nil
}

// check rejects settings under which the worker couldn't work.
func (w *Worker) check() error {
	if w.config.NATSURL == "" {
		return fmt.Errorf("%s needs NATS_URL: the address of the NATS servers, or of an api process with SLUICE_NATS_LISTEN", articleFor(w.shape))
	}
	if w.shape == Ingestor && !w.config.HasRemoteIndex() {
		return errors.New("a separate ingestor process cannot use the embedded index, which belongs to the api process: " +
			"set MILVUS_ADDR, or run the ingestor inside the api process (SLUICE_WORKERS=true)")
	}
	if w.config.DatabaseURL != "" {
		w.log.Warn("DATABASE_URL is set but not used: remove it, because workers read untrusted files and should have no database credentials")
	}
	return nil
}

func articleFor(s Shape) string {
	if s == Ingestor {
		return "an ingestor process"
	}
	return "a crawler process"
}

func (w *Worker) deferClose(f func() error) { w.closers = append(w.closers, f) }

func (w *Worker) openScratch(context.Context) (err error) {
	if w.scratch, err = lockdir.Make(os.TempDir(), "sluice-worker-*"); err != nil {
		return err
	}
	w.deferClose(w.scratch.Remove)
	return nil
}

func (w *Worker) attach(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	w.conn, err = jobs.Connect(ctx, connectOptions(w.config, "sluice-"+string(w.shape), w.log))
	if err != nil {
		return err
	}
	w.deferClose(func() error { w.conn.Close(); return nil })
	if w.broker, err = jobs.Attach(ctx, w.conn, jobs.Options{Now: w.now, Log: w.log}); err != nil {
		return err
	}
	w.originals, err = originals.Attach(ctx, w.conn.JetStream(), originals.Options{Now: w.now})
	return err
}

func (w *Worker) openIndexes(ctx context.Context) error {
	w.deferClose(w.engines.closeRemote)
	if err := w.engines.openRemote(w.config, w.log); err != nil {
		return err
	}
	told := newGroup(ctx, w.failed)
	told.loop(func(ctx context.Context) { w.engines.logMissingFeatures(ctx, w.log) })
	w.deferClose(func() error { told.stop(); return nil })
	return nil
}

func (w *Worker) startIngestor(ctx context.Context) error {
	models, err := openEmbedders(w.config, w.log)
	if err != nil {
		return err
	}
	reader := newExtractor(w.config, "", w.scratch.Path(), w.log)
	w.deferClose(reader.Close)
	handler := ingestWorker(w.config, w.options, w.scratch.Path(), w.originals, w.broker, reader, models, w.engines, w.stages, w.now)
	handler.Background = newBackground(nil)
	w.checks = append(w.checks, scanCheck(reader, w.log))
	w.work(ctx, domain.LaneIngest, handler.Handle)
	w.work(ctx, domain.LaneScan, scanWorker(w.config, handler).Handle)
	return nil
}

func (w *Worker) startCrawler(ctx context.Context) error {
	keys, err := seal.NewSealer(w.config.SecretKey)
	if err != nil {
		return err
	}
	site, err := openWeb(w.config, w.broker, w.scratch.Path(), w.log)
	if err != nil {
		return err
	}
	w.deferClose(site.Close)
	handler := crawlWorker(w.config, w.originals, w.broker, site, keys, w.stages, w.now)
	w.work(ctx, domain.LaneCrawl, handler.Handle)
	return nil
}

func (w *Worker) work(ctx context.Context, lane domain.Lane, handler jobs.Handler) {
	workers := newGroup(ctx, w.failed)
	workers.run("working", func(ctx context.Context) error {
		return w.broker.Work(ctx, lane, workerOptions(w.config, lane, true, w.jobs), instrument.Jobs(w.options.Traces, w.log, handler))
	})
	w.deferClose(func() error { workers.stop(); return nil })
}

func (w *Worker) serve(ctx context.Context) (err error) {
	addr := w.config.Addr
	if addr == "" {
		addr = "127.0.0.1:0" // any number of workers may share a machine
	}
	checks := recorded(w.metrics, slices.Concat([]api.Check{{Name: "nats", Ready: w.broker.Ready}}, w.engines.checks(), w.checks))
	if w.telemetry, err = serveHealth(ctx, addr, w.metrics, checks, w.config.AdminKey, w.config.Hosts, w.log, w.failed); err != nil {
		return err
	}
	w.deferClose(w.telemetry.stop)
	return nil
}

// Addr returns the address serving health checks and metrics. The worker must have been started.
func (w *Worker) Addr() string { return w.telemetry.Addr() }

// Failed returns a channel that receives an error if something in the process fails and cannot recover.
func (w *Worker) Failed() <-chan error { return w.failed }

// Stop returns work in progress to the queue and closes everything. It may be called twice.
func (w *Worker) Stop() error {
	err := closeAll(w.closers)
	w.closers = nil
	return err
}

func closeAll(closers []func() error) error {
	var faults []error
	for i := len(closers) - 1; i >= 0; i-- {
		faults = append(faults, closers[i]())
	}
	return errors.Join(faults...)
}
