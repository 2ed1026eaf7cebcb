package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/lists"
	"github.com/sluice/sluice/pkg/telemetry"
)

// batchRows is the number of chunks embedded and written at a time: enough to fill a model server's batch and a group
// commit, but few enough to report progress often and to stay within Milvus Lite's limit of 256 rows.
const batchRows = 128

type writer struct {
	*Ingestor
	job          domain.Job
	metadata     map[string]any       // metadata of every row, except of recognised text
	document     *domain.DocumentInfo // may be nil
	destinations []*destination
	progress     *progress
}

// batch is a group of consecutive chunks written together.
type batch struct {
	first   int            // ordinal of its first chunk
	chunks  []domain.Chunk // at most batchRows
	vectors [][][]float32  // by destination and chunk; nil for a dropped destination
}

// write embeds and writes chunks in batches. It embeds the next batch while one is being written, so that neither the
// model nor the index waits for the other.
func (w *writer) write(ctx context.Context, chunks []domain.Chunk) error {
	group, ctx := errgroup.WithContext(ctx)
	ready := make(chan batch)
	group.Go(func() error {
		defer close(ready)
		for first := 0; first < len(chunks); first += batchRows {
			b := batch{first: first, chunks: chunks[first:min(first+batchRows, len(chunks))]}
			if err := w.embed(ctx, &b); err != nil {
				return err
			}
			select {
			case ready <- b:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	group.Go(func() error {
		for done := 0; done < len(chunks); {
			w.progress.update(ctx, "indexing", int64(done), int64(len(chunks)))
			b, ok := <-ready
			if !ok {
				return nil // embedding failed; its goroutine returns the error
			}
			if err := w.store(ctx, b); err != nil {
				return err
			}
			done += len(b.chunks)
		}
		return nil
	})
	return group.Wait()
}

// name returns a description of the batch for error messages.
func (b batch) name() string { return fmt.Sprintf("chunks %d to %d", b.first, b.first+len(b.chunks)-1) }

func (w *writer) embed(ctx context.Context, b *batch) error {
	texts := lists.Map(b.chunks, func(c domain.Chunk) string { return EmbeddedText(c.Context, c.Text) })
	for _, d := range w.destinations {
		var vectors [][]float32
		if !d.dropped.Load() {
			var err error
			if vectors, err = d.vectors(ctx, texts); err != nil {
				err = modelError(fmt.Errorf("embedding %s: %w", b.name(), err))
				if err := w.continueWithout(ctx, w.job, d.engines[0].place, err); err != nil {
					return err
				}
				vectors = nil
				d.dropped.Store(true)
			}
		}
		b.vectors = append(b.vectors, vectors)
	}
	return nil
}

func (w *writer) store(ctx context.Context, b batch) error {
	for n, d := range w.destinations {
		if b.vectors[n] == nil {
			continue
		}
		space := d.space(w.job, b.vectors[n])
		rows := make([]index.Row, len(b.chunks))
		for k, c := range b.chunks {
			rows[k] = w.row(c, b.vectors[n][k])
		}
		left := 0
		for _, e := range d.engines {
			if e.dropped {
				continue
			}
			if err := e.write(ctx, w.Measure, space, rows); err != nil {
				err = fmt.Errorf("writing %s to %s: %w", b.name(), e.place.Engine, err)
				if err := w.continueWithout(ctx, w.job, e.place, err); err != nil {
					return err
				}
				e.dropped = true
				continue
			}
			left++
		}
		if left == 0 {
			d.dropped.Store(true)
		}
	}
	return nil
}

// write stores rows. If the index rejects them, the error is marked by jobs.Permanent.
func (e *engine) write(ctx context.Context, m Measure, space index.Space, rows []index.Row) error {
	_, err := measureStage(ctx, m, StageIndex, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, e.index.Write(ctx, space, rows)
	}, telemetry.Number("sluice.rows", len(rows)), telemetry.Text("sluice.engine", string(e.place.Engine)))
	if errors.Is(err, index.ErrInvalid) {
		return jobs.Permanent(err)
	}
	return err
}

// written returns the places to which all chunks were written.
func (w *writer) written() (places []domain.Place) {
	for _, d := range w.destinations {
		for _, e := range d.engines {
			if !e.dropped && !d.dropped.Load() {
				places = append(places, e.place)
			}
		}
	}
	return places
}

// EmbeddedText returns the text to embed for a chunk. It includes the title and headings, because a chunk often does
// not name its subject. It omits a table's caption: all of the table's chunks have it, so it would make their vectors
// alike.
func EmbeddedText(context, text string) string {
	if context, _, _ = strings.Cut(context, domain.ContextSeparator); context == "" {
		return text
	}
	return context + "\n" + text
}

// metadataOf returns a chunk's metadata, including the recognition confidence if any of its text came from a picture.
func (w *writer) metadataOf(c domain.Chunk) map[string]any {
	confidence, ok := w.document.Confidence(c.Page, c.Runs, c.Offset, len(c.Text))
	if !ok {
		return w.metadata
	}
	return domain.WithConfidence(w.metadata, w.job.Metadata, confidence)
}

func (w *writer) row(c domain.Chunk, vector []float32) index.Row {
	job := w.job
	return index.Row{
		Key:          domain.ChunkKey(job.DatasourceID, job.Generation, c.Ordinal),
		DatasourceID: job.DatasourceID,
		Generation:   job.Generation,
		Ordinal:      c.Ordinal,
		CustomID:     job.CustomID,
		Text:         c.Text,
		Context:      c.Context,
		Heading:      c.Heading,
		Anchor:       c.Anchor,
		Page:         c.Page,
		Offset:       c.Offset,
		Runs:         c.Runs.Encode(c.Offset),
		Metadata:     w.metadataOf(c),
		Vector:       vector,
	}
}
