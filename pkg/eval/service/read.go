package service

import (
	"context"
	"net/http"
	"net/url"
)

// Query is a search in one datastore. Zero values are not sent and leave the choice to the service.
type Query struct {
	Text   string `json:"query"`
	TopK   int    `json:"topK,omitempty"`
	Mode   string `json:"mode,omitempty"`   // lexical, dense or hybrid
	Rerank *bool  `json:"rerank,omitempty"` // nil: where a reranker is configured

	Filters *Filters `json:"filters,omitempty"` // nil: everything
}

// Filters narrow a search to some documents.
type Filters struct {
	CustomIDs []string `json:"custom_ids,omitempty"`
}

// Fragment is a piece of a document that was found.
type Fragment struct {
	Text           string  `json:"text"`
	Score          float64 `json:"score"`
	Source         string  `json:"source"`
	DatasourceID   string  `json:"datasource_id"`
	DatasourceName string  `json:"datasource_name"`
	CustomID       string  `json:"custom_id"`
	ChunkID        string  `json:"chunk_id"`
	Offset         int     `json:"offset"` // bytes from the start of the document's text
}

// Query searches, best fragments first.
func (s *Service) Query(ctx context.Context, datastoreID string, q Query) ([]Fragment, error) {
	var found []Fragment
	err := s.do(ctx, http.MethodPost, "/datastores/"+url.PathEscape(datastoreID)+"/query", q, &found)
	return found, err
}

// Datastore is a datastore as the service describes it.
type Datastore struct {
	ID             string `json:"id"`
	Name           string `json:"name"`
	Type           string `json:"type"` // the engine: embedded or milvus
	EmbeddingModel string `json:"embeddingModel"`
}

// Datastore reads one datastore.
func (s *Service) Datastore(ctx context.Context, id string) (Datastore, error) {
	var d Datastore
	err := s.do(ctx, http.MethodGet, "/datastores/"+url.PathEscape(id), nil, &d)
	return d, err
}

// Datasource is a document, page or web site of a datastore.
type Datasource struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Status   string `json:"status"`
	CustomID string `json:"customId"`
	Error    string `json:"error"`
	Chunks   int64  `json:"chunks"`
	Config   struct {
		SourceURL string `json:"source_url"`
	} `json:"config"`
}

// Chunk is a piece of a datasource, as queries see it.
type Chunk struct {
	ID      string `json:"id"`
	Ordinal int    `json:"ordinal"`
	Text    string `json:"text"`
	Heading string `json:"heading"`
}

// Datastores calls each for every datastore that the key may read, until it fails.
func (s *Service) Datastores(ctx context.Context, each func(Datastore) error) error {
	return list(ctx, s, "/datastores", url.Values{}, each)
}

// Datasources calls each for every datasource of the datastore, until it fails. status, unless it is "", takes only those
// with that status.
func (s *Service) Datasources(ctx context.Context, datastoreID, status string, each func(Datasource) error) error {
	q := url.Values{"datastoreId": {datastoreID}}
	if status != "" {
		q.Set("status", status)
	}
	return list(ctx, s, "/datasources", q, each)
}

// Chunks calls each for every chunk of the datasource in reading order, until it fails.
func (s *Service) Chunks(ctx context.Context, datasourceID string, each func(Chunk) error) error {
	return list(ctx, s, "/datasources/"+url.PathEscape(datasourceID)+"/chunks", url.Values{}, each)
}

// list reads a list page by page.
func list[T any](ctx context.Context, s *Service, path string, q url.Values, each func(T) error) error {
	q.Set("limit", "200")
	for {
		var page struct {
			Data       []T     `json:"data"`
			NextCursor *string `json:"nextCursor"`
		}
		if err := s.do(ctx, http.MethodGet, path+"?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		for _, item := range page.Data {
			if err := each(item); err != nil {
				return err
			}
		}
		if page.NextCursor == nil || *page.NextCursor == "" {
			return nil
		}
		q.Set("cursor", *page.NextCursor)
	}
}
