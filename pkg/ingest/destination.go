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
)

// destination is an embedding model and the places of a job that hold its vectors: text is embedded once for all of them.
type destination struct {
	datastore string
	model     string
	embedder  embed.Embedder
	engines   []*engine
	stocks    []*stock    // what vectors are copied from
	recent    *Recent     // likewise, of other documents
	dropped   atomic.Bool // none of its places is written any more

	tokens atomic.Int64 // of the texts that were embedded
}

// engine is one place of a destination.
type engine struct {
	place   domain.Place
	index   Index
	dropped bool // belongs to the writer
}

// destinations groups the job's places by model, the first place's first. Places that the job can do without are left out
// if they cannot be written here.
func (i *Ingestor) destinations(ctx context.Context, job domain.Job) ([]*destination, error) {
	var out []*destination
	byModel := make(map[string]*destination)
	for _, p := range job.Places {
		// Where a process lacks a model or an engine, its settings are not those of the others, which somebody will mend: the
		// job waits, and may come to another one.
		embedder, err := i.Embedders.Embedder(p.Model)
		if err != nil {
			err = fmt.Errorf("the embedding model %q of the datastore is not configured in this process: %w", p.Model, err)
			if err := i.without(ctx, job, p, err); err != nil {
				return nil, err
			}
			continue
		}
		idx, err := i.Indexes.Index(p.Engine)
		if err != nil {
			err = fmt.Errorf("the engine %q, which is to hold the chunks, is not configured in this process: %w", p.Engine, err)
			if err := i.without(ctx, job, p, err); err != nil {
				return nil, err
			}
			continue
		}
		d := byModel[p.Model]
		if d == nil {
			d = &destination{datastore: job.DatastoreID, model: p.Model, embedder: embedder, recent: i.Recent}
			byModel[p.Model] = d
			out = append(out, d)
		}
		d.engines = append(d.engines, &engine{place: p, index: idx})
	}
	return out, nil
}

// without says what becomes of a job that cannot write a place: its error, or nil when it goes on without that place.
// Content that readers wait for is not held up by the place that its datastore is on the way to: what is missing there is
// asked for again by the move, which is then the one to fail. A fault that may pass is waited for a while.
func (i *Ingestor) without(ctx context.Context, job domain.Job, place domain.Place, err error) error {
	if place == job.Places[0] || ctx.Err() != nil || !jobs.IsPermanent(err) && job.Delivery <= patience {
		return err
	}
	i.logger().WarnContext(ctx, "content goes only to where readers are served, the place that it moves to cannot be written",
		"datastore", job.DatastoreID, "datasource", job.DatasourceID, "place", place.String(), "error", err)
	return nil
}

// unchanged reports whether the job's one place holds exactly the rows that the job would write. equal says that the rows
// are the same as those written before.
func unchanged(ctx context.Context, job domain.Job, equal bool, d *destination) (bool, error) {
	p := job.Previous
	if !equal || job.Force || job.Move != "" || len(job.Places) != 1 || p == nil || p.Place != job.Places[0] || p.Chunks <= 0 {
		return false, nil
	}
	_, rows, err := held(ctx, d.engines[0].index, job, d.model, d.embedder.Model().Dimensions, p.Generation)
	if err != nil {
		return false, fmt.Errorf("counting the chunks that are there: %w", err)
	}
	return rows == p.Chunks, nil
}

// held finds the space that has most rows of a generation with a model's vectors, and how many it has. dimensions 0 means
// that they are not known yet: a server's model tells them with its first answer.
func held(ctx context.Context, idx Index, job domain.Job, model string, dimensions int, generation uint64) (space index.Space, rows int64, err error) {
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

// vectors returns one vector for each text: a copy where there is one, else a new one. Equal texts are embedded once.
func (d *destination) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for _, s := range d.stocks {
		if err := s.fill(ctx, texts, out); err != nil {
			return nil, err
		}
	}
	var missing []string
	var keys []recentKey
	places := make(map[textHash][]int)
	for n, v := range out {
		if v != nil {
			continue
		}
		key := recentKey{d.datastore, d.model, hashText(texts[n])}
		if out[n] = d.recent.get(key); out[n] != nil {
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
	made, err := d.embedder.Embed(ctx, missing, embed.Passage)
	if err != nil {
		return nil, err
	}
	if len(made) != len(missing) {
		return nil, fmt.Errorf("embedding model %q made %d vectors of %d texts", d.model, len(made), len(missing))
	}
	for n, key := range keys {
		d.tokens.Add(int64(chunk.Tokens(missing[n])))
		for _, place := range places[key.text] {
			out[place] = made[n]
		}
		d.recent.put(key, slices.Clone(made[n])) // the others of its batch lie in the same memory
	}
	return out, nil
}

// space is where rows with the vectors go.
func (d *destination) space(job domain.Job, vectors [][]float32) index.Space {
	dimensions := d.embedder.Model().Dimensions
	if dimensions == 0 { // all vectors so far are copies
		dimensions = len(vectors[0])
	}
	return index.Space{DatastoreID: job.DatastoreID, Model: d.model, Dimensions: dimensions}
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
