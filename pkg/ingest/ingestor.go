// Package ingest contains the workers' job handlers. The Ingestor turns an original into index rows. The Crawler turns
// an address into an original or into a site's pages. Neither uses the catalog: both report through events.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/extract"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/originals"
)

// Events receives the workers' reports. Emit returns once the event is stored.
type Events interface {
	Emit(ctx context.Context, ev domain.Event) error
}

// Originals is the store of raw content.
type Originals interface {
	// Take returns the content under a key. Only the first reader should call it, because it may remove the content
	// from a single-reader cache. It fails with originals.ErrNotFound if the key does not exist, and with
	// originals.ErrCorrupt if no undamaged copy exists.
	Take(ctx context.Context, key string) (io.ReadCloser, error)
}

// Extractor turns raw content into a document. Any *extract.Error is permanent.
type Extractor interface {
	Extract(ctx context.Context, req extract.Request) (*domain.Document, error)
}

// Chunker splits a document into chunks. Its errors are permanent.
type Chunker interface {
	Chunks(doc *domain.Document) ([]domain.Chunk, error)
	// Version identifies everything other than the document itself that affects the chunks.
	Version() string
}

// Chunkers provides a chunker for given chunk sizes.
type Chunkers interface {
	Chunker(sizes domain.Chunking) Chunker
}

// Embedders provides a model's embedder.
type Embedders interface {
	Embedder(model string) (embed.Embedder, error)
}

// Indexes provides an engine's index.
type Indexes interface {
	// Index fails if the engine is not configured in this process.
	Index(engine domain.Engine) (Index, error)
}

// Index is the part of index.Index that an ingestor uses.
type Index interface {
	Write(ctx context.Context, space index.Space, rows []index.Row) error
	Rows(ctx context.Context, space index.Space, datasourceID string, generation uint64, fromOrdinal, limit int) ([]index.Row, error)
	Count(ctx context.Context, space index.Space, datasourceID string, generation uint64) (int64, error)
	Spaces(ctx context.Context, datastoreID string) ([]index.Space, error)
}

// Ingestor handles ingest jobs: original ▶ document ▶ chunks ▶ vectors ▶ rows with the job's generation, in each of the
// job's places. Its output depends only on the job, so a job may run again or on two workers at once.
type Ingestor struct {
	Originals Originals
	Extractor Extractor
	Chunkers  Chunkers
	Embedders Embedders
	Indexes   Indexes
	Vectors   *VectorCache // shared by all jobs in the process; nil: vectors are reused only within a datasource
	Admission *Admission   // limit for all jobs in the process; nil: no limit
	Measure   Measure
	Yield     func(context.Context) // called before each job and batch to let more urgent work go first; may be nil
	// Background limits re-embedding for datastores moving to a better model. If it is nil, there is no limit.
	Background *Background
	Languages  []string // for scanned pages if the job names none; nil: those installed for a page's script
	Unpacking  Unpacking
	Events     Events
	Now        func() time.Time
	Log        *slog.Logger // default slog.Default()
}

func (i *Ingestor) logger() *slog.Logger {
	if i.Log == nil {
		return slog.Default()
	}
	return i.Log
}

