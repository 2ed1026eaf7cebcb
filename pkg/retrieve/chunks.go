package retrieve

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

// ChunkReader reads the chunks of a datasource's active generation.
type ChunkReader struct {
	Catalog Catalog
	// Index returns an engine's index. It returns domain.CodeUnavailable if the engine is not configured.
	Index func(domain.Engine) (index.Index, error)
}

// Chunks returns up to `limit` of a datasource's chunks, starting at an ordinal. If the datastore moves or the
// datasource gets a new active generation in the meantime, Chunks starts over.
func (c ChunkReader) Chunks(ctx context.Context, d domain.Datasource, from, limit int) ([]domain.Chunk, error) {
	for {
		now, err := c.active(ctx, d.ID)
		if err != nil || now.ActiveGeneration == 0 {
			return nil, err
		}
		rows, err := c.rows(ctx, now, from, limit)
		if err == nil && len(rows) > 0 {
			return chunksOf(rows), nil
		}
		after, moved := c.active(ctx, d.ID)
		if moved != nil || after.Place == now.Place && after.ActiveGeneration == now.ActiveGeneration {
			return nil, errors.Join(err, moved)
		}
	}
}

// active returns a datasource's state, or the zero value if the datasource does not exist.
func (c ChunkReader) active(ctx context.Context, id string) (domain.ActiveDatasource, error) {
	active, err := c.Catalog.ActiveOf(ctx, []string{id})
	if err != nil || active[0] == nil {
		return domain.ActiveDatasource{}, err
	}
	return *active[0], nil
}

func (c ChunkReader) rows(ctx context.Context, d domain.ActiveDatasource, from, limit int) ([]index.Row, error) {
	idx, err := c.Index(d.Place.Engine)
	if err != nil {
		return nil, err
	}
	spaces, err := idx.Spaces(ctx, d.DatastoreID)
	if err != nil {
		return nil, domain.Transient(fmt.Errorf("locating the rows: %w", err), chunksUnavailableMessage)
	}
	for _, space := range spaces {
		if space.Model != d.Place.Model {
			continue
		}
		if rows, err := idx.Rows(ctx, space, d.ID, d.ActiveGeneration, from, limit); err != nil || len(rows) > 0 {
			return rows, domain.Transient(err, chunksUnavailableMessage)
		}
	}
	return nil, nil
}

const chunksUnavailableMessage = "the chunk index is unreachable; try again shortly"

func chunksOf(rows []index.Row) []domain.Chunk {
	chunks := make([]domain.Chunk, len(rows))
	for i, r := range rows {
		chunks[i] = domain.Chunk{Ordinal: r.Ordinal, Text: r.Text, Context: r.Context, Heading: r.Heading, Anchor: r.Anchor, Page: r.Page, Offset: r.Offset, Runs: domain.DecodeTextRuns(r.Runs, r.Offset, len(r.Text))}
	}
	return chunks
}
