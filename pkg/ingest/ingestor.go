// Package ingest holds what the workers do with a job: the Ingestor turns an original into rows of the index, the
// Crawler turns an address into an original or into the pages of a site. Neither knows the catalog: both report by
// events.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
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
}

// Embedders finds the embedder for a model id.
type Embedders interface {
	Embedder(model string) (embed.Embedder, error)
}

// Writer is the part of an index that takes rows.
type Writer interface {
	Write(ctx context.Context, space index.Space, rows []index.Row) error
}

// Ingestor handles ingest jobs: original ▶ document ▶ chunks ▶ vectors ▶ rows of the job's generation. Everything it
// writes follows from the job, so a job may be handled again, or by two workers at once.
type Ingestor struct {
	Originals Originals
	Extractor Extractor
	Chunker   Chunker
	Embedders Embedders
	Index     Writer
	Events    Events
	Now       func() time.Time
}

// batchRows is how many chunks are embedded and written at a time: large enough for a model server's batch and for a
// group commit, small enough that progress moves and that Milvus's lightest server takes it (256).
const batchRows = 128

// progressEvery spaces out the events that tell how far a long document has come: each is written to disk.
const progressEvery = time.Second

// Handle does one job. Its error is jobs.Permanent when doing the job again cannot help.
func (i *Ingestor) Handle(ctx context.Context, job domain.Job) error {
	report := reporter{events: i.Events, job: job, now: i.Now}
	if err := report.progress(ctx, domain.EventRunning, "extracting", 0, 0); err != nil {
		return err
	}
	embedder, err := i.Embedders.Embedder(job.Model)
	if err != nil {
		return jobs.Permanent(fmt.Errorf("the datastore's embedding model %q is not available here: %w", job.Model, err))
	}
	doc, err := i.document(ctx, job)
	if err != nil {
		return err
	}
	chunks, err := i.Chunker.Chunks(doc)
	if err != nil {
		return jobs.Permanent(err)
	}
	if len(chunks) == 0 {
		return jobs.Permanent(errors.New("there is no text in it"))
	}
	bytes, err := i.write(ctx, job, embedder, chunks, report)
	if err != nil {
		return err
	}
	ev := report.event(domain.EventSynched)
	ev.Chunks, ev.Bytes, ev.MIMEType, ev.Warnings = int64(len(chunks)), bytes, doc.MIMEType, doc.Warnings
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
		return nil, jobs.Permanent(&domain.Error{Code: domain.CodeUnsupported, Message: final.Message, Err: err})
	case err != nil:
		return nil, fmt.Errorf("extracting text: %w", err)
	}
	if doc.Title == "" {
		doc.Title = job.Name
	}
	return doc, nil
}

// write embeds and writes chunks batch by batch and returns the bytes of text written.
func (i *Ingestor) write(ctx context.Context, job domain.Job, embedder embed.Embedder, chunks []domain.Chunk, report reporter) (int64, error) {
	var bytes int64
	var told time.Time
	for done := 0; done < len(chunks); {
		if now := i.Now(); done == 0 || now.Sub(told) >= progressEvery {
			told = now
			if err := report.progress(ctx, domain.EventProgress, "indexing", int64(done), int64(len(chunks))); err != nil {
				return 0, err
			}
		}
		batch := chunks[done:min(done+batchRows, len(chunks))]
		texts := make([]string, len(batch))
		for n, c := range batch {
			texts[n] = embeddedText(c)
			bytes += int64(len(c.Text))
		}
		vectors, err := embedder.Embed(ctx, texts, embed.Passage)
		if err != nil {
			return 0, refused(fmt.Errorf("embedding chunks %d to %d: %w", done, done+len(batch)-1, err))
		}
		model := embedder.Model() // a server's model tells its dimensions with its first answer
		space := index.Space{DatastoreID: job.DatastoreID, Model: model.ID, Dimensions: model.Dimensions}
		rows := make([]index.Row, len(batch))
		for n, c := range batch {
			rows[n] = row(job, c, vectors[n])
		}
		err = i.Index.Write(ctx, space, rows)
		switch {
		case errors.Is(err, index.ErrInvalid):
			return 0, jobs.Permanent(fmt.Errorf("writing chunks %d to %d: %w", done, done+len(batch)-1, err))
		case err != nil:
			return 0, fmt.Errorf("writing chunks %d to %d: %w", done, done+len(batch)-1, err)
		}
		done += len(batch)
	}
	return bytes, nil
}

// refused turns a model's kinds of error into those of the job stream.
func refused(err error) error {
	var e *embed.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Kind == embed.Permanent:
		return jobs.Permanent(err)
	default:
		return jobs.RetryAfter(e.RetryAfter, err)
	}
}

// embeddedText is what the vector is made of: title and headings place a chunk that does not name its subject.
func embeddedText(c domain.Chunk) string {
	if c.Context == "" {
		return c.Text
	}
	return c.Context + "\n" + c.Text
}

func row(job domain.Job, c domain.Chunk, vector []float32) index.Row {
	return index.Row{
		Key:          domain.ChunkKey(job.DatasourceID, job.Generation, c.Ordinal),
		DatasourceID: job.DatasourceID,
		Generation:   job.Generation,
		Ordinal:      c.Ordinal,
		CustomID:     job.CustomID,
		Text:         c.Text,
		Context:      c.Context,
		Heading:      c.Heading,
		Page:         c.Page,
		Offset:       c.Offset,
		Metadata:     job.Metadata,
		Vector:       vector,
	}
}

// pageURL is the address that relative links and boilerplate detection of a page refer to, "" for other content.
func pageURL(job domain.Job) string {
	if job.Type == domain.TypeWebPage {
		return job.Original.Name
	}
	return ""
}
