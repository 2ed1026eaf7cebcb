package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/control"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/index/embedded"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/originals"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Names within the data directory.
const (
	catalogFile = "catalog.db"
	keyFile     = "api-key"
	natsDir     = "nats"
	indexDir    = "index"
	cacheDir    = "cache"
	tempDir     = "tmp"
)

// DefaultAddr is where the api process listens when it is not told.
const DefaultAddr = "127.0.0.1:8080"

// Service is the api process: HTTP, the control loops and, unless told otherwise, the workers.
type Service struct {
	config config.Config
	log    *slog.Logger
	out    io.Writer
	now    func() time.Time

	dir       *dataDir
	catalog   *catalog.Catalog
	broker    *jobs.Broker
	conn      *jobs.Conn
	originals *originals.Store
	engines   *engines
	embedders *embedders
	models    answer.Models
	reranker  *reranker // nil: there is none
	hub       *control.Hub
	auditor   *control.Auditor
	rescuer   *control.Rescuer
	alarm     chan struct{}
	scheduled chan struct{} // fires when the times at which something is fetched again have changed
	holder    string        // names this process among those that share the catalog
	metrics   *prometheus.Registry
	jobs      *jobMetrics

	listener net.Listener
	server   *http.Server
	closing  context.CancelFunc // ends the streams that would never end by themselves
	workers  *group
	control  *group
	closers  []func() error // in order of opening
	failed   chan error
}

// NewService makes an api process, to be started once. The first start's API key is written to out.
func NewService(c config.Config, log *slog.Logger, out io.Writer) *Service {
	s := &Service{
		config: c, log: log, out: out, now: func() time.Time { return time.Now().UTC() }, failed: make(chan error, 1),
		engines: &engines{}, alarm: make(chan struct{}, 1), scheduled: make(chan struct{}, 1), holder: domain.NewID(), metrics: newRegistry(),
	}
	s.jobs = newJobMetrics(s.metrics)
	return s
}

// Addr is the address the service listens on, once started.
func (s *Service) Addr() string { return s.listener.Addr().String() }

// Failed receives the error of a part that could not go on.
func (s *Service) Failed() <-chan error { return s.failed }

