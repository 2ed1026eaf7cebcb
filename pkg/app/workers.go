package app

import (
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/config"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/ingest"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/originals"
	"github.com/sluice/sluice/pkg/processors"
	"github.com/sluice/sluice/pkg/seal"
	"github.com/sluice/sluice/pkg/telemetry/instrument"
)

// newExtractor reads documents; cacheDir "" takes the user's cache directory.
func newExtractor(c config.Config, cacheDir, temp string, log *slog.Logger) *extract.Extractor {
	return extract.New(extract.Options{
		Concurrency: readers(c), MaxMemory: int64(c.ExtractMemory), Timeout: c.ExtractTimeout, CacheDir: cacheDir, TempDir: temp,
		Log: log,
	})
}

// readers is how many documents are read at once. Readers do nothing but compute, so that more of them than processors would
// only take turns; but one long document is not to hold up all others.
func readers(c config.Config) int { return min(c.IngestConcurrency, max(2, processors.Count())) }

// newReader returns what the command that shows a file as it is read works with.
func newReader(c config.Config) (*extract.Extractor, *chunk.Chunker) {
	return newExtractor(c, "", "", slog.New(slog.DiscardHandler)), newChunker(c)
}

// chunkers is the ingestor's view of the chunker.
type chunkers struct{ sized *chunk.Chunker }

func (c chunkers) Chunker(sizes domain.Chunking) ingest.Chunker { return c.sized.Sized(sizes) }

func newChunker(c config.Config) *chunk.Chunker {
	return chunk.New(chunk.Options{MaxChunks: c.LimitChunks})
}

func ingestWorker(c config.Config, o Options, store *originals.Store, events ingest.Events, reader *extract.Extractor, models *embedders, in *engines, times *instrument.Stages, now func() time.Time) *ingest.Ingestor {
	var indexes ingest.Indexes = writers{in}
	if o.hooks.indexes != nil {
		indexes = o.hooks.indexes(indexes)
	}
	return &ingest.Ingestor{
		Originals: store, Extractor: reader, Chunkers: chunkers{sized: newChunker(c)},
		Embedders: models, Indexes: indexes, Recent: ingest.NewRecent(int(cacheMemoryOf(c).vectors)), Room: ingest.NewRoom(readers(c), c.IngestConcurrency),
		Events: times.Events(events), Measure: times.Begin, Now: now, Log: o.Log,
	}
}

func crawlWorker(c config.Config, store *originals.Store, events ingest.Events, site ingest.Web, keys *seal.Sealer, times *instrument.Stages, now func() time.Time) *ingest.Crawler {
	w := &ingest.Crawler{Web: site, Originals: store, Events: events, Measure: times.Begin, Now: now, MaxTries: c.CrawlTries}
	if keys != nil {
		w.Access = keys.Open
	}
	return w
}

// Bounds of the work on jobs.
const (
	// workerGrace is how long a stopping worker finishes jobs before it hands them back. Handing back costs nothing but the
	// work done so far, and is to be done within a second of the stop.
	workerGrace = 500 * time.Millisecond

	// crawlFailures is how often a page is tried: for some nine minutes. Who has added it waits to see it; content that was
	// there before stays.
	crawlFailures = 10

	// localAckWait is how long the jobs of a killed process wait before they run again where workers and server share one
	// process: silence means that the process is gone, not that a network is slow.
	localAckWait = 5 * time.Second
	// remoteAckWait is the same across a network: long enough for an election among the NATS servers.
	remoteAckWait = 30 * time.Second

	// maxCrashes is how often a job may be running when its process dies. It is generous because every running job shares
	// the process's fate: a power cut or an operator's kill -9 says nothing about the document. Documents that would take
	// the process with them are read in child processes, and fail there.
	maxCrashes = 10
)

// workerOptions are the same in every process that works on the lane: the last one that starts decides for all. remote says
// that the NATS servers are not within the api process.
func workerOptions(c config.Config, lane domain.Lane, remote bool, m *instrument.JobMetrics) jobs.WorkerOptions {
	o := jobs.WorkerOptions{
		Concurrency: c.IngestConcurrency, AckWait: localAckWait, MaxAckPending: 2 * c.Window, MaxCrashes: maxCrashes, Grace: workerGrace,
		Observe: m.Observe,
	}
	switch {
	case lane == domain.LaneCrawl:
		o.Concurrency, o.MaxFailures = c.CrawlConcurrency, crawlFailures
	case lane == domain.LaneLocal && c.IngestConcurrency > 1:
		// The ingestor has room for so many as long as they are short. Half of the window stays for what comes in between. Where
		// there are other ingestors, jobs that wait for room here would keep them idle.
		o.Concurrency = max(c.IngestConcurrency, min(ingest.ShortDocuments*c.IngestConcurrency, c.Window/2))
	}
	if remote && lane != domain.LaneLocal {
		o.AckWait = remoteAckWait
	}
	return o
}
