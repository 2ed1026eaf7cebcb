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
	"github.com/sluice/sluice/pkg/extract/archive"
	"github.com/sluice/sluice/pkg/ingest"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/originals"
	"github.com/sluice/sluice/pkg/processors"
	"github.com/sluice/sluice/pkg/seal"
	"github.com/sluice/sluice/pkg/telemetry/instrument"
)

// Maximum size in bytes of text files that are read without a child process.
const directText = 1 << 20

// newExtractor returns a document extractor. If cacheDir is "", it uses the user's cache directory.
func newExtractor(c config.Config, cacheDir, temp string, log *slog.Logger) *extract.Extractor {
	return extract.New(extract.Options{
		Concurrency: readers(c), Direct: directText, MaxMemory: int64(c.ExtractMemory), Timeout: c.ExtractTimeout, CacheDir: cacheDir, TempDir: temp,
		Tesseract: c.Tesseract, Recognisers: recognisers(c), MaxScans: c.OCRPages, MaxPictures: c.OCRPictures, Log: log,
	})
}

// drawer adapts an extractor to the API's interface.
type drawer struct{ *extract.Extractor }

// newDrawer returns an extractor that renders pages for users. It has its own processes, so users don't have to wait
// for documents being ingested.
func newDrawer(cacheDir, temp string, log *slog.Logger) drawer {
	return drawer{extract.New(extract.Options{
		Concurrency: drawers, MaxMemory: extract.DrawMemory, Timeout: extract.DrawTimeout, CacheDir: cacheDir, TempDir: temp, Log: log,
	})}
}

// Number of processes that render pages. The API renders one page per workspace at a time, so a workspace can't occupy
// both processes.
const drawers = 2

// Draw implements api.Drawer.
func (d drawer) Draw(ctx context.Context, content io.Reader, page int) ([]byte, error) {
	return d.Extractor.Draw(ctx, extract.Request{Reader: content}, page)
}

// converter adapts an extractor to the API's interface.
type converter struct{ *extract.Extractor }

// Number of processes that convert files for API callers without storing them. The extractor keeps one free for other
// workspaces.
const converters = 2

// newConverter returns an extractor that converts files for API callers. It has its own processes, so callers don't
// have to wait for documents being ingested. Each process may use as much memory and time as one that ingests. Text in
// documents' images isn't read, because the caller is waiting.
func newConverter(c config.Config, cacheDir, temp string, log *slog.Logger) converter {
	return converter{extract.New(extract.Options{
		Concurrency: converters, MaxMemory: int64(c.ExtractMemory), Timeout: c.ExtractTimeout, MaxInput: int64(c.LimitUpload), CacheDir: cacheDir, TempDir: temp,
		Tesseract: c.Tesseract, Recognisers: recognisers(c), MaxScans: c.OCRPages, Log: log,
	})}
}

// Convert implements neighbours.Converter. Tabs between table cells keep tables readable for people and models.
func (c converter) Convert(ctx context.Context, f neighbours.File) (*domain.Document, error) {
	return c.Extract(ctx, extract.Request{Workspace: f.Workspace, Reader: f.Content, Name: f.Name, Declared: f.Declared, PlainRows: true})
}

// readers returns how many documents are extracted concurrently. Extraction keeps a CPU busy, so more than one document
// per CPU would gain nothing. There are at least two, so that one long document can't block all others. One more is
// added for workspaces that have no document being extracted.
func readers(c config.Config) int { return min(c.IngestConcurrency, max(2, processors.Count())+1) }

// recognisers returns the maximum number of pages undergoing text recognition at once. The default leaves half of the
// CPUs for other documents and for queries.
func recognisers(c config.Config) int {
	if c.OCRConcurrency > 0 {
		return c.OCRConcurrency
	}
	return max(processors.Count()/2, 1)
}

