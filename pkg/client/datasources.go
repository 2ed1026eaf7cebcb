package client

import (
	"context"
	"io"
	"iter"
	"mime"
	"net/http"
)

// CreateDatasource adds a web page, a web site or a text. Files are what [Client.Upload] is for.
func (c *Client) CreateDatasource(ctx context.Context, d DatasourceCreate) (*Datasource, error) {
	return one[Datasource](c.endpoints.CreateDatasource(ctx, nil, d))
}

// GetDatasource reads a datasource.
func (c *Client) GetDatasource(ctx context.Context, id string) (*Datasource, error) {
	return of[Datasource](ctx, id, c.endpoints.GetDatasource)
}

// ListDatasources iterates over datasources, newest first. Limit and Cursor of p are set here; p may be nil.
func (c *Client) ListDatasources(ctx context.Context, p *ListDatasourcesParams) iter.Seq2[Datasource, error] {
	asked := value(p)
	return pages[Datasource](func(limit *int, cursor *string) (*http.Response, error) {
		asked := asked // the iterator may be ranged over by several at once
		asked.Limit, asked.Cursor = limit, cursor
		return c.endpoints.ListDatasources(ctx, &asked)
	})
}

// UpdateDatasource changes a name and metadata, and, of a web page or site, when it is fetched again and what belongs to it.
func (c *Client) UpdateDatasource(ctx context.Context, id string, p DatasourcePatch) (*Datasource, error) {
	return with[DatasourcePatch, Datasource](ctx, id, p, c.endpoints.UpdateDatasource)
}

// DeleteDatasource deletes a datasource, with all its pages when it is a web site.
func (c *Client) DeleteDatasource(ctx context.Context, id string) error {
	return deleted(ctx, id, c.endpoints.DeleteDatasource)
}

// ListChunks iterates over the pieces of a datasource that queries see, in reading order.
func (c *Client) ListChunks(ctx context.Context, id string) iter.Seq2[Chunk, error] {
	return pages[Chunk](func(limit *int, cursor *string) (*http.Response, error) {
		if err := check(id); err != nil {
			return nil, err
		}
		return c.endpoints.ListChunks(ctx, id, &ListChunksParams{Limit: limit, Cursor: cursor})
	})
}

// Original is the content of a datasource as it came in. It is somebody else's: do not run it.
type Original struct {
	io.ReadCloser        // the bytes, to be closed by the caller
	Name          string // of the file; "" where there is none
	Type          string // as it was told from the content
	Size          int64  // -1 when it is not known
}

// GetOriginal opens a datasource's original. It lasts as long as the context.
func (c *Client) GetOriginal(ctx context.Context, id string) (*Original, error) {
	if err := check(id); err != nil {
		return nil, err
	}
	resp, err := c.endpoints.GetOriginal(in(ctx, manner{stream: true}), id)
	if err != nil {
		return nil, err
	}
	_, disposition, _ := mime.ParseMediaType(resp.Header.Get("Content-Disposition"))
	return &Original{resp.Body, disposition["filename"], resp.Header.Get("Content-Type"), resp.ContentLength}, nil
}

// ResyncDatasource has a datasource processed again, as [Client.ResyncDatastore] does with all.
func (c *Client) ResyncDatasource(ctx context.Context, id string, mode ResyncMode) (queued int64, err error) {
	got, err := posted[ResyncDatasourceParams, Resync, ResyncResult](ctx, id, nil, Resync{Mode: &mode}, c.endpoints.ResyncDatasource)
	return value(got).Queued, err
}

// StopDatasource stops the crawl of a web site. What is searchable stays so.
func (c *Client) StopDatasource(ctx context.Context, id string) (*Datasource, error) {
	return with[Empty, Datasource](ctx, id, Empty{}, c.endpoints.StopDatasource)
}

// PlanSite shows what a crawl of a web site would fetch, and keeps nothing.
func (c *Client) PlanSite(ctx context.Context, r SitePlanRequest) (*SitePlan, error) {
	return one[SitePlan](c.endpoints.PlanSite(ctx, r))
}

// ExportConversations opens an export of conversations with all their messages. It lasts as long as the context; one that breaks off
// ends with an error. The caller closes it. p may be nil.
func (c *Client) ExportConversations(ctx context.Context, p *ExportConversationsParams) (io.ReadCloser, error) {
	asked := value(p)
	resp, err := c.endpoints.ExportConversations(in(ctx, manner{stream: true}), &asked)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
