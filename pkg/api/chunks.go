package api

import (
	"context"
	"strconv"

	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// ListChunks implements StrictServerInterface. A cursor is the ordinal of the page's first chunk.
func (s *server) ListChunks(ctx context.Context, r ListChunksRequestObject) (ListChunksResponseObject, error) {
	ctx, who := callerOf(ctx)
	d, err := s.datasource(ctx, who, r.Id)
	if err != nil {
		return nil, err
	}
	from, err := ordinalOf(r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	limit := catalog.DefaultPageSize
	if r.Params.Limit != nil {
		limit = *r.Params.Limit
	}
	out := ListChunks200JSONResponse{Data: []Chunk{}}
	if d.ActiveGeneration == 0 {
		return out, nil
	}
	chunks, err := s.Chunks.Chunks(ctx, d, from, limit)
	if err != nil {
		return nil, err
	}
	out.Data = renderAll(chunks, func(c domain.Chunk) Chunk {
		return Chunk{
			Id: domain.ChunkKey(d.ID, d.ActiveGeneration, c.Ordinal), Ordinal: c.Ordinal, Text: c.Text,
			Heading: optional(c.Heading), Page: optional(c.Page), Offset: c.Offset,
		}
	})
	if n := len(chunks); n == limit {
		if last := chunks[n-1].Ordinal + 1; int64(last) < d.Chunks {
			out.NextCursor = optional(strconv.Itoa(last))
		}
	}
	return out, nil
}

func ordinalOf(cursor *string) (int, error) {
	if cursor == nil {
		return 0, nil
	}
	n, err := strconv.ParseUint(*cursor, 10, 31)
	if err != nil {
		return 0, domain.Invalid("cursor", "is not a cursor of this list; pass nextCursor of the page before, unchanged")
	}
	return int(n), nil
}
