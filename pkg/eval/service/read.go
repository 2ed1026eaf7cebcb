package service

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/sluice/sluice/pkg/client"
)

// Query is a search in one datastore. Zero fields are not sent, so the service uses its defaults for them.
type Query struct {
	Text   string
	TopK   int
	Mode   string // lexical, dense or hybrid
	Rerank *bool  // nil means true if a reranker is configured

	Filters *Filters // nil means no filter
}

// Filters restrict a search to some documents. A document must match every field that is set.
type Filters struct {
	CustomIDs     []string
	DatasourceIDs []string
	JSON          json.RawMessage // filters as in the API, without the ids above; nil means none
}

func (f *Filters) request() (*client.Filters, error) {
	if f == nil {
		return nil, nil
	}
	out := &client.Filters{}
	if f.JSON != nil {
		if err := json.Unmarshal(f.JSON, out); err != nil {
			return nil, fmt.Errorf("parsing the filters %.200s: %w", f.JSON, err)
		}
	}
	if len(f.CustomIDs) > 0 {
		out.CustomIds = &f.CustomIDs
	}
	if len(f.DatasourceIDs) > 0 {
		out.DatasourceIds = &f.DatasourceIDs
	}
	return out, nil
}

// Fragment is a search result: part of a document.
type Fragment struct {
	Text           string
	Score          float64
	Source         string
	DatasourceID   string
	DatasourceName string
	CustomID       string
	ChunkID        string
	Offset         int // byte offset in the document's text
}

func (q Query) request() (client.DatastoreQuery, error) {
	filters, err := q.Filters.request()
	return client.DatastoreQuery{Query: q.Text, TopK: set(q.TopK), Mode: set(client.SearchMode(q.Mode)), Rerank: q.Rerank, Filters: filters}, err
}

// Query returns the fragments for a query, best first.
func (s *Service) Query(ctx context.Context, datastoreID string, q Query) ([]Fragment, error) {
	asked, err := q.request()
	if err != nil {
		return nil, err
	}
	found, err := s.client.QueryDatastore(ctx, datastoreID, asked)
	if err != nil {
		return nil, err
	}
	fragments := make([]Fragment, len(found))
	for i, f := range found {
		fragments[i] = Fragment{
			Text: f.Text, Score: f.Score, Source: f.Source, DatasourceID: f.DatasourceId, DatasourceName: f.DatasourceName,
			CustomID: value(f.CustomId), ChunkID: f.ChunkId, Offset: f.Offset,
		}
	}
	return fragments, nil
}

// Explained is a query result with an explanation of the ranking.
type Explained struct {
	Fragments []ExplainedFragment // best first
	Dropped   []DroppedChunk      // best chunks that were not returned
}

// ExplainedFragment is a search result with its ranks.
type ExplainedFragment struct {
	Fragment
	Ranks
	Merged []string // ids of adjacent chunks whose text is part of the fragment
}

// Ranks holds the 1-based rank of a fragment's best chunk after each ranking stage. 0 means that the stage did not find
// the chunk.
type Ranks struct {
	Lexical, Dense int
	Fused          int // by the weighted sum of both legs' scores
	Adjusted       int // after adding shares of neighbouring chunks' scores and penalising lists of links
	Reranked       int // by the reranker
}

// DroppedChunk is a candidate that was not returned.
type DroppedChunk struct {
	ChunkID string
	Reason  string // e.g. duplicate or merged
	For     string // id of the chunk returned instead
}

