package app

import (
	"context"
	"io"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/api"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
	"github.com/sluice/sluice/pkg/originals"
	"github.com/sluice/sluice/pkg/retrieve"
)

// The adapters in this file let packages that do not know one another meet: each says what it needs in its own words.

// indexes is retrieve's view of the engines.
type indexes struct{ embedded index.Index }

func (i indexes) Index(engine domain.Engine) (retrieve.Searcher, error) {
	if engine != domain.EngineEmbedded {
		return nil, domain.Errorf(domain.CodeUnavailable, "the engine %q is not configured here", engine)
	}
	return i.embedded, nil
}

// fragments is the API's view of retrieval.
type fragments struct{ *retrieve.Retriever }

func (f fragments) Retrieve(ctx context.Context, r api.RetrieveRequest) ([]domain.Fragment, error) {
	result, err := f.Retriever.Retrieve(ctx, retrieve.Request{
		WorkspaceID: r.WorkspaceID, Datastores: r.Datastores, Query: r.Query, TopK: r.TopK, Filters: r.Filters,
	})
	return result.Fragments, err
}

// answers is the API's view of the answerer.
type answers struct{ *answer.Answerer }

func (a answers) Answer(ctx context.Context, r api.AnswerRequest, emit func(string) error) (api.Answer, error) {
	got, err := a.Answerer.Answer(ctx, answer.Request(r), emit)
	return api.Answer{
		Text: got.Text, ConversationID: got.ConversationID, VisitorID: got.VisitorID, Sources: got.Sources,
		Tokens: got.PromptTokens + got.CompletionTokens,
	}, err
}

// uploads is the API's view of the store of originals.
type uploads struct {
	store *originals.Store
	max   int64
}

func (u uploads) Put(ctx context.Context, datasourceID, name, mimeType string, r io.Reader) (domain.Original, error) {
	return u.store.Put(ctx, originals.UploadKey(datasourceID), r, originals.PutOptions{MaxBytes: u.max, MIMEType: mimeType, Name: name})
}

func (u uploads) Delete(ctx context.Context, key string) error { return u.store.Delete(ctx, key) }

// chunkReader shows the chunks of a datasource's active generation.
type chunkReader struct {
	catalog *catalog.Catalog
	index   index.Index
	spaces  spaces
}

func (c chunkReader) Chunks(ctx context.Context, d domain.Datasource, from, limit int) ([]domain.Chunk, error) {
	if d.ActiveGeneration == 0 {
		return nil, nil
	}
	in, err := c.spaces.Spaces(ctx, d.DatastoreID)
	if err != nil {
		return nil, err
	}
	rows, err := c.index.Rows(ctx, in[0], d.ID, d.ActiveGeneration, from, limit)
	if err != nil {
		return nil, err
	}
	chunks := make([]domain.Chunk, len(rows))
	for i, r := range rows {
		chunks[i] = domain.Chunk{Ordinal: r.Ordinal, Text: r.Text, Context: r.Context, Heading: r.Heading, Page: r.Page, Offset: r.Offset}
	}
	return chunks, nil
}
