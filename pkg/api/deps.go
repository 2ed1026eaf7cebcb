package api

import (
	"context"
	"io"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/locate"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Sealer encrypts a protected site's headers.
type Sealer interface {
	// Seal encrypts the headers for the address's origin. Only crawlers can decrypt them.
	Seal(workspaceID, address string, headers map[string]string) (*domain.SiteAccess, error)
}

// Originals stores the original content of datasources.
type Originals interface {
	// Put reads r to EOF and stores it as the datasource's content under a new key. The content is durable once Put
	// returns.
	Put(ctx context.Context, datasourceID, name, mimeType string, r io.Reader) (domain.Original, error)
	// Get returns the content stored under the key after verifying it, or domain.CodeNotFound if the content has been
	// removed or is damaged. If it becomes damaged later, Read returns an error instead of io.EOF. The caller must
	// close the reader.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes content. The catalog must no longer have a row that refers to it.
	Delete(ctx context.Context, key string) error
}

// ChunkReader reads the chunks in a datasource's active generation, in order.
type ChunkReader interface {
	// Chunks returns at most `limit` chunks, starting with number fromOrdinal.
	Chunks(ctx context.Context, d domain.Datasource, fromOrdinal, limit int) ([]domain.Chunk, error)
}

// Retriever finds fragments.
type Retriever interface {
	// Retrieve returns at most TopK fragments, best first. If Rerank is true but there is no reranker, it returns
	// domain.CodeInvalid.
	Retrieve(ctx context.Context, r retrieve.Request) (retrieve.Result, error)
	// Facets counts documents by the values of their metadata keys.
	Facets(ctx context.Context, r retrieve.FacetRequest) (domain.Facets, error)
}

// Answerer answers questions and stores their conversations.
type Answerer interface {
	// Answer answers a question and returns the whole answer. Unless `emit` is nil, Answer calls it with the text as it
	// arrives, never concurrently and never after returning. It stops when emit fails or ctx is done. If ConversationID
	// belongs to another workspace or agent, Answer returns domain.CodeNotFound. The token counts are set even if it
	// fails.
	Answer(ctx context.Context, r answer.Request, emit func(text string) error) (answer.Answer, error)
}

// Locator finds where passages are on PDF pages.
type Locator interface {
	// Locate returns each passage's rectangles on its page, one list per span. If a span's text is not found, its list
	// is empty.
	Locate(ctx context.Context, workspaceID string, passages []locate.Passage) [][][]domain.PageRectangle
	// LocateSpans sets the page and rectangles for every span from a PDF.
	LocateSpans(ctx context.Context, workspaceID string, answers ...locate.Answer)
}

// Watcher reports changes to datasources.
type Watcher interface {
	// Watch returns a channel that receives a datasource's id after each stored change to one of the datastore's
	// datasources. The channel is closed when ctx is done or the watch fails. Slow readers may miss ids.
	Watch(ctx context.Context, datastoreID string) (<-chan string, error)
	// Changed notifies all of the datastore's watchers that a datasource was changed or deleted. It must not block.
	Changed(datastoreID, datasourceID string)
}

// Check is the health check of one dependency.
type Check struct {
	Name  string
	Ready func(ctx context.Context) error
	// Degrades means that the service stays ready while the dependency is down, because parts of it still work.
	Degrades bool
	// Note describes a working dependency's limitation, or returns "" if there is none. It may be nil.
	Note func(ctx context.Context) string
}
