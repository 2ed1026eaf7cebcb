package client

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"net/http"
	"strings"
)

// CreateDatastore creates a datastore.
func (c *Client) CreateDatastore(ctx context.Context, d DatastoreCreate) (*Datastore, error) {
	return decodeOne[Datastore](c.endpoints.CreateDatastore(ctx, nil, d))
}

// GetDatastore returns a datastore.
func (c *Client) GetDatastore(ctx context.Context, id string) (*Datastore, error) {
	return callByID[Datastore](ctx, id, c.endpoints.GetDatastore)
}

// ListDatastores iterates over the workspace's datastores, newest first.
func (c *Client) ListDatastores(ctx context.Context) iter.Seq2[Datastore, error] {
	return pages[Datastore](func(limit *int, cursor *string) (*http.Response, error) {
		return c.endpoints.ListDatastores(ctx, &ListDatastoresParams{Limit: limit, Cursor: cursor})
	})
}

// UpdateDatastore updates a datastore. Nil fields in p are left unchanged. Changing the engine or embedding model
// starts moving the datastore's content.
func (c *Client) UpdateDatastore(ctx context.Context, id string, p DatastorePatch) (*Datastore, error) {
	return callByIDWithBody[DatastorePatch, Datastore](ctx, id, p, c.endpoints.UpdateDatastore)
}

// DeleteDatastore deletes a datastore with all its content.
func (c *Client) DeleteDatastore(ctx context.Context, id string) error {
	return deleteByID(ctx, id, c.endpoints.DeleteDatastore)
}

// QueryDatastore returns the fragments most similar to the query, best first.
func (c *Client) QueryDatastore(ctx context.Context, id string, q DatastoreQuery) ([]Fragment, error) {
	found, err := postByID[QueryDatastoreParams, DatastoreQuery, []Fragment](withOptions(ctx, requestOptions{read: true}), id, nil, q, c.endpoints.QueryDatastore)
	return value(found), err
}

// EncodeVector encodes a vector as base64 for DatastoreQuery.Vector. The service reads this much faster than numbers.
func EncodeVector(vector []float32) *any {
	raw := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	return new(any(base64.StdEncoding.EncodeToString(raw)))
}

// ExplainQuery is like QueryDatastore but also explains the ranking and the dropped candidates.
func (c *Client) ExplainQuery(ctx context.Context, id string, q DatastoreQuery) (*ExplainedFragments, error) {
	explain := true
	return postByID[QueryDatastoreParams, DatastoreQuery, ExplainedFragments](withOptions(ctx, requestOptions{read: true}), id, &QueryDatastoreParams{Explain: &explain}, q,
		c.endpoints.QueryDatastore)
}

// QueryWithFacets is like QueryDatastore but also counts documents by the values of the metadata keys in q.Facets,
// which must contain at least one key.
func (c *Client) QueryWithFacets(ctx context.Context, id string, q DatastoreQuery) (*FacetedFragments, error) {
	return postByID[QueryDatastoreParams, DatastoreQuery, FacetedFragments](withOptions(ctx, requestOptions{read: true}), id, nil, q, c.endpoints.QueryDatastore)
}

// Facets counts the searchable documents that match the filters, which may be nil. For each metadata key, it returns
// the most frequent values, each with its number of documents. It returns at most `limit` values per key. A limit of 0
// means the server's default.
func (c *Client) Facets(ctx context.Context, id string, filters *Filters, limit int, keys ...string) (*FacetCounts, error) {
	params := &CountFacetsParams{Keys: strings.Join(keys, ",")}
	if limit != 0 {
		params.Limit = &limit
	}
	if filters != nil {
		data, err := json.Marshal(filters)
		if err != nil {
			return nil, fmt.Errorf("encoding the filters: %w", err)
		}
		text := string(data)
		params.Filters = &text
	}
	return callByID[FacetCounts](ctx, id, func(ctx context.Context, id string, options ...RequestEditorFn) (*http.Response, error) {
		return c.endpoints.CountFacets(ctx, id, params, options...)
	})
}

// CountDatasources counts the datastore's datasources by status.
func (c *Client) CountDatasources(ctx context.Context, id string) (*DatasourceCounts, error) {
	return callByID[DatasourceCounts](ctx, id, c.endpoints.CountDatasources)
}

// ResyncDatastore re-indexes all of the datastore's content and returns the number of queued datasources.
// ResyncModeReindex uses the stored content; ResyncModeRefresh fetches web content again.
func (c *Client) ResyncDatastore(ctx context.Context, id string, mode ResyncMode) (queued int64, err error) {
	got, err := postByID[ResyncDatastoreParams, Resync, ResyncResult](ctx, id, nil, Resync{Mode: &mode}, c.endpoints.ResyncDatastore)
	return value(got).Queued, err
}

// UpsertDocuments adds up to 1,000 text documents and returns their datasources' ids in the same order. A document
// replaces any existing text document with the same custom_id in its metadata. [Client.Settled] waits until the
// documents are searchable.
//
// If the service rejects some documents, it still stores the others and returns an [*Error] with CodeInvalid. The
// error's fields name the rejected documents, whose ids are empty. [Client.UpsertEach] also returns warnings.
func (c *Client) UpsertDocuments(ctx context.Context, id string, documents ...Document) (ids []string, err error) {
	got, err := c.UpsertEach(ctx, id, documents...)
	if err != nil {
		return nil, err
	}
	var faults []FieldError
	rejected := 0
	for _, r := range got.Results {
		if r.Status == DocumentResultStatusRejected {
			rejected++
			faults = append(faults, value(r.Errors)...)
		}
	}
	if rejected > 0 {
		return got.Ids, &Error{
			Status: http.StatusOK, Code: CodeInvalid, Fields: faults,
			Message: fmt.Sprintf("%d of %d documents were rejected; the others are stored", rejected, len(got.Results)),
		}
	}
	return got.Ids, nil
}

// UpsertEach is like UpsertDocuments but returns one result per document. Rejected documents are not an error.
func (c *Client) UpsertEach(ctx context.Context, id string, documents ...Document) (*UpsertResponse, error) {
	return postByID[UpsertDocumentsParams, UpsertRequest, UpsertResponse](ctx, id, nil, UpsertRequest{Documents: documents},
		c.endpoints.UpsertDocuments)
}

// UpdateDocument replaces a datasource's content. The old content stays searchable until the new content is.
func (c *Client) UpdateDocument(ctx context.Context, id string, u UpdateRequest) error {
	_, err := postByID[UpdateDocumentParams, UpdateRequest, UpdateResponse](ctx, id, nil, u, c.endpoints.UpdateDocument)
	return err
}