// Start opens everything and returns when the service serves. After an error, Stop closes what was opened.
func (s *Service) Start(ctx context.Context) error {
	began := time.Now()
	for _, step := range []func(context.Context) error{
		s.openModels, s.openDir, s.listen, s.openCatalog, s.openNATS, s.openIndexes, s.firstKey, s.startControl, s.startWorkers, s.serve,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	s.log.Info("ready", "address", "http://"+s.Addr(), "data_dir", s.dir.path, "after", time.Since(began).Round(time.Millisecond))
	return nil
}

func (s *Service) closeLater(f func() error) { s.closers = append(s.closers, f) }

func (s *Service) openModels(context.Context) (err error) {
	if s.embedders, err = openEmbedders(s.config, s.log); err != nil {
		return err
	}
	if s.reranker, err = openReranker(s.config, s.metrics, s.log); err != nil {
		return err
	}
	if s.reranker != nil {
		s.closeLater(func() error { s.reranker.Close(); return nil })
	}
	s.models, err = openChatModels(s.config, s.embedders.builtin)
	return err
}

func (s *Service) openDir(context.Context) (err error) {
	if s.dir, err = openDataDir(s.config.DataDir); err != nil {
		return err
	}
	s.closeLater(s.dir.close)
	// Uploads that a killed process left half received.
	if err := os.RemoveAll(s.dir.join(tempDir)); err != nil {
		return fmt.Errorf("clearing the temporary directory: %w", err)
	}
	if err := os.MkdirAll(s.dir.join(tempDir), 0o700); err != nil {
		return fmt.Errorf("making the temporary directory: %w", err)
	}
	return nil
}

// listen takes the address early: a port in use is to be known before anything is changed.
func (s *Service) listen(ctx context.Context) (err error) {
	addr := s.config.Addr
	if addr == "" {
		addr = DefaultAddr
	}
	var lc net.ListenConfig
	if s.listener, err = lc.Listen(ctx, "tcp", addr); err != nil {
		return fmt.Errorf("listening on SLUICE_ADDR: %w", err)
	}
	s.closeLater(func() error { s.listener.Close(); return nil })
	return nil
}

func (s *Service) openCatalog(ctx context.Context) (err error) {
	o := catalog.Options{Log: s.log, Now: s.now, MaxPagesPerSite: s.config.LimitPages, URL: s.config.DatabaseURL, Limits: quotas(s.config)}
	if o.URL == "" {
		o.Path = s.dir.join(catalogFile)
	}
	if s.catalog, err = catalog.Open(ctx, o); err != nil {
		return err
	}
	s.closeLater(s.catalog.Close)
	return nil
}

// quotas are the limits that hold for every workspace.
func quotas(c config.Config) domain.Limits {
	return domain.Limits{
		domain.MetricQueries: c.QuotaQueries, domain.MetricTokens: c.QuotaTokens,
		domain.MetricStoredChunks: c.QuotaChunks, domain.MetricStoredBytes: int64(c.QuotaBytes),
	}
}

func connectOptions(c config.Config, name string, log *slog.Logger) jobs.ConnectOptions {
	return jobs.ConnectOptions{
		URL: c.NATSURL, Token: c.NATSToken, CredsFile: c.NATSCreds, CAFile: c.NATSCA, CertFile: c.NATSCert, KeyFile: c.NATSKey,
		Name: name, Log: log,
	}
}

func (s *Service) openNATS(ctx context.Context) error {
	connect := connectOptions(s.config, "sluice-api", s.log)
	if s.config.NATSURL == "" {
		server, err := natsd.Start(ctx, natsd.Options{
			Dir: s.dir.join(natsDir), Listen: s.config.NATSListen, Token: s.config.NATSToken, Log: s.log,
		})
		if err != nil {
			return err
		}
		s.closeLater(func() error {
			ctx, cancel := context.WithTimeout(context.Background(), s.config.ShutdownGrace)
			defer cancel()
			return server.Shutdown(ctx)
		})
		connect.InProcess = server
	}
	highest, err := s.catalog.MaxGeneration(ctx)
	if err != nil {
		return fmt.Errorf("reading the highest generation: %w", err)
	}
	if s.conn, err = jobs.Connect(ctx, connect); err != nil {
		return err
	}
	s.closeLater(func() error { s.conn.Close(); return nil })
	id, err := s.catalog.ID(ctx)
	if err != nil {
		return err
	}
	s.broker, err = jobs.Open(ctx, s.conn, jobs.Options{
		HighestGeneration: highest, Catalog: id, Replicas: s.config.NATSReplicas, Now: s.now, Log: s.log,
	})
	if err != nil {
		return err
	}
	if err := s.agree(ctx); err != nil {
		return err
	}
	s.metrics.MustRegister(newBacklogs(s.broker, s.log))
	s.originals, err = originals.Open(ctx, s.conn.JetStream(), originals.Options{Replicas: s.config.NATSReplicas, Now: s.now})
	return err
}

func (s *Service) openIndexes(ctx context.Context) (err error) {
	if s.config.HasEmbeddedIndex() {
		if err := s.openEmbedded(ctx); err != nil {
			return err
		}
	}
	if s.config.MilvusAddr == "" {
		return nil
	}
	if s.engines.milvus, err = openMilvus(s.config, s.log); err != nil {
		return err
	}
	s.closeLater(s.engines.milvus.Close)
	return nil
}

// openEmbedded opens the index in the data directory, which is this process's alone: others that share the catalog would
// look for the same rows elsewhere.
func (s *Service) openEmbedded(ctx context.Context) error {
	release, err := s.catalog.Hold(ctx, "embedded index")
	if err != nil {
		return fmt.Errorf("opening the embedded index, which one api process at a time can have (SLUICE_EMBEDDED_INDEX=false for the others): %w", err)
	}
	s.closeLater(func() error { release(); return nil })
	if _, err := os.Stat(s.dir.join(indexDir)); errors.Is(err, fs.ErrNotExist) {
		s.raise() // the first start, or all of it is lost: what the catalog has is then built anew
	}
	if s.engines.embedded, err = embedded.Open(s.dir.join(indexDir), embedded.Options{Log: s.log, Alarm: s.raise}); err != nil {
		return err
	}
	s.closeLater(s.engines.embedded.Close)
	return nil
}

// raise has an audit run soon: the embedded index has found itself damaged.
func (s *Service) raise() { fire(s.alarm) }

// reschedule has the schedules compared with the catalog soon.
func (s *Service) reschedule() { fire(s.scheduled) }

func fire(signal chan struct{}) {
	select {
	case signal <- struct{}{}:
	default: // it is raised already
	}
}

func (s *Service) firstKey(ctx context.Context) error {
	return firstKey(ctx, s.catalog, s.config.APIKey, s.dir.join(keyFile), s.now(), s.out)
}

// startControl starts the loops by which the catalog drives the pipeline.
func (s *Service) startControl(ctx context.Context) error {
	s.hub = control.NewHub()
	tell := announcer{hub: s.hub, broker: s.broker}
	applier := control.Applier{Events: s.broker, States: s.catalog, Hub: tell, Log: s.log}
	dispatcher := control.Dispatcher{Outbox: s.catalog, Jobs: s.broker, Window: s.config.Window, Hub: tell, Log: s.log, Now: s.now}
	sweeper := control.Sweeper{
		Sweeps: s.catalog, Stores: s.catalog, Engines: controlled{s.engines}, Originals: s.originals, JobLog: s.broker, Log: s.log, Now: s.now,
		Retention: s.config.ConversationRetention,
	}
	mover := control.Mover{Catalog: s.catalog, Log: s.log, Now: s.now}
	s.rescuer = &control.Rescuer{Waiting: s.catalog, Stream: s.broker, Log: s.log, Now: s.now}
	s.auditor = &control.Auditor{
		Catalog: s.catalog, Engines: controlled{s.engines}, Originals: s.originals, JobLog: s.broker, Every: s.config.AuditEvery, Alarm: s.alarm,
		Holder: s.holder, Log: s.log, Now: s.now,
	}
	sites := control.SiteKeeper{Sites: s.catalog, Hub: tell, Log: s.log}
	scheduler := &control.Scheduler{Catalog: s.catalog, Schedules: s.broker, Wake: s.scheduled, Hub: tell, Log: s.log}
	keeper := &control.Keeper{Streams: s.broker, Originals: s.originals, Marks: s.catalog, Rescuer: s.rescuer, Log: s.log}
	repairer := control.Repairer{Requests: s.catalog, Keeper: keeper, Auditor: s.auditor, Scheduler: scheduler, Log: s.log}
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	s.control = newGroup(ctx, s.failed)
	s.control.run("applying events", applier.Run)
	s.control.run("hearing of changes", tell.listen)
	if s.config.DatabaseURL != "" {
		s.control.run("agreeing on the NATS servers", s.keepAgreeing)
	}
	s.control.loop(dispatcher.Run)
	s.control.loop(sweeper.Run)
	s.control.loop(mover.Run)
	s.control.loop(sites.Run)
	s.control.loop(scheduler.Run)
	s.control.loop(keeper.Run)
	s.control.loop(s.rescuer.Run)
	s.control.loop(s.auditor.Run)
	s.control.loop(repairer.Run)
	s.control.loop(s.prune)
	s.control.loop(func(ctx context.Context) { s.engines.tell(ctx, s.log) })
	s.control.loop(returnIdleMemory)
	s.closeLater(func() error { s.control.stop(); return nil })
	return nil
}

// catchUp brings job log and catalog together before anything new is published: a log that has lost its jobs gets them
// again, and a catalog that is older than the log, restored from a copy, takes over what was accepted since.
func (s *Service) catchUp(ctx context.Context) error {
	if s.broker.Reset() {
		if _, err := s.rescuer.Rescue(ctx, 0); err != nil {
			return fmt.Errorf("issuing the jobs of a lost stream anew: %w", err)
		}
		return nil
	}
	known, err := s.catalog.MaxGeneration(ctx)
	if err != nil {
		return fmt.Errorf("reading the highest generation: %w", err)
	}
	var report control.Report
	err = s.auditor.Adopt(ctx, known+1, &report, func(format string, args ...any) {
		s.log.Warn("the catalog was older than the job log", "taken_over", fmt.Sprintf(format, args...))
	})
	if err != nil {
		return fmt.Errorf("bringing the catalog up to the job log: %w", err)
	}
	if report.Adopted == 0 {
		return nil
	}
	// Jobs that were under way when the copy was made have ended since, and their events are applied and gone.
	s.rescuer.Suspect(s.now())
	if _, err := s.rescuer.Rescue(ctx, 0); err != nil {
		return fmt.Errorf("issuing jobs anew that an older catalog takes for unfinished: %w", err)
	}
	return nil
}

// prune removes what uploads that were cut short have left in the store of originals, now and from time to time.
func (s *Service) prune(ctx context.Context) {
	tick := time.NewTicker(s.config.AuditEvery)
	defer tick.Stop()
	for {
		held, err := s.catalog.Lease(ctx, "prune", s.holder, s.config.AuditEvery/2)
		if held {
			_, err = s.originals.Prune(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("removing what interrupted uploads have left", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *Service) serve(ctx context.Context) error {
	handler, err := s.handler()
	if err != nil {
		return err
	}
	base, closing := context.WithCancel(context.WithoutCancel(ctx))
	s.closing = closing
	s.server = &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	served := newGroup(ctx, s.failed)
	served.run("serving HTTP", func(context.Context) error {
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	s.closeLater(func() error {
		defer served.stop()
		return s.stopServing()
	})
	return nil
}

// stopServing lets running requests end within the grace, then cuts them off.
func (s *Service) stopServing() error {
	defer s.closing()
	s.hub.Close() // streams of progress never end by themselves
	ctx, cancel := context.WithTimeout(context.Background(), s.config.ShutdownGrace)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.server.Close()
	}
	return err
}

func (s *Service) handler() (http.Handler, error) {
	deps := retrieve.Deps{Indexes: searchers{s.engines}, Embedders: s.embedders, Catalog: s.catalog}
	if s.reranker != nil {
		deps.Reranker = s.reranker
	}
	finder := retrieve.New(deps, retrieve.Options{})
	_, compose := s.models.(chatModels)
	answerer := answer.New(answer.Deps{
		Retriever: finder, Datastores: s.catalog, Conversations: s.catalog, Models: s.models, Now: s.now, NewID: domain.NewID, Log: s.log,
	}, answer.Options{Timeout: s.config.ChatTimeout, Fragments: s.config.ChatFragments, ContextTokens: s.config.ChatContext, Rewrite: compose})
	return api.New(api.Options{
		MaxUploadBytes: int64(s.config.LimitUpload),
		MaxJSONBytes:   int64(s.config.LimitJSON),
		MaxDocuments:   s.config.LimitDocuments,
		MaxPages:       s.config.LimitPages,
		MaxQueryChars:  s.config.LimitQuery,
		RatePerSecond:  s.config.LimitRate,
		MCPHosts:       s.config.MCPHosts,
		Version:        Version(),
		TempDir:        s.dir.join(tempDir),
		Engines:        s.engines.names(),

		VisitorPerMinute: s.config.LimitVisitor,
		EmbeddingModels:  s.embedders.ids(),
	}, api.Deps{
		Catalog:        s.catalog,
		Originals:      uploads{store: s.originals, max: int64(max(s.config.LimitUpload, s.config.LimitJSON))},
		Chunks:         chunkReader{catalog: s.catalog, engines: s.engines},
		Retriever:      fragments{finder},
		Answerer:       answers{answerer},
		Watcher:        s.hub,
		Scheduled:      s.reschedule,
		DetectType:     extract.DetectType,
		SupportedTypes: extract.SupportedTypes(),
		Checks: append([]api.Check{
			{Name: "catalog", Ready: s.catalog.Ready},
			{Name: "nats", Ready: s.broker.Ready},
		}, s.engines.checks()...),
		Metrics: s.metrics,
		Log:     s.log,
		Now:     s.now,
	})
}

// startWorkers runs in this process what works on jobs: ingestor and crawler, the same that the processes of these names
// run, unless it is left to those, and always the ingestor of what goes into the embedded index.
func (s *Service) startWorkers(ctx context.Context) error {
	s.workers = newGroup(ctx, s.failed)
	remote := s.config.NATSURL != "" || s.config.NATSListen != ""
	var lanes []domain.Lane
	if s.engines.embedded != nil {
		lanes = append(lanes, domain.LaneLocal)
	}
	if s.config.Workers && s.engines.milvus != nil {
		lanes = append(lanes, domain.LaneIngest)
	}
	if len(lanes) > 0 {
		reader := newExtractor(s.config, s.dir.join(cacheDir), s.dir.join(tempDir), s.log)
		s.closeLater(reader.Close)
		ingestor := ingestWorker(s.config, s.originals, s.broker, reader, s.embedders, s.engines, s.now, s.log)
		for _, lane := range lanes {
			s.workers.run("ingesting", func(ctx context.Context) error {
				return s.broker.Work(ctx, lane, workerOptions(s.config, lane, remote, s.jobs), ingestor.Handle)
			})
		}
	}
	if s.config.Workers {
		site, err := openWeb(s.config, s.broker, s.dir.join(tempDir), s.log)
		if err != nil {
			return err
		}
		s.closeLater(site.Close)
		crawler := crawlWorker(s.config, s.originals, s.broker, site, s.now)
		s.workers.run("crawling", func(ctx context.Context) error {
			return s.broker.Work(ctx, domain.LaneCrawl, workerOptions(s.config, domain.LaneCrawl, remote, s.jobs), crawler.Handle)
		})
	}
	s.closeLater(func() error { s.workers.stop(); return nil })
	return nil
}

// Stop ends the service: it takes no more, finishes or hands back what is under way, and closes everything in reverse
// order of opening. It may be called twice.
func (s *Service) Stop() error {
	err := closeAll(s.closers)
	s.closers = nil
	return err
}
