package ingest

import (
	"context"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/lists"
)

// backgroundTexts is the number of texts to embed in the background between checks for whether the process is idle. An
// in-process model embeds this many as one batch, on one CPU, in about 20 milliseconds.
const backgroundTexts = 2

// reembed handles a job that moves content to another model in the same engine. It copies the active rows with new
// vectors and doesn't read the original. Apart from the vectors, the rows stay the same, even if they were extracted by
// another version of the program or contain text from pictures. If some active rows are missing, reembed returns false
// and the content must be read again.
func (i *Ingestor) reembed(ctx context.Context, job domain.Job, destinations []*destination, report reporter) (done bool, err error) {
	p := job.Previous
	if job.Move == "" || job.Force || p == nil || p.Generation == 0 || p.Chunks <= 0 || len(job.Places) != 1 || job.Places[0].Engine != p.Place.Engine ||
		job.Places[0].Model == p.Place.Model {
		return false, nil
	}
	d := destinations[0]
	source := d.engines[0].index
	from, rows, err := findGeneration(ctx, source, job, p.Place.Model, 0, p.Generation)
	if err != nil {
		return false, fmt.Errorf("looking for the rows to copy: %w", err)
	}
	if rows != p.Chunks {
		return false, nil
	}
	if err := i.openVectorCaches(ctx, job, destinations); err != nil {
		return false, err
	}
	embed := d.vectors
	if i.Background.isFor(p.Place, job.Places[0]) {
		embed = func(ctx context.Context, texts []string) ([][]float32, error) {
			return i.embedInBackground(ctx, d, texts)
		}
	} else {
		defer i.Background.foreground()()
	}
	progress := startProgress(ctx, report, "indexing", i.logger())
	defer progress.stop()
	var copied, bytes int64
	for first := 0; copied < rows; {
		progress.update(ctx, "indexing", copied, rows)
		batch, err := source.Rows(ctx, from, job.DatasourceID, p.Generation, first, batchRows)
		if err != nil {
			return false, fmt.Errorf("reading rows %d and following: %w", first, err)
		}
		if len(batch) == 0 { // a retry reads the content again, unless a newer generation has replaced these rows
			return false, fmt.Errorf("only %d of %d rows of generation %d are left", copied, rows, p.Generation)
		}
		vectors, err := embed(ctx, lists.Map(batch, func(r index.Row) string { return EmbeddedText(r.Context, r.Text) }))
		if err != nil {
			return false, modelError(fmt.Errorf("embedding rows %d to %d: %w", first, first+len(batch)-1, err))
		}
		for n := range batch {
			r := &batch[n]
			bytes += int64(len(r.Text))
			first = r.Ordinal + 1
			r.Generation, r.Key, r.Vector = job.Generation, domain.ChunkKey(job.DatasourceID, job.Generation, r.Ordinal), vectors[n]
		}
		if err := d.engines[0].write(ctx, i.Measure, d.space(job, vectors), batch); err != nil {
			return false, fmt.Errorf("writing rows up to %d: %w", first-1, err)
		}
		copied += int64(len(batch))
	}
	progress.stop()
	ev := report.event(domain.EventSynched)
	// Leave ev.Inputs empty. It would describe the job's settings, but the rows may have been written with older ones.
	ev.Chunks, ev.Bytes, ev.Fingerprint, ev.TextID, ev.Inputs = copied, bytes, p.Fingerprint, p.TextID, ""
	ev.EmbedTokens = d.tokens.Load()
	return true, report.emit(ctx, ev)
}

// embedInBackground returns the texts' vectors. Before each batch, it waits for other work in the process to finish, up
// to backgroundMaxWait.
func (i *Ingestor) embedInBackground(ctx context.Context, d *destination, texts []string) (vectors [][]float32, err error) {
	for len(texts) > 0 {
		n := min(backgroundTexts, len(texts))
		leave, err := i.Background.enter(ctx)
		if err != nil {
			return nil, err
		}
		made, err := d.vectors(ctx, texts[:n])
		leave()
		if err != nil {
			return nil, err
		}
		vectors, texts = append(vectors, made...), texts[n:]
	}
	return vectors, nil
}
