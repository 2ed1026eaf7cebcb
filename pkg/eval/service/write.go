package service

import (
	"bytes"
	"context"

	"github.com/sluice/sluice/pkg/client"
)

// Chunking is how large the chunks of a datastore are, in tokens. Zero values leave the choice to the service.
type Chunking struct {
	TargetTokens int
	MaxTokens    int
}

// NewDatastore describes a datastore to make. What is empty is the service's choice.
type NewDatastore struct {
	Name           string
	Type           string // the engine
	EmbeddingModel string
	Chunking       *Chunking
}

// CreateDatastore makes a datastore.
func (s *Service) CreateDatastore(ctx context.Context, d NewDatastore) (Datastore, error) {
	asked := client.DatastoreCreate{Name: d.Name, Type: set(client.Engine(d.Type)), EmbeddingModel: set(d.EmbeddingModel)}
	if d.Chunking != nil {
		asked.Chunking = &client.ChunkingPatch{TargetTokens: set(d.Chunking.TargetTokens), MaxTokens: set(d.Chunking.MaxTokens)}
	}
	made, err := s.client.CreateDatastore(ctx, asked)
	return datastoreOf(value(made)), err
}

// DeleteDatastore deletes a datastore with all its content.
func (s *Service) DeleteDatastore(ctx context.Context, id string) error {
	return s.client.DeleteDatastore(ctx, id)
}

// Upload hands a file in and returns its datasource. It is searchable when its status is synched.
func (s *Service) Upload(ctx context.Context, datastoreID, name string, content []byte) (Datasource, error) {
	made, err := s.client.Upload(ctx, datastoreID, client.File{Name: name, Content: bytes.NewReader(content)})
	return datasourceOf(value(made)), err
}

// Document is a text to take in. One with the custom id of another replaces it.
type Document struct {
	CustomID string
	Name     string // "": the beginning of the text
	Text     string
}

// Upsert hands documents in, at most 1,000, and 10 MiB of JSON, at once, and returns the ids of their datasources, in
// order. They are searchable when their status is synched; Settled waits for all.
func (s *Service) Upsert(ctx context.Context, datastoreID string, documents []Document) (ids []string, err error) {
	items := make([]client.Document, len(documents))
	for i, d := range documents {
		items[i] = client.Document{Text: d.Text, Name: set(d.Name), Metadata: &client.Document_Metadata{CustomId: &d.CustomID}}
	}
	return s.client.UpsertDocuments(ctx, datastoreID, items...)
}

// Settled waits until no datasource of the datastore waits or is worked on.
func (s *Service) Settled(ctx context.Context, datastoreID string) error {
	return s.client.Settled(ctx, datastoreID, nil)
}

// Watch follows a datastore. It returns once the service watches; changes then come to the function that it returns, which
// calls each for every datasource as it has become, until the context ends or each fails. That function must be called.
func (s *Service) Watch(ctx context.Context, datastoreID string) (changes func(each func(Datasource) error) error, err error) {
	news, err := s.client.WatchDatastore(ctx, datastoreID)
	if err != nil {
		return nil, err
	}
	return func(each func(Datasource) error) error {
		for change, err := range news {
			if d := change.Datasource; err == nil && d != nil {
				err = each(Datasource{ID: d.Id, Name: d.Name, Type: string(d.Type), Status: string(d.Status), Error: value(d.Error), Chunks: d.Chunks})
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}