// Handle processes one job. Its error is marked by jobs.Permanent if a retry can't help.
//
// If the job's rows are already in the index, the job ends with domain.EventUnchanged without reading the content. The
// same happens after the extraction if a web page's text hasn't changed. Otherwise, Handle copies the same model's
// vectors from the previous version and from an interrupted run of the same job, and embeds the remaining texts, each
// distinct text once.
//
// If the job moves content to another model, Handle copies the active rows with new vectors and doesn't read the
// content. This works only if the index has all of these rows.
//
// Documents with scanned pages are processed only by jobs of kind domain.JobScan. Any other job ends with
// domain.EventPostponed, and a scan job follows. If only the pictures within a document contain text to recognise, the
// job indexes the other text first, so that it doesn't wait for the pictures; see postpones.
//
// If the file is a ZIP archive, the job ends with domain.EventArchive. An archive job then stores the archived files
// and reports them in events of type domain.EventDiscovered; see unpack.
//
// If a place other than the first can't be written, Handle drops it after a few attempts. The final event names the
// places that were written.
func (i *Ingestor) Handle(ctx context.Context, job domain.Job) error {
	if i.Yield != nil {
		i.Yield(ctx)
	}
	if len(job.Places) == 0 {
		return jobs.Permanent(errors.New("the job does not say where to store its chunks; resync the datasource"))
	}
	report := reporter{events: i.Events, job: job, now: i.Now}
	if job.Type == domain.TypeArchive {
		return i.unpack(ctx, job, report)
	}
	fingerprint, err := i.fingerprint(job)
	if err != nil {
		return err
	}
	scanFingerprint, err := i.scanFingerprint(job)
	if err != nil {
		return err
	}
	destinations, err := i.destinations(ctx, job)
	if err != nil {
		return err
	}
	same, err := isUnchanged(ctx, job, fingerprint != "" && job.Previous != nil && slices.Contains([]string{fingerprint, scanFingerprint}, job.Previous.Fingerprint), destinations[0])
	if err != nil {
		return err
	}
	if same {
		return report.emit(ctx, report.event(domain.EventUnchanged))
	}
	if done, err := i.reembed(ctx, job, destinations, report); done || err != nil {
		return err
	}
	defer i.Background.foreground()()
	progress := startProgress(ctx, report, "extracting", i.logger())
	defer progress.stop()
	doc, leave, err := i.Admission.read(ctx, job.WorkspaceID, func() (*domain.Document, error) { return i.document(ctx, job, progress) })
	if extract.KindOf(err) == extract.Scanned {
		progress.stop()
		return postpone(ctx, report, err)
	}
	if isArchive(job, err) {
		progress.stop()
		return reportArchive(ctx, report, err)
	}
	if err != nil {
		return err
	}
	defer leave()
	if postpones(job, doc, scanFingerprint) {
		progress.stop()
		return postpone(ctx, report, errors.New("the document's pictures need OCR"))
	}
	info := doc.Info()
	w := writer{
		Ingestor: i, job: job, metadata: rowMetadata(job, doc), document: info,
		destinations: destinations, progress: progress,
	}
	doc.Title = cmp.Or(doc.Title, job.Name)
	chunks, err := measureStage(ctx, i.Measure, StageChunk, func(context.Context) ([]domain.Chunk, error) {
		return i.Chunkers.Chunker(job.Chunking).Chunks(doc)
	})
	if err != nil {
		return jobs.Permanent(err)
	}
	if len(chunks) == 0 {
		return jobs.Permanent(domain.Errorf(domain.CodeUnsupported, "the content has no text"))
	}
	textID, err := i.textID(job, doc, chunks)
	if err != nil {
		return err
	}
	if same, err = isUnchanged(ctx, job, textID != "" && job.Previous != nil && job.Previous.TextID == textID, destinations[0]); err != nil {
		return err
	}
	if same {
		progress.stop()
		ev := report.event(domain.EventUnchanged)
		ev.Fingerprint = fingerprint // lets the next job with the same content end early
		return report.emit(ctx, ev)
	}
	if err := i.openVectorCaches(ctx, job, destinations); err != nil {
		return err
	}
	if err := w.write(ctx, chunks); err != nil {
		return err
	}
	progress.stop()
	ev := report.event(domain.EventSynched)
	ev.Chunks, ev.Bytes, ev.Fingerprint = int64(len(chunks)), textBytes(chunks), fingerprint
	ev.MIMEType, ev.Document, ev.Warnings, ev.Places = doc.MIMEType, info, doc.Warnings, w.written()
	ev.TextID = textID
	if len(doc.Unread) > 0 {
		ev.Scan, ev.Force = true, job.Force
		ev.Fingerprint, ev.Inputs, ev.TextID = "", "", "" // if the scan job fails, the next job must read the content again
	}
	for _, d := range destinations {
		ev.EmbedTokens += d.tokens.Load()
	}
	return report.emit(ctx, ev)
}

