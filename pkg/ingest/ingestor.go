// Package ingest holds what the workers do with a job: the Ingestor turns an original into rows of the index, the
// Crawler turns an address into an original or into the pages of a site. Neither knows the catalog: both report by
// events.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/originals"
)

// Events is where a worker reports. Emit returns once the event is stored.
type Events interface {
	Emit(ctx context.Context, ev domain.Event) error
}

// Originals is where raw content is read from.
type Originals interface {
	// Get fails with originals.ErrNotFound when nothing lies under the key.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
}

// Extractor turns raw content into a document; an *extract.Error is final.
type Extractor interface {
	Extract(ctx context.Context, req extract.Request) (*domain.Document, error)
}

// Chunker cuts a document into chunks; its errors are final.
type Chunker interface {
	Chunks(doc *domain.Document) ([]domain.Chunk, error)
	// Version changes with whatever chunks follow from beside the document.
	Version() string
}

// Chunkers finds the chunker that cuts into chunks of the given sizes.
type Chunkers interface {
	Chunker(sizes domain.Chunking) Chunker
}

// Embedders finds the embedder for a model id.
type Embedders interface {
	Embedder(model string) (embed.Embedder, error)
}

// Indexes finds the index that an engine keeps rows in.
type Indexes interface {
	// Index fails when the engine is not configured in this process.
	Index(engine domain.Engine) (Index, error)
}

// Index is the part of an index.Index that an ingestor works with.
type Index interface {
	Write(ctx context.Context, space index.Space, rows []index.Row) error
	Rows(ctx context.Context, space index.Space, datasourceID string, generation uint64, fromOrdinal, limit int) ([]index.Row, error)
	Count(ctx context.Context, space index.Space, datasourceID string, generation uint64) (int64, error)
	Spaces(ctx context.Context, datastoreID string) ([]index.Space, error)
}

// Ingestor handles ingest jobs: original ▶ document ▶ chunks ▶ vectors ▶ rows of the job's generation, in every place
// that the job names. Everything it writes follows from the job, so a job may be handled again, or by two workers at
// once.
type Ingestor struct {
	Originals Originals
	Extractor Extractor
	Chunkers  Chunkers
	Embedders Embedders
	Indexes   Indexes
	Recent    *Recent // of all jobs of the process; nil: only the datasource's own vectors are used again
	Room      *Room   // likewise; nil: for whatever is handled at once
	Events    Events
	Now       func() time.Time
	Log       *slog.Logger // default slog.Default()
}

func (i *Ingestor) logger() *slog.Logger {
	if i.Log == nil {
		return slog.Default()
	}
	return i.Log
}

// Handle does one job. Its error is jobs.Permanent when doing the job again cannot help.
//
// A job whose rows are in the index already ends with domain.EventUnchanged, before reading anything. The job of a web page
// whose text is as it was ends in the same way after extraction. Vectors that the
// same model has made already, of what readers see or in a run that was cut short, are copied. What cannot be copied is
// embedded, equal texts once, so what there was before never decides whether a job succeeds.
//
// A place other than the first that cannot be written is left out after a while: the event then names the others.
func (i *Ingestor) Handle(ctx context.Context, job domain.Job) error {
	if len(job.Places) == 0 {
		return jobs.Permanent(errors.New("its job does not say where its chunks go; resync it"))
	}
	report := reporter{events: i.Events, job: job, now: i.Now}
	fingerprint, err := i.fingerprint(job)
	if err != nil {
		return err
	}
	destinations, err := i.destinations(ctx, job)
	if err != nil {
		return err
	}
	same, err := unchanged(ctx, job, fingerprint != "" && job.Previous != nil && job.Previous.Fingerprint == fingerprint, destinations[0])
	if err != nil {
		return err
	}
	if same {
		return report.emit(ctx, report.event(domain.EventUnchanged))
	}
	tell := startTelling(ctx, report, "extracting", i.logger())
	defer tell.stop()
	doc, leave, err := i.Room.read(ctx, func() (*domain.Document, error) { return i.document(ctx, job) })
	if err != nil {
		return err
	}
	defer leave()
	w := writer{Ingestor: i, job: job, metadata: domain.FragmentMetadata(job.Metadata, doc.Info()), destinations: destinations, tell: tell}
	info := doc.Info()
	if doc.Title == "" {
		doc.Title = job.Name
	}
	chunks, err := i.Chunkers.Chunker(job.Chunking).Chunks(doc)
	if err != nil {
		return jobs.Permanent(err)
	}
	if len(chunks) == 0 {
		return jobs.Permanent(domain.Errorf(domain.CodeUnsupported, "there is no text in it"))
	}
	textID, err := i.textID(job, doc, chunks)
	if err != nil {
		return err
	}
	if same, err = unchanged(ctx, job, textID != "" && job.Previous != nil && job.Previous.TextID == textID, destinations[0]); err != nil {
		return err
	}
	if same {
		tell.stop()
		ev := report.event(domain.EventUnchanged)
		ev.Fingerprint = fingerprint // the next job with these bytes need not read them
		return report.emit(ctx, ev)
	}
	if err := i.copies(ctx, job, destinations); err != nil {
		return err
	}
	if err := w.write(ctx, chunks); err != nil {
		return err
	}
	tell.stop()
	ev := report.event(domain.EventSynched)
	ev.Chunks, ev.Bytes, ev.Fingerprint = int64(len(chunks)), textBytes(chunks), fingerprint
	ev.MIMEType, ev.Document, ev.Warnings, ev.Places = doc.MIMEType, info, doc.Warnings, w.written()
	ev.TextID = textID
	for _, d := range destinations {
		ev.EmbedTokens += d.tokens.Load()
	}
	return report.emit(ctx, ev)
}

func (i *Ingestor) document(ctx context.Context, job domain.Job) (*domain.Document, error) {
	if job.Original == nil {
		return nil, jobs.Permanent(errors.New("its content was never stored"))
	}
	body, err := i.Originals.Get(ctx, job.Original.Key)
	switch {
	case errors.Is(err, originals.ErrNotFound):
		// A newer version has replaced it, or it has been deleted: this job's outcome no longer matters.
		return nil, jobs.Permanent(errors.New("its content is no longer stored; upload it again"))
	case err != nil:
		return nil, fmt.Errorf("reading the original: %w", err)
	}
	defer body.Close()
	doc, err := i.Extractor.Extract(ctx, extract.Request{
		Reader:   body,
		Name:     job.Original.Name,
		Declared: job.Original.MIMEType,
		URL:      pageURL(job),
	})
	var final *extract.Error
	switch {
	case errors.As(err, &final):
		// People read the message; the cause may be a parser's stack.
		code := domain.CodeUnsupported
		if final.Kind == extract.Resources {
			code = domain.CodeUnavailable // another time or machine may do
		}
		return nil, jobs.Permanent(&domain.Error{Code: code, Message: final.Message, Err: err})
	case err != nil:
		return nil, fmt.Errorf("extracting text: %w", err)
	}
	return doc, nil
}

// pageURL is the address that relative links and boilerplate detection of a page refer to, "" for other content.
func pageURL(job domain.Job) string {
	if job.Type == domain.TypeWebPage {
		return job.Original.Name
	}
	return ""
}

func textBytes(chunks []domain.Chunk) (sum int64) {
	for _, c := range chunks {
		sum += int64(len(c.Text))
	}
	return sum
}
