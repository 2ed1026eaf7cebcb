package app

import (
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/crawl"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/ingest"
	"github.com/sluice/sluice/pkg/originals"
)

// newExtractor reads documents; cacheDir "" takes the user's cache directory.
func newExtractor(c config.Config, cacheDir, temp string, log *slog.Logger) *extract.Extractor {
	return extract.New(extract.Options{
		Concurrency: c.IngestConcurrency, MaxMemory: int64(c.ExtractMemory), Timeout: c.ExtractTimeout, CacheDir: cacheDir, TempDir: temp,
		Log: log,
	})
}

func newWeb(c config.Config, temp string, log *slog.Logger) *crawl.Crawler {
	return crawl.New(crawl.Options{
		UserAgent: c.UserAgent, AllowPrivate: c.AllowPrivate, MaxBody: int64(c.LimitPageBytes), MaxPages: c.LimitPages,
		PerHostDelay: c.CrawlDelay, TempDir: temp, Log: log,
	})
}

func ingestWorker(c config.Config, store *originals.Store, events ingest.Events, reader *extract.Extractor, models *embedders, in *engines, now func() time.Time, log *slog.Logger) *ingest.Ingestor {
	return &ingest.Ingestor{
		Originals: store, Extractor: reader, Chunker: chunk.New(chunk.Options{MaxChunks: c.LimitChunks}),
		Embedders: models, Indexes: writers{in}, Events: events, Now: now, Log: log,
	}
}

func crawlWorker(store *originals.Store, events ingest.Events, web *crawl.Crawler, now func() time.Time) *ingest.Crawler {
	return &ingest.Crawler{Web: web, Originals: store, Events: events, Now: now}
}
