package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/catalog/maintenance"
	"github.com/sluice/sluice/pkg/cli"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/datadir"
	"github.com/sluice/sluice/pkg/index/embedded"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/jobs/natsd"
	"github.com/sluice/sluice/pkg/originals"
	"github.com/sluice/sluice/pkg/seal"
	"github.com/sluice/sluice/pkg/telemetry/instrument"
)

func (s *Service) openModels(context.Context) (err error) {
	if s.embedders, err = openEmbedders(s.config, s.log); err != nil {
		return err
	}
	model, err := openReranker(s.config, s.now, s.log)
	if err != nil {
		return err
	}
	if model != nil {
		s.reranker = instrument.NewReranker(model, s.metrics, s.log)
		s.deferClose(func() error { s.reranker.Close(); return nil })
	}
	s.models, err = openChatModels(s.config, s.embedders.builtin)
	return err
}

func (s *Service) openDir(context.Context) (err error) {
	if s.dir, err = datadir.Open(s.config.DataDir); err != nil {
		return err
	}
	s.deferClose(s.dir.Close)
	if _, err := os.Stat(s.dir.Join(datadir.Restoring)); err == nil {
		return fmt.Errorf("data directory %s contains files from an interrupted restore: empty it and restore again (sluice restore FILE --data DIR)", s.dir.Path())
	}
	// Remove any unfinished uploads that a killed process left behind.
	if err := os.RemoveAll(s.dir.Join(datadir.Temp)); err != nil {
		return fmt.Errorf("clearing the temporary directory: %w", err)
	}
	if err := os.MkdirAll(s.dir.Join(datadir.Temp), 0o700); err != nil {
		return fmt.Errorf("creating the temporary directory: %w", err)
	}
	return nil
}

// listen opens the port early, so that a conflict is reported before anything is written.
func (s *Service) listen(ctx context.Context) (err error) {
	addr := cmp.Or(s.config.Addr, cli.DefaultAddr)
	if s.listener, err = listen(ctx, addr); err != nil {
		return err
	}
	s.deferClose(func() error { s.listener.Close(); return nil })
	return nil
}

func listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("another program already listens on %s: stop it, or set SLUICE_ADDR or --addr to a free address (port 0 takes any free port)", addr)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("no permission to listen on %s: set SLUICE_ADDR or --addr to a port above 1023: %w", addr, err)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("%s is not an address of this machine: set SLUICE_ADDR or --addr to one of its addresses, or to 0.0.0.0 to listen on all of them: %w", addr, err)
	case err != nil:
		return nil, fmt.Errorf("listening on %s (SLUICE_ADDR): %w", addr, err)
	}
	return listener, nil
}

// How long a starting process waits for PostgreSQL and for NATS.
const databaseTimeout = time.Minute

func (s *Service) openCatalog(ctx context.Context) (err error) {
	o := catalog.Options{Log: s.log, Now: s.now, GuardedNow: s.guardedNow, MaxPagesPerSite: s.config.LimitPages, URL: s.config.DatabaseURL, Limits: quotas(s.config)}
	o.StartTimeout = databaseTimeout
	if o.URL == "" {
		o.Path, o.CacheBytes = s.dir.Join(datadir.Catalog), cacheMemoryOf(s.config).catalog
		if err := s.checkCatalog(ctx, o.Path); err != nil {
			return damagedCatalog(err, s.dir.Path())
		}
	}
	if s.catalog, err = catalog.Open(ctx, o); err != nil {
		return damagedCatalog(err, s.dir.Path())
	}
	s.deferClose(s.catalog.Close)
	return s.catalog.FailUnfinished(ctx)
}

// Catalogs up to this many bytes are checked before the service starts. That takes less than a second.
const maxStartupCheck = 256 << 20

// checkCatalog checks the catalog's file for damage. Large files are checked in the background, because that takes a
// long time.
func (s *Service) checkCatalog(ctx context.Context, path string) error {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("checking the catalog: %w", err)
	case info.Size() == 0 && exists(s.dir.Join(datadir.NATS)): // without a job log, an empty file is left over from an interrupted first start
		return fmt.Errorf("opening the catalog %s: %w: the file is empty, but there is a job log", path, catalog.ErrDamaged)
	case info.Size() <= maxStartupCheck:
		return maintenance.CheckFile(ctx, path)
	}
	checking := newGroup(ctx, s.failed)
	checking.run("checking the catalog", func(ctx context.Context) error {
		if err := maintenance.CheckFile(ctx, path); errors.Is(err, catalog.ErrDamaged) {
			return damagedCatalog(err, s.dir.Path())
		} else if err != nil && ctx.Err() == nil {
			s.log.Warn("the catalog could not be checked for damage", "error", err)
		}
		return nil
	})
	s.deferClose(func() error { checking.stop(); return nil })
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// damagedCatalog adds recovery instructions to the error for a damaged catalog.
func damagedCatalog(err error, dir string) error {
	if !errors.Is(err, catalog.ErrDamaged) {
		return err
	}
	return fmt.Errorf("%w\nnothing was changed. Restore a backup into an empty directory: sluice restore FILE --data DIR. Without a backup, move "+
		"catalog.db, catalog.db-wal and catalog.db-shm out of %s and restart: documents are recovered from the job log and the originals, "+
		"but agents, keys and conversations are lost (docs/backup.md)", err, dir)
}

