package ingest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

const (
	// Number of rows read at a time: 3 MB with the largest vectors.
	vectorPage = 256
	// Maximum size of a cache's vectors, in bytes: enough for 10,000 vectors with 384 dimensions, or 1,300 with 3,072.
	// Further vectors are read again when needed.
	vectorCacheBytes = 16 << 20
	// Maximum number of index reads per batch. Only a batch whose chunks have moved to scattered positions needs more
	// reads, and then it is cheaper to embed the remaining chunks again.
	maxVectorReads = 16
	// Two rows are read together if at most this many unneeded rows lie between them.
	maxVectorGap = 32
	// optionalFailures is how many attempts may fail because of an engine that the job can do without: one that only
	// holds vectors to copy, or one that serves no searches yet. Later attempts continue without this engine.
	optionalFailures = 2
)

type textHash [16]byte

func hashOf(text string) (h textHash) {
	sum := sha256.Sum256([]byte(text))
	copy(h[:], sum[:])
	return h
}

// vectorCache provides vectors from a datasource's earlier generation. It remembers which row has each text's vector
// (about 40 bytes per row), so it finds the vector even if the text has moved within the document. It keeps at most
// vectorCacheBytes of vectors in memory. It is not safe for concurrent use.
type vectorCache struct {
	job        domain.Job
	index      Index
	space      index.Space
	generation uint64
	ordinals   map[textHash]int // text → ordinal
	cached     map[int][]float32
}

// openVectorCaches opens up to two caches of existing vectors per destination: one for the active version, if its
// vectors come from the destination's model, and one for an interrupted run of the same job.
func (i *Ingestor) openVectorCaches(ctx context.Context, job domain.Job, destinations []*destination) error {
	for _, d := range destinations {
		if p := job.Previous; p != nil && p.Generation > 0 && p.Chunks > 0 && p.Place.Model == d.model {
			// Copying vectors is optional, so ignore an engine this process does not have.
			if idx, err := i.Indexes.Index(p.Place.Engine); err == nil {
				if err := d.addVectorCache(ctx, idx, job, p.Generation); err != nil {
					return err
				}
			}
		}
		if job.Delivery > 1 {
			if err := d.addVectorCache(ctx, d.engines[0].index, job, job.Generation); err != nil {
				return err
			}
		}
	}
	return nil
}

// addVectorCache adds a generation to the destination's caches, if it has any rows.
func (d *destination) addVectorCache(ctx context.Context, idx Index, job domain.Job, generation uint64) error {
	s := &vectorCache{job: job, index: idx, generation: generation, ordinals: make(map[textHash]int), cached: make(map[int][]float32)}
	space, rows, err := findGeneration(ctx, idx, job, d.model, d.embedder.Model().Dimensions, generation)
	if err == nil && rows > 0 {
		s.space = space
		err = s.readThrough(ctx, rows)
	}
	if err != nil {
		return s.failed(ctx, err)
	}
	if len(s.ordinals) > 0 {
		d.caches = append(d.caches, s)
	}
	return nil
}

// readThrough reads the whole generation, which has the given number of rows. It records each text's position and
// caches vectors until the cache is full.
func (s *vectorCache) readThrough(ctx context.Context, rows int64) error {
	capacity := vectorCacheBytes / (4*s.space.Dimensions + 64)
	for from, read := 0, int64(0); read < rows; {
		page, err := s.rows(ctx, from, vectorPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			if len(r.Vector) != s.space.Dimensions {
				continue
			}
			s.ordinals[hashOf(EmbeddedText(r.Context, r.Text))] = r.Ordinal
			if len(s.cached) < capacity {
				s.cached[r.Ordinal] = r.Vector
			}
		}
		from = page[len(page)-1].Ordinal + 1
		read += int64(len(page))
	}
	return nil
}

func (s *vectorCache) rows(ctx context.Context, from, limit int) ([]index.Row, error) {
	return s.index.Rows(ctx, s.space, s.job.DatasourceID, s.generation, from, limit)
}

// failed handles a read error. It returns nil if the job should continue without the cache. If rows are damaged or the
// request is invalid, the job continues at once. Any other error may be temporary, so failed returns it on the job's
// first few attempts, and the job is retried.
func (s *vectorCache) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, index.ErrCorrupt), errors.Is(err, index.ErrInvalid), s.job.Delivery > optionalFailures:
		return nil
	default:
		return fmt.Errorf("reading the existing vectors: %w", err)
	}
}

// missingVector is a text in a batch that has a vector in the index but not in memory.
type missingVector struct {
	ordinal int // ordinal of its row in the cache's generation
	place   int // position in the batch
}

// fill replaces the nil vectors in `out` for all texts that have a vector in the earlier generation.
func (s *vectorCache) fill(ctx context.Context, texts []string, out [][]float32) error {
	if len(s.ordinals) == 0 {
		return nil
	}
	var again []missingVector
	hashes := make([]textHash, len(texts))
	for n, text := range texts {
		if out[n] != nil {
			continue
		}
		hashes[n] = hashOf(text)
		ordinal, ok := s.ordinals[hashes[n]]
		if !ok {
			continue
		}
		if out[n] = s.cached[ordinal]; out[n] == nil {
			again = append(again, missingVector{ordinal, n})
		}
	}
	slices.SortFunc(again, func(a, b missingVector) int { return cmp.Compare(a.ordinal, b.ordinal) })
	for reads := 0; len(again) > 0 && reads < maxVectorReads; reads++ {
		n := run(again)
		found, err := s.read(ctx, again[0].ordinal, again[n-1].ordinal)
		if err != nil {
			s.ordinals = nil // stop using the cache; the vectors copied so far are valid
			return s.failed(ctx, err)
		}
		for _, w := range again[:n] {
			out[w.place] = found[hashes[w.place]]
		}
		again = again[n:]
	}
	return nil
}

// run returns how many entries at the start of `again` have ordinals close enough together to be read in one call.
func run(again []missingVector) int {
	n := 1
	for n < len(again) && again[n].ordinal-again[n-1].ordinal <= maxVectorGap && again[n].ordinal-again[0].ordinal < vectorPage {
		n++
	}
	return n
}

// read returns the vectors in rows `first` to `last`, inclusive, keyed by the hash of the row's text.
func (s *vectorCache) read(ctx context.Context, first, last int) (map[textHash][]float32, error) {
	rows, err := s.rows(ctx, first, last-first+1)
	if err != nil {
		return nil, err
	}
	out := make(map[textHash][]float32, len(rows))
	for _, r := range rows {
		if len(r.Vector) == s.space.Dimensions {
			out[hashOf(EmbeddedText(r.Context, r.Text))] = r.Vector
		}
	}
	return out, nil
}
