package api

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strconv"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/api/upload"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/lists"
)

// ListChunks implements StrictServerInterface. A page's cursor is the ordinal of its first chunk.
func (s *server) ListChunks(ctx context.Context, r ListChunksRequestObject) (ListChunksResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datasource(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	from, err := ordinalOf(r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(orZero(r.Params.Limit), catalog.DefaultPageSize)
	out := ListChunks200JSONResponse{Data: []Chunk{}}
	if d.ActiveGeneration == 0 {
		return out, nil
	}
	chunks, err := s.Chunks.Chunks(ctx, d, from, limit)
	if err != nil {
		return nil, err
	}
	out.Data = lists.Map(chunks, func(c domain.Chunk) Chunk {
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
		return 0, domain.Invalid("cursor", "is not a cursor for this list; pass the nextCursor of the previous page unchanged")
	}
	return int(n), nil
}

// originalPolicy is the Content-Security-Policy for original files. It keeps browsers from running a file's scripts, no
// matter how the file is displayed.
const originalPolicy = "default-src 'none'; sandbox"

// GetOriginal implements StrictServerInterface.
func (s *server) GetOriginal(ctx context.Context, r GetOriginalRequestObject) (GetOriginalResponseObject, error) {
	ctx, caller := access.CallerOf(ctx)
	d, err := s.datasource(ctx, caller, r.Id)
	if err != nil {
		return nil, err
	}
	if err := hasOriginal(d); err != nil {
		return nil, err
	}
	if err := admit.OpenStream(ctx, d.WorkspaceID); err != nil {
		return nil, err
	}
	content, err := s.Originals.Get(ctx, d.Original.Key)
	if err != nil {
		return nil, err
	}
	return responseFunc(func(w http.ResponseWriter) error {
		defer content.Close()
		return s.writeOriginal(ctx, w, d, content)
	}), nil
}

// hasOriginal returns an error if the datasource has no original.
func hasOriginal(d domain.Datasource) error {
	switch {
	case d.Original != nil:
		return nil
	case d.Type == domain.TypeWebSite:
		return domain.Errorf(domain.CodeNotFound, "datasource %q is a web site, which has no original; get the originals of its pages", d.ID)
	default:
		return domain.Errorf(domain.CodeNotFound, "datasource %q has no original yet because it has not been fetched", d.ID)
	}
}

// writeOriginal sends the content. If reading it fails, writeOriginal aborts the connection, so that no client mistakes
// a truncated file for a complete one.
func (s *server) writeOriginal(ctx context.Context, w http.ResponseWriter, d domain.Datasource, content io.Reader) error {
	h := w.Header()
	h.Set("Content-Type", upload.HeaderType(d.Original.MIMEType))
	h.Set("Content-Length", strconv.FormatInt(d.Original.Size, 10))
	h.Set("Content-Disposition", upload.Attachment(upload.CleanFileName(d.Name)))
	h.Set("Content-Security-Policy", originalPolicy)
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-store")
	if transfer.IsHead(ctx) {
		return nil
	}
	out := transfer.TimedWriter(w, s.options.WriteTimeout)
	if _, err := io.Copy(out, content); err != nil {
		if !problem.IsClientGone(ctx, err) {
			s.log.Error("sending an original failed partway", "request", problem.RequestID(ctx), "datasource", d.ID, "error", err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}