func (s *Service) openNATS(ctx context.Context) error {
	connect := connectOptions(s.config, "sluice-api", s.log)
	if s.config.NATSURL == "" {
		server, err := natsd.Start(ctx, natsd.Options{
			Dir: s.dir.Join(datadir.NATS), Listen: s.config.NATSListen, Token: s.config.NATSToken, Log: s.log,
		})
		if err != nil {
			return err
		}
		s.deferClose(func() error {
			ctx, cancel := context.WithTimeout(context.Background(), s.config.ShutdownGrace)
			defer cancel()
			return server.Shutdown(ctx)
		})
		s.nats, connect.InProcess = server, server
	}
	highest, err := s.catalog.MaxGeneration(ctx)
	if err != nil {
		return fmt.Errorf("reading the highest generation: %w", err)
	}
	if s.conn, err = jobs.Connect(ctx, connect); err != nil {
		return err
	}
	s.deferClose(func() error { s.conn.Close(); return nil })
	s.warnOfUnsyncedNATS(ctx)
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
	if err := s.leaseNATS(ctx); err != nil {
		return err
	}
	s.metrics.MustRegister(instrument.NewBacklogs(s.broker, s.catalog, s.now, s.log))
	o := originals.Options{Replicas: s.config.NATSReplicas, Now: s.guardedNow}
	if s.config.HasEmbeddedIndex() { // this process then also reads most of the uploaded files
		o.CacheBytes = int(cacheMemoryOf(s.config).originals)
	}
	if s.nats != nil {
		o.Broken = s.nats.Broken
	}
	s.originals, err = originals.Open(ctx, s.conn.JetStream(), o)
	return err
}

func connectOptions(c config.Config, name string, log *slog.Logger) jobs.ConnectOptions {
	return jobs.ConnectOptions{
		URL: c.NATSURL, Token: c.NATSToken, CredsFile: c.NATSCreds, CAFile: c.NATSCA, CertFile: c.NATSCert, KeyFile: c.NATSKey,
		Name: name, Log: log,
	}
}

func (s *Service) openIndexes(ctx context.Context) error {
	if s.config.HasEmbeddedIndex() {
		if err := s.openEmbedded(ctx); err != nil {
			return err
		}
	}
	s.deferClose(s.engines.closeRemote)
	if err := s.engines.openRemote(s.config, s.log); err != nil {
		return err
	}
	for i := range s.engines.remote {
		r := &s.engines.remote[i]
		r.rebuilding = func(ctx context.Context) string { return r.rebuild.status(ctx, s.catalog.Rebuilding) }
	}
	return nil
}

// openEmbedded opens the index in the data directory. Only one of the processes that share a catalog may have
// an embedded index. Otherwise each process would search only its own index and miss the content in the others.
func (s *Service) openEmbedded(ctx context.Context) error {
	release, err := s.catalog.Hold(ctx, "embedded index")
	if err != nil {
		return fmt.Errorf("opening the embedded index, which only one api process can use (set SLUICE_EMBEDDED_INDEX=false for all others): %w", err)
	}
	s.deferClose(func() error { release(); return nil })
	if _, err := os.Stat(s.dir.Join(datadir.Index)); errors.Is(err, fs.ErrNotExist) {
		s.build() // the data directory is new or restored, or its index was lost
	}
	s.engines.rebuilding = func(ctx context.Context) string { return s.rebuild.status(ctx, s.catalog.Rebuilding) }
	if s.engines.embedded, err = embedded.Open(s.dir.Join(datadir.Index), embedded.Options{
		Log: s.log, Alarm: s.requestAudit, CacheBytes: cacheMemoryOf(s.config).postings, RowCacheBytes: cacheMemoryOf(s.config).rows,
	}); err != nil {
		return err
	}
	s.deferClose(s.engines.embedded.Close)
	return nil
}

func (s *Service) firstKey(ctx context.Context) error {
	return firstKey(ctx, s.catalog, s.config.APIKey, s.dir.Join(datadir.APIKey), consoleAt(s.listener.Addr()), s.now(), s.options.Out)
}

// openSealer opens the configured encryption key. If there is none and everything runs in this process, it uses the key
// in the data directory. Crawlers in other processes would not have that key.
func (s *Service) openSealer(context.Context) (err error) {
	key := s.config.SecretKey
	if key == "" && s.config.NATSURL == "" && s.config.NATSListen == "" {
		if key, err = seal.KeyFile(s.dir.Join(datadir.SecretKey)); err != nil {
			return err
		}
	}
	s.sealer, err = seal.NewSealer(key)
	return err
}
