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
	// previousPage is how many rows are read at a time: 3 MB where vectors are largest.
	previousPage = 256
	// keptBytes bounds the vectors of the previous version that are kept in memory: those of 10,000 chunks at 384
	// dimensions, of 1,300 at 3,072. The others are read again when they are needed.
	keptBytes = 16 << 20
	// previousReads bounds how often the index is asked again for one batch. Text that has been moved about by single
	// chunks takes one question for each, and then embedding it is the cheaper way.
	previousReads = 16
	// previousGap is how many rows that nobody needs are read along, rather than asking twice.
	previousGap = 32
	// copyAttempts is how many runs of a job fail because the previous version cannot be read at the moment. The next one
	// goes without: what it embeds costs more, and does not depend on an engine that the datastore may be leaving.
	copyAttempts = 2
)

// textHash tells the text that a vector was made of.
type textHash [16]byte

func hashText(text string) (h textHash) {
	sum := sha256.Sum256([]byte(text))
	copy(h[:], sum[:])
	return h
}

// previous is the version of a datasource whose vectors are copied. It remembers of each row where its text is, in about
// 40 bytes, so that text is found wherever it has been moved to, and vectors only as far as keptBytes goes. It is not safe
// for concurrent use. A nil previous has no vectors.
type previous struct {
	job   domain.Job
	index Index
	space index.Space
	at    map[textHash]int // ordinals
	kept  map[int][]float32
}

// copies opens the previous version for the destination of the same model.
func (i *Ingestor) copies(ctx context.Context, job domain.Job, destinations []*destination) error {
	p := job.Previous
	if p == nil || p.Generation == 0 || p.Chunks <= 0 {
		return nil
	}
	for _, d := range destinations {
		if d.model != p.Place.Model {
			continue
		}
		idx, err := i.Indexes.Index(p.Place.Engine)
		if err != nil {
			return nil // out of this process's reach
		}
		d.previous, err = openPrevious(ctx, idx, job, d.embedder.Model().Dimensions)
		return err
	}
	return nil
}

// openPrevious reads the previous version through. It returns nil when there is nothing to be had.
func openPrevious(ctx context.Context, idx Index, job domain.Job, dimensions int) (*previous, error) {
	p := &previous{job: job, index: idx, at: make(map[textHash]int), kept: make(map[int][]float32)}
	space, rows, err := held(ctx, idx, job, dimensions)
	if err == nil && rows > 0 {
		p.space = space
		err = p.readThrough(ctx)
	}
	if err != nil {
		return nil, p.failed(ctx, err)
	}
	return p, nil
}

func (p *previous) readThrough(ctx context.Context) error {
	room := keptBytes / (4*p.space.Dimensions + 64)
	for from := 0; ; {
		rows, err := p.rows(ctx, from, previousPage)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			if len(r.Vector) != p.space.Dimensions {
				continue
			}
			p.at[hashText(embeddedText(r.Context, r.Text))] = r.Ordinal
			if len(p.kept) < room {
				p.kept[r.Ordinal] = r.Vector
			}
		}
		if from = rows[len(rows)-1].Ordinal + 1; int64(from) >= p.job.Previous.Chunks {
			return nil
		}
	}
}

func (p *previous) rows(ctx context.Context, from, limit int) ([]index.Row, error) {
	return p.index.Rows(ctx, p.space, p.job.DatasourceID, p.job.Previous.Generation, from, limit)
}

// failed says what becomes of a job whose previous version could not be read: nil lets it go on without. Damage, and what
// the index does not take as a question, will not pass; anything else may, and is waited for a while.
func (p *previous) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, index.ErrCorrupt), errors.Is(err, index.ErrInvalid), p.job.Delivery > copyAttempts:
		return nil
	default:
		return fmt.Errorf("reading the vectors that are there: %w", err)
	}
}

// wanted is a text of a batch whose vector must be read again.
type wanted struct {
	ordinal int // in the previous version
	place   int // in the batch
}

// vectors returns for each text the vector that the previous version has of it, nil where it has none.
func (p *previous) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	if p == nil || len(p.at) == 0 {
		return out, nil
	}
	var again []wanted
	hashes := make([]textHash, len(texts))
	for n, text := range texts {
		hashes[n] = hashText(text)
		ordinal, ok := p.at[hashes[n]]
		if !ok {
			continue
		}
		if out[n] = p.kept[ordinal]; out[n] == nil {
			again = append(again, wanted{ordinal, n})
		}
	}
	slices.SortFunc(again, func(a, b wanted) int { return cmp.Compare(a.ordinal, b.ordinal) })
	for reads := 0; len(again) > 0 && reads < previousReads; reads++ {
		n := run(again)
		found, err := p.read(ctx, again[0].ordinal, again[n-1].ordinal)
		if err != nil {
			p.at = nil // what it has given so far is good
			return out, p.failed(ctx, err)
		}
		for _, w := range again[:n] {
			out[w.place] = found[hashes[w.place]]
		}
		again = again[n:]
	}
	return out, nil
}

// run is how many of the wanted lie so close together that they are read in one go.
func run(again []wanted) int {
	n := 1
	for n < len(again) && again[n].ordinal-again[n-1].ordinal <= previousGap && again[n].ordinal-again[0].ordinal < previousPage {
		n++
	}
	return n
}

// read returns the vectors of the rows from first to last by their texts.
func (p *previous) read(ctx context.Context, first, last int) (map[textHash][]float32, error) {
	rows, err := p.rows(ctx, first, last-first+1)
	if err != nil {
		return nil, err
	}
	out := make(map[textHash][]float32, len(rows))
	for _, r := range rows {
		if len(r.Vector) == p.space.Dimensions {
			out[hashText(embeddedText(r.Context, r.Text))] = r.Vector
		}
	}
	return out, nil
}
