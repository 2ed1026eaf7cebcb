package client

import (
	"context"
	"io"
	"iter"
	"mime"
	"net/http"
)

// CreateDatasource adds a web page, a web site or a text. Use [Client.Upload] for files.
func (c *Client) CreateDatasource(ctx context.Context, d DatasourceCreate) (*Datasource, error) {
	return decodeOne[Datasource](c.endpoints.CreateDatasource(ctx, nil, d))
}

// GetDatasource returns a datasource.
func (c *Client) GetDatasource(ctx context.Context, id string) (*Datasource, error) {
	return callByID[Datasource](ctx, id, c.endpoints.GetDatasource)
}

// ListDatasources iterates over datasources, newest first. p may be nil. Its Limit and Cursor are ignored.
func (c *Client) ListDatasources(ctx context.Context, p *ListDatasourcesParams) iter.Seq2[Datasource, error] {
	asked := value(p)
	return pages[Datasource](func(limit *int, cursor *string) (*http.Response, error) {
		asked := asked // iterators may run concurrently
		asked.Limit, asked.Cursor = limit, cursor
		return c.endpoints.ListDatasources(ctx, &asked)
	})
}

// UpdateDatasource changes a datasource's name and metadata. For a web page or web site, it can also change the refresh
// schedule and the scope.
func (c *Client) UpdateDatasource(ctx context.Context, id string, p DatasourcePatch) (*Datasource, error) {
	return callByIDWithBody[DatasourcePatch, Datasource](ctx, id, p, c.endpoints.UpdateDatasource)
}

// DeleteDatasource deletes a datasource. Deleting a web site deletes all its pages.
func (c *Client) DeleteDatasource(ctx context.Context, id string) error {
	return deleteByID(ctx, id, c.endpoints.DeleteDatasource)
}

// ListChunks iterates over the searchable chunks of a datasource, in reading order.
func (c *Client) ListChunks(ctx context.Context, id string) iter.Seq2[Chunk, error] {
	return pages[Chunk](func(limit *int, cursor *string) (*http.Response, error) {
		if err := check(id); err != nil {
			return nil, err
		}
		return c.endpoints.ListChunks(ctx, id, &ListChunksParams{Limit: limit, Cursor: cursor})
	})
}

// Original is a datasource's original content. Don't execute it, because it is untrusted.
type Original struct {
	io.ReadCloser        // content; the caller must close it
	Name          string // file name, or ""
	Type          string // media type, detected from the content
	Size          int64  // in bytes; -1 if unknown
}

// GetOriginal opens a datasource's original content. Reading fails once ctx is done.
func (c *Client) GetOriginal(ctx context.Context, id string) (*Original, error) {
	if err := check(id); err != nil {
		return nil, err
	}
	resp, err := c.endpoints.GetOriginal(withOptions(ctx, requestOptions{stream: true}), id)
	if err != nil {
		return nil, err
	}
	_, disposition, _ := mime.ParseMediaType(resp.Header.Get("Content-Disposition"))
	return &Original{resp.Body, disposition["filename"], resp.Header.Get("Content-Type"), resp.ContentLength}, nil
}

// GetText opens the text extracted from a datasource. Positions in this text, such as those of a citation, are byte
// offsets. Reading fails once ctx is done. The caller must close the reader.
func (c *Client) GetText(ctx context.Context, id string) (io.ReadCloser, error) {
	if err := check(id); err != nil {
		return nil, err
	}
	resp, err := c.endpoints.GetText(withOptions(ctx, requestOptions{stream: true}), id)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// ResyncDatasource re-indexes a datasource. For the modes, see [Client.ResyncDatastore].
func (c *Client) ResyncDatasource(ctx context.Context, id string, mode ResyncMode) (queued int64, err error) {
	got, err := postByID[ResyncDatasourceParams, Resync, ResyncResult](ctx, id, nil, Resync{Mode: &mode}, c.endpoints.ResyncDatasource)
	return value(got).Queued, err
}

// StopDatasource stops the crawl of a web site. Searchable pages stay searchable.
func (c *Client) StopDatasource(ctx context.Context, id string) (*Datasource, error) {
	return callByIDWithBody[Empty, Datasource](ctx, id, Empty{}, c.endpoints.StopDatasource)
}

// PlanSite returns a preview of a web site's crawl. It stores nothing.
func (c *Client) PlanSite(ctx context.Context, r SitePlanRequest) (*SitePlan, error) {
	return decodeOne[SitePlan](c.endpoints.PlanSite(ctx, r))
}

// ExportConversations exports conversations with all their messages. Reading fails if ctx is done or the export is
// interrupted. The caller must close the reader. p may be nil.
func (c *Client) ExportConversations(ctx context.Context, p *ExportConversationsParams) (io.ReadCloser, error) {
	asked := value(p)
	resp, err := c.endpoints.ExportConversations(withOptions(ctx, requestOptions{stream: true}), &asked)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
