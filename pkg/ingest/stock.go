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
	// stockPage is how many rows are read at a time: 3 MB where vectors are largest.
	stockPage = 256
	// keptBytes bounds the vectors of a stock that are kept in memory: those of 10,000 chunks at 384 dimensions, of 1,300
	// at 3,072. The others are read again when they are needed.
	keptBytes = 16 << 20
	// stockReads bounds how often the index is asked again for one batch. Text that has been moved about by single
	// chunks takes one question for each, and then embedding it is the cheaper way.
	stockReads = 16
	// stockGap is how many rows that nobody needs are read along, rather than asking twice.
	stockGap = 32
	// patience is how many runs of a job fail because of what it can do without: vectors that it can make instead of copying
	// them, a place that readers are not served from. Those may depend on an engine that the datastore is leaving, or never
	// reaches.
	patience = 2
)

// textHash tells the text that a vector was made of.
type textHash [16]byte

func hashText(text string) (h textHash) {
	sum := sha256.Sum256([]byte(text))
	copy(h[:], sum[:])
	return h
}

// stock is a generation of a datasource whose vectors are copied. It remembers of each row where its text is, in about 40
// bytes, so that text is found wherever it has been moved to, and vectors only as far as keptBytes goes. It is not safe for
// concurrent use.
type stock struct {
	job        domain.Job
	index      Index
	space      index.Space
	generation uint64
	at         map[textHash]int // ordinals
	kept       map[int][]float32
}

// copies finds for each destination what it can copy vectors from: the version that readers see, if the same model made
// it, and what an earlier run of the same job has written before it was cut short.
func (i *Ingestor) copies(ctx context.Context, job domain.Job, destinations []*destination) error {
	for _, d := range destinations {
		if p := job.Previous; p != nil && p.Generation > 0 && p.Chunks > 0 && p.Place.Model == d.model {
			// An engine that is out of this process's reach is done without.
			if idx, err := i.Indexes.Index(p.Place.Engine); err == nil {
				if err := d.copyFrom(ctx, idx, job, p.Generation); err != nil {
					return err
				}
			}
		}
		if job.Delivery > 1 {
			if err := d.copyFrom(ctx, d.engines[0].index, job, job.Generation); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyFrom has the destination copy vectors of a generation, if there is anything of it.
func (d *destination) copyFrom(ctx context.Context, idx Index, job domain.Job, generation uint64) error {
	s := &stock{job: job, index: idx, generation: generation, at: make(map[textHash]int), kept: make(map[int][]float32)}
	space, rows, err := held(ctx, idx, job, d.model, d.embedder.Model().Dimensions, generation)
	if err == nil && rows > 0 {
		s.space = space
		err = s.readThrough(ctx, rows)
	}
	if err != nil {
		return s.failed(ctx, err)
	}
	if len(s.at) > 0 {
		d.stocks = append(d.stocks, s)
	}
	return nil
}

// readThrough reads all of the generation, which has so many rows.
func (s *stock) readThrough(ctx context.Context, rows int64) error {
	room := keptBytes / (4*s.space.Dimensions + 64)
	for from, read := 0, int64(0); read < rows; {
		page, err := s.rows(ctx, from, stockPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, r := range page {
			if len(r.Vector) != s.space.Dimensions {
				continue
			}
			s.at[hashText(EmbeddedText(r.Context, r.Text))] = r.Ordinal
			if len(s.kept) < room {
				s.kept[r.Ordinal] = r.Vector
			}
		}
		from = page[len(page)-1].Ordinal + 1
		read += int64(len(page))
	}
	return nil
}

func (s *stock) rows(ctx context.Context, from, limit int) ([]index.Row, error) {
	return s.index.Rows(ctx, s.space, s.job.DatasourceID, s.generation, from, limit)
}

// failed says what becomes of a job whose stock could not be read: nil lets it go on without. Damage, and what the index
// does not take as a question, will not pass; anything else may, and is waited for a while.
func (s *stock) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, index.ErrCorrupt), errors.Is(err, index.ErrInvalid), s.job.Delivery > patience:
		return nil
	default:
		return fmt.Errorf("reading the vectors that are there: %w", err)
	}
}

// wanted is a text of a batch whose vector must be read again.
type wanted struct {
	ordinal int // in the stock
	place   int // in the batch
}

// fill sets the vectors that are missing in out and that the stock has of the texts.
func (s *stock) fill(ctx context.Context, texts []string, out [][]float32) error {
	if len(s.at) == 0 {
		return nil
	}
	var again []wanted
	hashes := make([]textHash, len(texts))
	for n, text := range texts {
		if out[n] != nil {
			continue
		}
		hashes[n] = hashText(text)
		ordinal, ok := s.at[hashes[n]]
		if !ok {
			continue
		}
		if out[n] = s.kept[ordinal]; out[n] == nil {
			again = append(again, wanted{ordinal, n})
		}
	}
	slices.SortFunc(again, func(a, b wanted) int { return cmp.Compare(a.ordinal, b.ordinal) })
	for reads := 0; len(again) > 0 && reads < stockReads; reads++ {
		n := run(again)
		found, err := s.read(ctx, again[0].ordinal, again[n-1].ordinal)
		if err != nil {
			s.at = nil // what it has given so far is good
			return s.failed(ctx, err)
		}
		for _, w := range again[:n] {
			out[w.place] = found[hashes[w.place]]
		}
		again = again[n:]
	}
	return nil
}

// run is how many of the wanted lie so close together that they are read in one go.
func run(again []wanted) int {
	n := 1
	for n < len(again) && again[n].ordinal-again[n-1].ordinal <= stockGap && again[n].ordinal-again[0].ordinal < stockPage {
		n++
	}
	return n
}

// read returns the vectors of the rows from first to last by their texts.
func (s *stock) read(ctx context.Context, first, last int) (map[textHash][]float32, error) {
	rows, err := s.rows(ctx, first, last-first+1)
	if err != nil {
		return nil, err
	}
	out := make(map[textHash][]float32, len(rows))
	for _, r := range rows {
		if len(r.Vector) == s.space.Dimensions {
			out[hashText(EmbeddedText(r.Context, r.Text))] = r.Vector
		}
	}
	return out, nil
}
