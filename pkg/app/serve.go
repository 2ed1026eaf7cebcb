package app

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/admission"
	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/api/openai/responses"
	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/locate"
	"github.com/sluice/sluice/pkg/originals"
	"github.com/sluice/sluice/pkg/retrieve"
	"github.com/sluice/sluice/pkg/searchsettings"
	"github.com/sluice/sluice/pkg/telemetry"
	"github.com/sluice/sluice/pkg/telemetry/instrument"
)

func (s *Service) serve(ctx context.Context) error {
	handler, err := s.handler()
	if err != nil {
		return err
	}
	access, err := s.writeAccess()
	if err != nil {
		return err
	}
	s.backups.audit = s.auditLog
	handler = s.backups.handler(newOperator(s.config.AdminKey, access), handler)
	base, closing := context.WithCancel(context.WithoutCancel(ctx))
	s.closing = closing
	s.server = &http.Server{
		Handler:           guardHost(s.listener, s.config.Hosts, withProfiles(s.config.AdminKey, handler)),
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
	s.deferClose(func() error {
		defer served.stop()
		return s.stopServing()
	})
	return nil
}

// writeAccess writes the file that gives local commands operator access to the running service. It returns the key in
// that file.
func (s *Service) writeAccess() (string, error) {
	path := s.dir.Join(datadir.Operator)
	c := s.config
	c.Addr = s.Addr()
	address, err := cli.AddressOf(c)
	if err != nil {
		return "", err
	}
	key, err := datadir.WriteAccess(path, address)
	if err != nil {
		return "", err
	}
	s.deferClose(func() error {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
	return key, nil
}

// stopServing gives running requests the grace period to finish, then cancels them.
func (s *Service) stopServing() error {
	defer s.closing()
	s.hub.Close()    // progress streams never end on their own
	s.backups.stop() // a backup may take a long time
	ctx, cancel := context.WithTimeout(context.Background(), s.config.ShutdownGrace)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return s.server.Close()
	}
	return err
}

// Limits on the child processes that locate passages on PDF pages. They are started when rectangles are requested and
// exit when idle. Most files need less than 100 MB; a file that exceeds the limit gets no rectangles.
const (
	locatorChildren = 2
	locatorMemory   = 1 << 30 // address space, in bytes
	locatorQueue    = 64      // maximum number of queued files
)

func (s *Service) handler() (http.Handler, error) {
	deps := retrieve.Deps{Indexes: searchers{s.engines}, Embedders: instrument.QueryEmbedders(s.embedders), Catalog: s.catalog, Permits: searchPermits{s.admission.searches}}
	deps.Settings = searchsettings.NewCache(s.catalog.SearchSettingsOf)
	if s.reranker != nil {
		deps.Reranker = s.reranker
	}
	finder := retrieve.New(deps, retrieve.Options{RerankBudget: rerankBudget(s.config)})
	models, compose := s.models, false
	if chat, is := s.models.(chatModels); is {
		models, compose = instrument.ChatModels(chat), true
	}
	answerer := answer.New(answer.Deps{
		Retriever: s.recording(finder), Datastores: s.catalog, Conversations: s.catalog, Models: models, Now: s.now, NewID: domain.NewID, Log: s.log,
	}, answer.Options{
		Timeout: s.config.ChatTimeout, Fragments: s.config.ChatFragments, ContextTokens: s.config.ChatContext,
		HistoryTokens: cmp.Or(s.config.ChatHistory, -1), Composes: compose,
	})
	pages := extract.New(extract.Options{
		Concurrency: locatorChildren, MaxMemory: min(int64(s.config.ExtractMemory), locatorMemory), Timeout: locate.DefaultTimeout,
		CacheDir: s.dir.Join(datadir.Cache), TempDir: s.dir.Join(datadir.Temp), Tesseract: s.config.Tesseract, Recognisers: recognisers(s.config), Log: s.log,
	})
	s.deferClose(pages.Close)
	var sites api.Planner
	if s.crawler != nil {
		sites = s.crawler
	}
	file, err := openAudit(s.config.AuditFile, s.log)
	if err != nil {
		return nil, err
	}
	if file != nil {
		s.deferClose(file.Close)
		s.auditLog = slog.New(telemetry.RedactingHandler(slog.NewJSONHandler(file, nil), s.options.Secrets))
	}
	drawer := newDrawer(s.dir.Join(datadir.Cache), s.dir.Join(datadir.Temp), s.log)
	s.deferClose(drawer.Close)
	files := newConverter(s.config, s.dir.Join(datadir.Cache), s.dir.Join(datadir.Temp), s.log)
	s.deferClose(files.Close)
	runner := responses.NewRunner(s.holder)
	s.deferClose(runner.Close)
	parts := api.Deps{
		Agents:        s.catalog,
		Datastores:    s.catalog,
		Datasources:   s.catalog,
		Documents:     s.catalog,
		Jobs:          s.catalog,
		Sites:         s.catalog,
		Conversations: s.catalog,
		Keys:          s.catalog,
		KeyFinder:     s.catalog,
		Usage:         s.catalog,
		Accounts:      s.catalog,
		Claims:        s.catalog,
		Responses:     s.catalog,
		Files:         s.catalog,
		Originals:     originals.Uploads{Store: s.originals, MaxBytes: int64(max(s.config.LimitUpload, s.config.LimitJSON))},
		Drawer:        drawer,
		Converter:     files,
		Chunks:        retrieve.ChunkReader{Catalog: s.catalog, Index: s.engines.index},
		Retriever:     s.recording(s.stages.Retriever(finder)),
		Embedders:     s.embedders,
		Reranker:      deps.Reranker,
		Locator: &locate.Locator{
			Catalog: s.catalog, Originals: s.originals, Extractor: pages, Languages: s.config.OCRLanguages, Log: s.log,
			Slots: admission.New(admission.Options{Limit: locatorChildren, Spare: 1, Waiting: locatorQueue}),
		},
		Answerer:   s.stages.Answerer(answerer),
		Runner:     runner,
		ChatModels: s.chatModelNames(),
		Watcher:    s.hub,

		SearchSettings: s.catalog,

		Scheduled:  s.reschedule,
		Planner:    sites,
		DetectType: extract.DetectType,
		Formats:    extract.Formats(),
		Checks: recorded(s.metrics, append([]api.Check{
			{Name: "catalog", Ready: s.catalog.Ready},
			{Name: "nats", Ready: s.natsReady},
			{Name: "disk", Ready: newDisk(s.dir.Join(datadir.Temp)).ready},
		}, slices.Concat(s.engines.checks(), modelChecks(s.config), natsSyncChecks(s.config), s.checks)...)),
		Secrets: s.options.Secrets,
		Traces:  s.options.Traces,
		Audit:   s.auditLog,
		Metrics: s.metrics,
		Log:     s.log,
		Now:     s.now,
	}
	if s.sealer != nil {
		parts.Sealer = s.sealer
	}
	if s.options.hooks.api != nil {
		s.options.hooks.api(&parts)
	}
	return api.New(api.Options{
		MaxUploadBytes: int64(s.config.LimitUpload),
		MaxJSONBytes:   int64(s.config.LimitJSON),
		MaxDocuments:   s.config.LimitDocuments,
		MaxPages:       s.config.LimitPages,
		MaxQueryChars:  s.config.LimitQuery,
		RatePerSecond:  s.config.LimitRate,
		MCPHosts:       s.config.Hosts,
		CORSOrigins:    s.config.CORSOrigins,
		Version:        Version(),
		TempDir:        s.dir.Join(datadir.Temp),
		Engines:        s.engines.names(),
		Admission:      s.admission.options(s.config, &storageCheck{catalog: s.catalog, dir: s.dir.Path(), jobs: int64(s.config.LimitWaiting), disk: int64(s.config.LimitDisk), log: s.log}),

		VisitorPerMinute: s.config.LimitVisitor,
		VisitorMaxTokens: s.config.ChatMaxTokens,
		EmbeddingModels:  s.embedders.ids(),
	}, parts)
}

// natsReady returns an error if the job stream doesn't respond or this process's NATS server can't store messages.
func (s *Service) natsReady(ctx context.Context) error {
	if s.nats != nil {
		if err := s.nats.Ready(); err != nil {
			return err
		}
	}
	return s.broker.Ready(ctx)
}

// quotas returns the configured limits, which apply to every workspace.
func quotas(c config.Config) domain.Limits {
	return domain.Limits{
		domain.MetricQueries: c.QuotaQueries, domain.MetricTokens: c.QuotaTokens,
		domain.MetricStoredChunks: c.QuotaChunks, domain.MetricStoredBytes: int64(c.QuotaBytes),
	}
}