// Explain is like Query, but also returns how the fragments were ranked.
func (s *Service) Explain(ctx context.Context, datastoreID string, q Query) (Explained, error) {
	asked, err := q.request()
	if err != nil {
		return Explained{}, err
	}
	found, err := s.client.ExplainQuery(ctx, datastoreID, asked)
	if err != nil {
		return Explained{}, err
	}
	var out Explained
	for _, f := range found.Fragments {
		out.Fragments = append(out.Fragments, ExplainedFragment{
			Fragment: Fragment{
				Text: f.Text, Score: f.Score, Source: f.Source, DatasourceID: f.DatasourceId, DatasourceName: f.DatasourceName,
				CustomID: value(f.CustomId), ChunkID: f.ChunkId, Offset: f.Offset,
			},
			Ranks: Ranks{
				Lexical: value(f.Explanation.LexicalRank), Dense: value(f.Explanation.DenseRank), Fused: f.Explanation.FusedRank,
				Adjusted: f.Explanation.Rank, Reranked: value(f.Explanation.RerankedRank),
			},
			Merged: f.Explanation.Merged,
		})
	}
	for _, d := range found.Explanation.Dropped.Chunks {
		out.Dropped = append(out.Dropped, DroppedChunk{ChunkID: d.ChunkId, Reason: string(d.Reason), For: value(d.RepresentedBy)})
	}
	return out, nil
}

// Datastore describes a datastore.
type Datastore struct {
	ID             string
	Name           string
	Type           string // engine: embedded or milvus
	EmbeddingModel string
	ChunkTokens    int // target chunk size
}

// Datastore returns one datastore.
func (s *Service) Datastore(ctx context.Context, id string) (Datastore, error) {
	d, err := s.first.GetDatastore(ctx, id)
	return datastoreOf(value(d)), err
}

func datastoreOf(d client.Datastore) Datastore {
	return Datastore{ID: d.Id, Name: d.Name, Type: string(d.Type), EmbeddingModel: d.EmbeddingModel, ChunkTokens: d.Chunking.TargetTokens}
}

// Datasource is a document, page or web site in a datastore.
type Datasource struct {
	ID       string
	Name     string
	Type     string
	Status   string
	CustomID string
	Error    string
	Chunks   int64
	URL      string // address of the page or site
}

// Chunk is an indexed section of a datasource's text.
type Chunk struct {
	ID      string
	Ordinal int
	Text    string
	Heading string
}

// Datastores calls `each` for every datastore the key may read. It stops when `each` returns an error.
func (s *Service) Datastores(ctx context.Context, each func(Datastore) error) error {
	return forEach(s.first.ListDatastores(ctx), datastoreOf, each)
}

// Datasources calls `each` for every datasource in the datastore and stops when `each` returns an error. If `status` is
// not "", it passes only datasources that have this status.
func (s *Service) Datasources(ctx context.Context, datastoreID, status string, each func(Datasource) error) error {
	return forEach(s.client.ListDatasources(ctx, &client.ListDatasourcesParams{DatastoreId: &datastoreID, Status: set(client.DatasourceStatus(status))}),
		datasourceOf, each)
}

// Datasource returns one datasource.
func (s *Service) Datasource(ctx context.Context, id string) (Datasource, error) {
	d, err := s.client.GetDatasource(ctx, id)
	return datasourceOf(value(d)), err
}

func datasourceOf(d client.Datasource) Datasource {
	address, _ := d.Config["source_url"].(string)
	return Datasource{
		ID: d.Id, Name: d.Name, Type: string(d.Type), Status: string(d.Status), CustomID: value(d.CustomId), Error: value(d.Error),
		Chunks: d.Chunks, URL: address,
	}
}

// Chunks calls `each` for every chunk of the datasource in reading order. It stops when `each` returns an error.
func (s *Service) Chunks(ctx context.Context, datasourceID string, each func(Chunk) error) error {
	return forEach(s.client.ListChunks(ctx, datasourceID), func(c client.Chunk) Chunk {
		return Chunk{ID: c.Id, Ordinal: c.Ordinal, Text: c.Text, Heading: value(c.Heading)}
	}, each)
}

// forEach converts each item of a list with `of` and passes it to `each`. It returns the first error.
func forEach[A, B any](list iter.Seq2[A, error], of func(A) B, each func(B) error) error {
	for item, err := range list {
		if err == nil {
			err = each(of(item))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
