package client

import (
	"context"
	"iter"
	"net/http"
)

// CreateDatastore makes a datastore.
func (c *Client) CreateDatastore(ctx context.Context, d DatastoreCreate) (*Datastore, error) {
	return one[Datastore](c.endpoints.CreateDatastore(ctx, nil, d))
}

// GetDatastore reads a datastore.
func (c *Client) GetDatastore(ctx context.Context, id string) (*Datastore, error) {
	return of[Datastore](ctx, id, c.endpoints.GetDatastore)
}

// ListDatastores iterates over the workspace's datastores, newest first.
func (c *Client) ListDatastores(ctx context.Context) iter.Seq2[Datastore, error] {
	return pages[Datastore](func(limit *int, cursor *string) (*http.Response, error) {
		return c.endpoints.ListDatastores(ctx, &ListDatastoresParams{Limit: limit, Cursor: cursor})
	})
}

// UpdateDatastore changes the fields of the datastore that are not nil. Another engine or embedding model moves its content.
func (c *Client) UpdateDatastore(ctx context.Context, id string, p DatastorePatch) (*Datastore, error) {
	return with[DatastorePatch, Datastore](ctx, id, p, c.endpoints.UpdateDatastore)
}

// DeleteDatastore deletes a datastore with everything in it.
func (c *Client) DeleteDatastore(ctx context.Context, id string) error {
	return deleted(ctx, id, c.endpoints.DeleteDatastore)
}

// QueryDatastore returns the fragments that are most similar to the query, best first.
func (c *Client) QueryDatastore(ctx context.Context, id string, q DatastoreQuery) ([]Fragment, error) {
	found, err := posted[QueryDatastoreParams, DatastoreQuery, []Fragment](in(ctx, manner{read: true}), id, nil, q, c.endpoints.QueryDatastore)
	return value(found), err
}

// ExplainQuery is QueryDatastore that says how each fragment came about, and what was left out.
func (c *Client) ExplainQuery(ctx context.Context, id string, q DatastoreQuery) (*ExplainedFragments, error) {
	explain := true
	return posted[QueryDatastoreParams, DatastoreQuery, ExplainedFragments](in(ctx, manner{read: true}), id, &QueryDatastoreParams{Explain: &explain}, q,
		c.endpoints.QueryDatastore)
}

// CountDatasources counts the datastore's datasources by status.
func (c *Client) CountDatasources(ctx context.Context, id string) (*DatasourceCounts, error) {
	return of[DatasourceCounts](ctx, id, c.endpoints.CountDatasources)
}

// ResyncDatastore has all of the datastore processed again: ResyncModeReindex from the content that is kept, ResyncModeRefresh
// fetching web content anew. It returns how many datasources were queued.
func (c *Client) ResyncDatastore(ctx context.Context, id string, mode ResyncMode) (queued int64, err error) {
	got, err := posted[ResyncDatastoreParams, Resync, ResyncResult](ctx, id, nil, Resync{Mode: &mode}, c.endpoints.ResyncDatastore)
	return value(got).Queued, err
}

// UpsertDocuments adds texts, at most 1,000 at once, and returns the ids of their datasources in order. One whose metadata has the
// custom_id of another in the datastore replaces it. [Client.Settled] waits until they can be found.
func (c *Client) UpsertDocuments(ctx context.Context, id string, documents ...Document) (ids []string, err error) {
	got, err := posted[UpsertDocumentsParams, UpsertRequest, UpsertResponse](ctx, id, nil, UpsertRequest{Documents: documents},
		c.endpoints.UpsertDocuments)
	return value(got).Ids, err
}

// UpdateDocument replaces the content of one datasource. What was there stays searchable until the new text is.
func (c *Client) UpdateDocument(ctx context.Context, id string, u UpdateRequest) error {
	_, err := posted[UpdateDocumentParams, UpdateRequest, UpdateResponse](ctx, id, nil, u, c.endpoints.UpdateDocument)
	return err
}
