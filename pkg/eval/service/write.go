package service

import (
	"bytes"
	"context"

	"github.com/sluice/sluice/pkg/client"
)

// Chunking is the chunk size in tokens. The service applies its defaults for zero values.
type Chunking struct {
	TargetTokens int
	MaxTokens    int
}

// NewDatastore describes a datastore to create. The service applies its defaults for empty fields.
type NewDatastore struct {
	Name           string
	Type           string // engine
	EmbeddingModel string
	Chunking       *Chunking
}

// CreateDatastore creates a datastore.
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

// Upload uploads a file and returns its datasource. The file is searchable once the datasource has the status synched.
func (s *Service) Upload(ctx context.Context, datastoreID, name string, content []byte) (Datasource, error) {
	made, err := s.client.Upload(ctx, datastoreID, client.File{Name: name, Content: bytes.NewReader(content)})
	return datasourceOf(value(made)), err
}

// Document is a text document to upload. It replaces any document with the same custom id.
type Document struct {
	CustomID string
	Name     string // "" means the beginning of the text
	Text     string
}

// Upsert uploads up to 1,000 documents (at most 10 MiB of JSON) and returns their datasources' ids in order. The
// documents are searchable once their datasources have the status synched; Settled waits for that.
func (s *Service) Upsert(ctx context.Context, datastoreID string, documents []Document) (ids []string, err error) {
	items := make([]client.Document, len(documents))
	for i, d := range documents {
		items[i] = client.Document{Text: d.Text, Name: set(d.Name), Metadata: &client.Document_Metadata{CustomId: &d.CustomID}}
	}
	return s.client.UpsertDocuments(ctx, datastoreID, items...)
}

// Settled waits until all datasources of the datastore have been processed.
func (s *Service) Settled(ctx context.Context, datastoreID string) error {
	return s.client.Settled(ctx, datastoreID, nil)
}

// Watch subscribes to changes in a datastore and returns once the subscription is active. The caller must then call the
// returned `changes` function, which calls `each` for every changed datasource until the context is done or `each`
// fails.
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
