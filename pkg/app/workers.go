package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/ingest"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/originals"
)

func ingestWorker(c config.Config, store *originals.Store, events ingest.Events, reader *extract.Extractor, e *embedders, idx index.Index, now func() time.Time) *ingest.Ingestor {
	return &ingest.Ingestor{
		Originals: store, Extractor: reader, Chunker: chunk.New(chunk.Options{MaxChunks: c.LimitChunks}),
		Embedders: e, Index: idx, Events: events, Now: now,
	}
}

func crawlWorker(store *originals.Store, events ingest.Events, web *crawl.Crawler, now func() time.Time) *ingest.Crawler {
	return &ingest.Crawler{Web: web, Originals: store, Events: events, Now: now}
}

// CrawlWorker is a crawler process: it needs NATS and nothing else.
type CrawlWorker struct {
	config  config.Config
	log     *slog.Logger
	conn    *jobs.Conn
	web     *crawl.Crawler
	workers *group
	failed  chan error
}

// NewCrawlWorker makes a crawler process, to be started once.
func NewCrawlWorker(c config.Config, log *slog.Logger) *CrawlWorker {
	return &CrawlWorker{config: c, log: log, failed: make(chan error, 1)}
}

// attachTimeout is how long a worker waits for the streams, which the api process makes.
const attachTimeout = time.Minute

// Start connects to NATS and begins to work. After an error, Stop closes what was opened.
func (w *CrawlWorker) Start(ctx context.Context) (err error) {
	if w.config.NATSURL == "" {
		return errors.New("a crawler process needs NATS_URL: the address of the NATS servers, or of an api process with SLUICE_NATS_LISTEN")
	}
	attach, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	w.conn, err = jobs.Connect(attach, jobs.ConnectOptions{URL: w.config.NATSURL, Token: w.config.NATSToken, Name: "sluice-crawler", Log: w.log})
	if err != nil {
		return err
	}
	now := func() time.Time { return time.Now().UTC() }
	broker, err := jobs.Attach(attach, w.conn, jobs.Options{Now: now, Log: w.log})
	if err != nil {
		return err
	}
	store, err := originals.Attach(attach, w.conn.JetStream(), originals.Options{Now: now})
	if err != nil {
		return err
	}
	w.web = newWeb(w.config, os.TempDir(), w.log)
	handler := crawlWorker(store, broker, w.web, now)
	w.workers = newGroup(ctx, w.failed)
	w.workers.run("crawling", func(ctx context.Context) error {
		return broker.Work(ctx, domain.JobCrawl, jobs.WorkerOptions{
			Concurrency: w.config.CrawlConcurrency, MaxAckPending: 2 * w.config.Window, MaxFailures: crawlFailures, Grace: workerGrace,
		}, handler.Handle)
	})
	w.log.Info("ready")
	return nil
}

// Failed receives the error of a part that could not go on.
func (w *CrawlWorker) Failed() <-chan error { return w.failed }

// Stop hands back what is under way and closes everything. It may be called twice.
func (w *CrawlWorker) Stop() error {
	if w.workers != nil {
		w.workers.stop()
	}
	if w.web != nil {
		w.web.Close()
	}
	if w.conn != nil {
		w.conn.Close()
	}
	return nil
}
