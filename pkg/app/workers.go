package app

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/api/neighbours"
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

// directText is the maximum size of texts that are read without a child process, in bytes.
const directText = 1 << 20

// newExtractor returns a document extractor. If cacheDir is "", it uses the user's cache directory.
func newExtractor(c config.Config, cacheDir, temp string, log *slog.Logger) *extract.Extractor {
	return extract.New(extract.Options{
		Concurrency: readers(c), Direct: directText, MaxMemory: int64(c.ExtractMemory), Timeout: c.ExtractTimeout, CacheDir: cacheDir, TempDir: temp,
		Tesseract: c.Tesseract, Recognisers: recognisers(c), MaxScans: c.OCRPages, Log: log,
	})
}

// drawer adapts an extractor to the API's interface.
type drawer struct{ *extract.Extractor }

// newDrawer returns an extractor that draws pages for users to look at. It has processes of its own, so that users need
// not wait for documents that are being ingested.
func newDrawer(cacheDir, temp string, log *slog.Logger) drawer {
	return drawer{extract.New(extract.Options{
		Concurrency: drawers, MaxMemory: extract.DrawMemory, Timeout: extract.DrawTimeout, CacheDir: cacheDir, TempDir: temp, Log: log,
	})}
}

// Number of processes that draw pages. The API admits one page of each workspace at a time, so one workspace cannot
// occupy both.
const drawers = 2

// Draw implements api.Drawer.
func (d drawer) Draw(ctx context.Context, content io.Reader, page int) ([]byte, error) {
	return d.Extractor.Draw(ctx, extract.Request{Reader: content}, page)
}

// converter adapts an extractor to the API's interface.
type converter struct{ *extract.Extractor }

// Number of processes that convert files for callers of the API without storing the files. The extractor keeps one of
// these processes free for other workspaces.
const converters = 2

// newConverter returns an extractor for the files that callers of the API want to have converted. It has processes of
// its own, so that the callers need not wait for documents that are being ingested. Each process may use as much memory
// and time as one that ingests.
func newConverter(c config.Config, cacheDir, temp string, log *slog.Logger) converter {
	return converter{extract.New(extract.Options{
		Concurrency: converters, MaxMemory: int64(c.ExtractMemory), Timeout: c.ExtractTimeout, MaxInput: int64(c.LimitUpload), CacheDir: cacheDir, TempDir: temp, Log: log,
	})}
}

// Convert implements neighbours.Converter. It separates the cells of tables with tabs, so that people and models can
// read them.
func (c converter) Convert(ctx context.Context, f neighbours.File) (*domain.Document, error) {
	return c.Extract(ctx, extract.Request{Workspace: f.Workspace, Reader: f.Content, Name: f.Name, Declared: f.Declared, PlainRows: true})
}

// readers returns how many documents are extracted concurrently. Extraction keeps a processor busy, so more than one
// document per processor would gain nothing. At least two are extracted concurrently, so that one long document does
// not block all others. One more is added for workspaces that have no document in extraction.
func readers(c config.Config) int { return min(c.IngestConcurrency, max(2, processors.Count())+1) }

// recognisers returns the maximum number of pages on which text is recognised at the same time. By default, half of the
// processors stay free for other documents and for queries.
func recognisers(c config.Config) int {
	if c.OCRConcurrency > 0 {
		return c.OCRConcurrency
	}
	return max(processors.Count()/2, 1)
}

// scansPerRecogniser is the number of scanned documents that are kept open for each page on which text is being
// recognised. Because it is more than one, workspaces can take turns after each page, even if their documents are long.
const scansPerRecogniser = 2

// newReader returns the extractor and chunker for the command that shows how a file is read.
func newReader(c config.Config) (*extract.Extractor, *chunk.Chunker) {
	return newExtractor(c, "", "", slog.New(slog.DiscardHandler)), newChunker(c)
}

// scanCheck returns a check whose note says whether the text of scanned documents can be read. A process without
// Tesseract is still ready: it reads all other documents. Readiness is public, so only the log has the reason.
func scanCheck(reader *extract.Extractor, log *slog.Logger) api.Check {
	var reported sync.Once
	return api.Check{
		Name:  "ocr",
		Ready: func(context.Context) error { return nil },
		Note: func(context.Context) string {
			r, err := reader.Recognises()
			if err != nil {
				reported.Do(func() { log.Info("scanned documents are not read", "reason", err) })
				return "scanned documents are not read: Tesseract is not installed, does not work or is turned off"
			}
			return "Tesseract " + r.Version + " reads scanned documents (" + strings.Join(r.Languages, ", ") + ")"
		},
	}
}

// chunkers adapts the chunker to the ingestor's interface.
type chunkers struct{ chunker *chunk.Chunker }

func (c chunkers) Chunker(sizes domain.Chunking) ingest.Chunker { return c.chunker.Sized(sizes) }