// postpones reports whether to leave a document with pictures entirely to a scan job. Otherwise, this job indexes the
// document's other text first. But if the text in the pictures is already searchable, a move or a repeated job must not
// make it unsearchable. A web page's text also can't be compared with the previous version's while the text in its
// pictures is missing.
func postpones(job domain.Job, doc *domain.Document, scanFingerprint string) bool {
	p := job.Previous
	return len(doc.Unread) > 0 && (job.Move != "" || p != nil && (job.Type == domain.TypeWebPage || p.Fingerprint != "" && p.Fingerprint == scanFingerprint))
}

// postpone ends a job that a scan job will continue.
func postpone(ctx context.Context, report reporter, reason error) error {
	if err := report.emit(ctx, report.event(domain.EventPostponed)); err != nil {
		return err
	}
	return jobs.Rescheduled(reason)
}

// languages returns the languages to expect on the job's scanned pages. They default to i.Languages.
func (i *Ingestor) languages(job domain.Job) []string {
	if names := job.Languages.Names(); len(names) > 0 {
		return names
	}
	return i.Languages
}

// take opens the job's original.
func (i *Ingestor) take(ctx context.Context, job domain.Job) (io.ReadCloser, error) {
	if job.Original == nil {
		return nil, jobs.Permanent(errors.New("the content was not stored; upload it again"))
	}
	body, err := measureStage(ctx, i.Measure, StageRead, func(ctx context.Context) (io.ReadCloser, error) {
		return i.Originals.Take(ctx, job.Original.Key)
	})
	switch {
	case errors.Is(err, originals.ErrNotFound):
		// The content was replaced or deleted, so this job's outcome does not matter.
		return nil, jobs.Permanent(errors.New("the content is no longer stored; upload it again"))
	case errors.Is(err, originals.ErrCorrupt):
		return nil, damagedOriginal(err)
	case err != nil:
		return nil, fmt.Errorf("reading the original: %w", err)
	}
	return body, nil
}

// document reads the job's original. It fails with an error of kind extract.Archive for an archive and, except in a
// scan job, of kind extract.Scanned if the document has pictures whose text must be recognised.
func (i *Ingestor) document(ctx context.Context, job domain.Job, progress *progress) (*domain.Document, error) {
	body, err := i.take(ctx, job)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	doc, err := measureStage(ctx, i.Measure, StageExtract, func(ctx context.Context) (*domain.Document, error) {
		return i.Extractor.Extract(ctx, extract.Request{
			Workspace: job.WorkspaceID, Reader: body, Name: job.Original.Name, Declared: job.Original.MIMEType, URL: pageURL(job),
			Languages: i.languages(job), Defer: job.Kind != domain.JobScan,
			Progress: func(done, total int) { progress.update(ctx, "recognising text", int64(done), int64(total)) },
		})
	})
	kind := extract.KindOf(err)
	switch {
	case errors.Is(err, originals.ErrCorrupt): // damaged since Take verified it
		return nil, damagedOriginal(err)
	case kind == extract.Scanned, isArchive(job, err):
		return nil, err
	case kind != "":
		return nil, unreadable(err)
	case err != nil:
		return nil, fmt.Errorf("extracting text: %w", err)
	}
	return doc, nil
}

// unreadable returns the error for content that can't be read. `err` contains an *extract.Error. Users see only its
// message, because the cause may contain a parser's stack trace.
func unreadable(err error) error {
	var final *extract.Error
	if !errors.As(err, &final) {
		return err
	}
	code := domain.CodeUnsupported
	if final.Kind == extract.Resources {
		code = domain.CodeUnavailable // it may succeed later or on another machine
	}
	return jobs.Permanent(&domain.Error{Code: code, Message: final.Message, Err: err})
}

// damagedOriginal returns the error for an original that is damaged on all servers. It is permanent, because a retry
// would read the same content.
func damagedOriginal(err error) error {
	return jobs.Permanent(&domain.Error{Code: domain.CodeNotFound, Message: "the stored content is damaged; upload it again", Err: err})
}

// pageURL returns the base address of a web page for links and boilerplate detection, or "" for other content.
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
