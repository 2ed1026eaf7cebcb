package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/sluice/sluice/pkg/chunk"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/embed"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/jobs"
	"github.com/sluice/sluice/pkg/telemetry"
)

// destination is an embedding model together with the places where a job stores this model's vectors. Each text is
// embedded only once for all these places.
type destination struct {
	datastore string
	model     string
	embedder  embed.Embedder
	measure   Measure
	yield     func(context.Context) // called before each batch of texts to let more urgent work go first; may be nil
	engines   []*engine
	caches    []*vectorCache // earlier generations to copy vectors from
	shared    *VectorCache   // vectors shared with other documents
	dropped   atomic.Bool    // whether all its places have been dropped

	tokens atomic.Int64 // number of tokens in the embedded texts
}

// engine writes to one of a destination's places.
type engine struct {
	place   domain.Place
	index   Index
	dropped bool // accessed only by the writer
}

// destinations groups the job's places by model. The first place's model comes first. Places that this process cannot
// write to are omitted unless the job needs them; see continueWithout.
func (i *Ingestor) destinations(ctx context.Context, job domain.Job) ([]*destination, error) {
	var out []*destination
	byModel := make(map[string]*destination)
	for _, p := range job.Places {
		// This process lacks the model or engine, so its settings differ from the other processes'. The job waits until
		// the settings are corrected or another process gets the job.
		embedder, err := i.Embedders.Embedder(p.Model)
		if err != nil {
			err = fmt.Errorf("the datastore's embedding model %q is not configured in this process: %w", p.Model, err)
			if err := i.continueWithout(ctx, job, p, err); err != nil {
				return nil, err
			}
			continue
		}
		idx, err := i.Indexes.Index(p.Engine)
		if err != nil {
			err = fmt.Errorf("the datastore's engine %q is not configured in this process: %w", p.Engine, err)
			if err := i.continueWithout(ctx, job, p, err); err != nil {
				return nil, err
			}
			continue
		}
		d := byModel[p.Model]
		if d == nil {
			d = &destination{datastore: job.DatastoreID, model: p.Model, embedder: embedder, yield: i.Yield, measure: i.Measure, shared: i.Vectors}
			byModel[p.Model] = d
			out = append(out, d)
		}
		d.engines = append(d.engines, &engine{place: p, index: idx})
	}
	return out, nil
}

// continueWithout handles the error from a place the job can't write to. It returns nil to skip the place, and `err` to
// fail the job. The job's first place serves searches and is never skipped. Any other place is one that the datastore
// is moving to, and the move later requests content that is missing there. Such a place is skipped at once after a
// permanent error. A temporary error first fails the job a few times, so that the job is retried.
func (i *Ingestor) continueWithout(ctx context.Context, job domain.Job, place domain.Place, err error) error {
	if place == job.Places[0] || ctx.Err() != nil || !jobs.IsPermanent(err) && job.Delivery <= optionalFailures {
		return err
	}
	i.logger().WarnContext(ctx, "cannot write to the engine and model that the datastore is moving to; writing only to the current ones",
		"datastore", job.DatastoreID, "datasource", job.DatasourceID, "place", place.String(), "error", err)
	return nil
}

// isUnchanged reports whether the job's only place already has the rows the job would write. `equal` says whether the
// job has the same fingerprint as the previous version, which means that it would write the same rows.
func isUnchanged(ctx context.Context, job domain.Job, equal bool, d *destination) (bool, error) {
	p := job.Previous
	if !equal || job.Force || job.Move != "" || len(job.Places) != 1 || p == nil || p.Place != job.Places[0] || p.Chunks <= 0 {
		return false, nil
	}
	_, rows, err := findGeneration(ctx, d.engines[0].index, job, d.model, d.embedder.Model().Dimensions, p.Generation)
	if err != nil {
		return false, fmt.Errorf("counting the existing chunks: %w", err)
	}
	return rows == p.Chunks, nil
}

// findGeneration returns the model's index space with the most rows from the given generation, and the number of those
// rows. `dimensions` is the length of the model's vectors. It is 0 if not yet known, because a model server reports it
// only in its first response.
func findGeneration(ctx context.Context, idx Index, job domain.Job, model string, dimensions int, generation uint64) (space index.Space, rows int64, err error) {
	spaces, err := idx.Spaces(ctx, job.DatastoreID)
	if err != nil {
		return space, 0, err
	}
	for _, s := range spaces {
		if s.Model != model || dimensions != 0 && s.Dimensions != dimensions {
			continue
		}
		n, err := idx.Count(ctx, s, job.DatasourceID, generation)
		if err != nil {
			return space, 0, err
		}
		if n > rows {
			space, rows = s, n
		}
	}
	return space, rows, nil
}

// vectors returns one vector per text. It copies existing vectors and embeds the remaining texts, each distinct text
// once.
func (d *destination) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for _, s := range d.caches {
		if err := s.fill(ctx, texts, out); err != nil {
			return nil, err
		}
	}
	var missing []string
	var keys []vectorKey
	places := make(map[textHash][]int)
	for n, v := range out {
		if v != nil {
			continue
		}
		key := vectorKey{d.datastore, d.model, hashOf(texts[n])}
		if out[n] = d.shared.get(key); out[n] != nil {
			continue
		}
		if places[key.text] == nil {
			missing, keys = append(missing, texts[n]), append(keys, key)
		}
		places[key.text] = append(places[key.text], n)
	}
	if len(missing) == 0 {
		return out, nil
	}
	if d.yield != nil {
		d.yield(ctx)
	}
	made, err := measureStage(ctx, d.measure, StageEmbed, func(ctx context.Context) ([][]float32, error) {
		return d.embedder.Embed(ctx, missing, embed.Passage)
	}, telemetry.Number("sluice.texts", len(missing)), telemetry.Text("sluice.model", d.model))
	if err != nil {
		return nil, err
	}
	if len(made) != len(missing) {
		return nil, fmt.Errorf("embedding model %q returned %d vectors for %d texts", d.model, len(made), len(missing))
	}
	for n, key := range keys {
		d.tokens.Add(int64(chunk.Tokens(missing[n])))
		for _, place := range places[key.text] {
			out[place] = made[n]
		}
		d.shared.put(key, slices.Clone(made[n])) // cloned, because a batch's vectors share one block of memory
	}
	return out, nil
}

// space returns the index space for rows that contain `vectors`.
func (d *destination) space(job domain.Job, vectors [][]float32) index.Space {
	dimensions := d.embedder.Model().Dimensions
	if dimensions == 0 { // not known yet: all vectors so far are copies
		dimensions = len(vectors[0])
	}
	return index.Space{DatastoreID: job.DatastoreID, Model: d.model, Dimensions: dimensions}
}

// modelError converts a model's errors to package jobs' errors.
func modelError(err error) error {
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
