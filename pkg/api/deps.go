package api

import (
	"context"
	"io"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Sealer encrypts the headers of a protected site.
type Sealer interface {
	// Seal encrypts headers for the origin of an address, so that only crawlers can open them.
	Seal(workspaceID, address string, headers map[string]string) (*domain.SiteAccess, error)
}

// Originals keeps raw content.
type Originals interface {
	// Put stores all of r as a datasource's content, under a fresh key, and returns once it is safe.
	Put(ctx context.Context, datasourceID, name, mimeType string, r io.Reader) (domain.Original, error)
	// Get returns the content under a key, which must be closed; domain.CodeNotFound when it is no longer kept. A reader
	// fails in place of ending when the content differs from the stored one.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes content that no row refers to.
	Delete(ctx context.Context, key string) error
}

// ChunkReader reads the chunks of a datasource's active generation in order.
type ChunkReader interface {
	// Chunks returns up to limit chunks from the ordinal on.
	Chunks(ctx context.Context, d domain.Datasource, fromOrdinal, limit int) ([]domain.Chunk, error)
}

// Retriever finds fragments.
type Retriever interface {
	// Retrieve returns at most TopK fragments, best first. Rerank: true where there is no reranker is domain.CodeInvalid.
	Retrieve(ctx context.Context, r retrieve.Request) (retrieve.Result, error)
}

// Answerer answers questions and keeps the conversations they belong to.
type Answerer interface {
	// Answer calls emit with every piece of the text as it comes, and returns the whole. It stops when emit fails or
	// ctx ends. It does not call emit after it has returned, nor from two goroutines at once. A nil emit means
	// that no client waits for pieces. A ConversationID of another workspace or agent is domain.CodeNotFound. The tokens used are
	// set also when the answer failed.
	Answer(ctx context.Context, r answer.Request, emit func(text string) error) (answer.Answer, error)
}

// Watcher reports changes to datasources.
type Watcher interface {
	// Watch returns a channel that receives the id of every datasource of the datastore whose row has changed, after
	// the change is stored. It is closed when ctx ends or nothing more can be told. A slow reader may miss ids.
	Watch(ctx context.Context, datastoreID string) (<-chan string, error)
	// Changed has all who watch the datastore told of a datasource whose row has changed, or is gone. It must not block.
	Changed(datastoreID, datasourceID string)
}

// Check asks one dependency whether it can serve.
type Check struct {
	Name  string
	Ready func(ctx context.Context) error
	// Degrades says that without it the service can do part of its work: it then stays ready.
	Degrades bool
	// Note, if set, says what the dependency lacks, "" when nothing.
	Note func(ctx context.Context) string
}