// Number of scanned documents kept open per page being recognised. With more than one, workspaces take turns after each
// page, even if their documents are long.
const scansPerRecogniser = 2

// newReader returns the extractor and the chunker for the command that shows how a file is read.
func newReader(c config.Config) (*extract.Extractor, *chunk.Chunker) {
	return newExtractor(c, "", "", slog.New(slog.DiscardHandler)), newChunker(c)
}

// scanCheck returns a check whose note says whether scanned documents can be read. A process without Tesseract is still
// ready, because it reads all other documents. Only the log says why, because readiness is public.
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

func ingestWorker(c config.Config, o Options, temp string, store *originals.Store, events ingest.Events, reader *extract.Extractor, models *embedders, in *engines, times *instrument.Stages, now func() time.Time) *ingest.Ingestor {
	var indexes ingest.Indexes = writers{in}
	if o.hooks.indexes != nil {
		indexes = o.hooks.indexes(indexes)
	}
	return &ingest.Ingestor{
		Originals: store, Extractor: reader, Chunkers: chunkers{chunker: newChunker(c)},
		Embedders: models, Indexes: indexes, Vectors: ingest.NewVectorCache(int(cacheMemoryOf(c).vectors)), Admission: ingest.NewAdmission(readers(c), c.IngestConcurrency),
		Unpacking: ingest.Unpacking{Store: store, TempDir: temp, Limits: archive.Limits{
			Files: c.LimitArchiveFiles, Unpacked: int64(c.LimitArchiveBytes), File: extract.DefaultLimits().MaxInput,
		}},
		Languages: c.OCRLanguages, Events: times.Events(events), Measure: times.Begin, Now: now, Log: o.Log,
	}
}

// newBackground limits re-embedding in the background to half of the CPUs. It waits while `busy` returns true.
func newBackground(busy func() bool) *ingest.Background {
	return ingest.NewBackground(processors.Count()/2, isUpgrade, busy)
}

// scanWorker returns a copy of the ingestor for scanned documents. It has its own limit on documents in memory, so that
// documents waiting for text recognition don't displace other documents.
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
	// How long a stopping worker lets its jobs run before it returns them to the queue. Only the work done so far is
	// lost. All jobs must be returned within a second of the stop.
	workerGrace = 500 * time.Millisecond

	// Maximum attempts per page, about nine minutes in total. It's low because a user is waiting for the result. If all
	// attempts fail, old content stays searchable.
	crawlFailures = 10

	// How long a worker that shares a process with the NATS server may be silent before its job is redelivered. In that
	// case, silence means that the process is gone, not that the network is slow.
	localAckWait = 5 * time.Second
	// Maximum time for a scanned document: enough for 1,000 pages at 40 seconds each.
	maxScanRun = 12 * time.Hour

	// Like localAckWait, but for NATS servers on the network. It is longer than a leader election takes.
	remoteAckWait = 30 * time.Second

	// How many times the process may die during a job before the job fails. The number is high because a power failure
	// or a kill -9 hits all running jobs and says nothing about their documents. A document that crashes its reader
	// kills only a child process.
	maxCrashes = 10
)

// workerOptions returns the options for workers on a lane. All processes on the lane must use the same options, because
// the options of the last process to start apply to all of them. `remote` means that the NATS servers are outside the
// api process.
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
		// One long document needs as much memory as ShortPerLong short ones. If all documents are short, ShortPerLong
		// times as many jobs can therefore run. They may use at most half of the admission window; the other half stays
		// free for jobs that arrive in the meantime. Only the local lane allows this, because it has a single ingestor.
		// In other lanes, jobs would wait here for memory while other ingestors are idle.
		o.Concurrency = max(c.IngestConcurrency, min(ingest.ShortPerLong*c.IngestConcurrency, c.Window/2))
	}
	if remote && lane != domain.LaneLocal && lane != domain.LaneLocalScan {
		o.AckWait = remoteAckWait
	}
	return o
}