func newChunker(c config.Config) *chunk.Chunker {
	return chunk.New(chunk.Options{MaxChunks: c.LimitChunks})
}

func ingestWorker(c config.Config, o Options, store *originals.Store, events ingest.Events, reader *extract.Extractor, models *embedders, in *engines, times *instrument.Stages, now func() time.Time) *ingest.Ingestor {
	var indexes ingest.Indexes = writers{in}
	if o.hooks.indexes != nil {
		indexes = o.hooks.indexes(indexes)
	}
	return &ingest.Ingestor{
		Originals: store, Extractor: reader, Chunkers: chunkers{chunker: newChunker(c)},
		Embedders: models, Indexes: indexes, Vectors: ingest.NewVectorCache(int(cacheMemoryOf(c).vectors)), Admission: ingest.NewAdmission(readers(c), c.IngestConcurrency),
		Languages: c.OCRLanguages, Events: times.Events(events), Measure: times.Begin, Now: now, Log: o.Log,
	}
}

// newBackground returns the limit on re-embedding in the background. It allows half of the processors, and lets this
// work wait while `busy` returns true.
func newBackground(busy func() bool) *ingest.Background {
	return ingest.NewBackground(processors.Count()/2, isUpgrade, busy)
}

// scanWorker returns a copy of the ingestor for scanned documents. The copy has a separate limit on documents in
// memory, so that documents that wait for text recognition do not take the places of other documents.
func scanWorker(c config.Config, ingestor *ingest.Ingestor) *ingest.Ingestor {
	scans := *ingestor
	n := scansPerRecogniser * recognisers(c)
	scans.Admission = ingest.NewAdmission(n, n)
	return &scans
}

func crawlWorker(c config.Config, store *originals.Store, events ingest.Events, site ingest.Web, keys *seal.Sealer, times *instrument.Stages, now func() time.Time) *ingest.Crawler {
	w := &ingest.Crawler{Web: site, Originals: store, Events: events, Measure: times.Begin, Now: now, MaxTries: c.CrawlTries}
	if keys != nil {
		w.Access = keys.Open
	}
	return w
}

// Limits for processing jobs.
const (
	// Time that a stopping worker gives its jobs to finish before it returns them to the queue. A returned job loses
	// only the work done so far. All jobs must be returned within a second of the stop.
	workerGrace = 500 * time.Millisecond

	// Maximum number of attempts per page. All attempts together take about nine minutes. This is short because a user is
	// waiting for the result. If all attempts fail, old content stays searchable.
	crawlFailures = 10

	// How long a worker may be silent before its job is delivered again, if the workers and the NATS server share a
	// process. In that case, silence means that the process is gone, not that the network is slow.
	localAckWait = 5 * time.Second
	// Maximum time for a scanned document: enough for 1,000 pages with 40 seconds each.
	maxScanRun = 12 * time.Hour

	// Like localAckWait, but for NATS servers that are reached over a network. It is longer than these servers take to
	// elect a leader.
	remoteAckWait = 30 * time.Second

	// Number of times that the process may die during a job before the job fails. It is large because a power failure
	// or a kill -9 affects all running jobs and says nothing about their documents. A document that crashes its reader
	// kills only a child process.
	maxCrashes = 10
)

// workerOptions returns the options for the workers that process the jobs of a lane. All processes that work on the
// lane must use the same options, because the options of the process that started last apply to all of them. `remote`
// is true if the NATS servers are not in the api process.
func workerOptions(c config.Config, lane domain.Lane, remote bool, m *instrument.JobMetrics) jobs.WorkerOptions {
	o := jobs.WorkerOptions{
		Concurrency: c.IngestConcurrency, AckWait: localAckWait, MaxAckPending: 2 * c.Window, MaxCrashes: maxCrashes, Grace: workerGrace,
		Observe: m.Observe,
	}
	switch {
	case lane == domain.LaneCrawl:
		o.Concurrency, o.MaxFailures = c.CrawlConcurrency, crawlFailures
	case lane.Kind() == domain.JobScan:
		o.Concurrency, o.MaxRun = scansPerRecogniser*recognisers(c), maxScanRun
	case lane == domain.LaneLocal && c.IngestConcurrency > 1:
		// A long document needs as much memory as ShortPerLong short ones, so if all documents are short, ShortPerLong
		// times as many jobs can run. They use at most half of the admission window, so that the rest is free for jobs
		// that arrive in the meantime. Only the local lane allows this, because it has a single ingestor. In other
		// lanes, jobs would wait here for memory while other ingestors are idle.
		o.Concurrency = max(c.IngestConcurrency, min(ingest.ShortPerLong*c.IngestConcurrency, c.Window/2))
	}
	if remote && lane != domain.LaneLocal && lane != domain.LaneLocalScan {
		o.AckWait = remoteAckWait
	}
	return o
}
