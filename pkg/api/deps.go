package api

import (
	"context"
	"io"

	"github.com/sluice/sluice/pkg/answer"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/locate"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Sealer encrypts the headers of a protected site.
type Sealer interface {
	// Seal encrypts the headers so that only crawlers can decrypt them, and only for the origin of the address.
	Seal(workspaceID, address string, headers map[string]string) (*domain.SiteAccess, error)
}

// Originals stores the original content of datasources.
type Originals interface {
	// Put reads r to its end and stores it as the datasource's content, under a new key. It returns once the content is
	// stored durably.
	Put(ctx context.Context, datasourceID, name, mimeType string, r io.Reader) (domain.Original, error)
	// Get returns the content stored under the key after verifying it. It fails with domain.CodeNotFound if the content
	// has been removed or is damaged. If the content is damaged afterwards, Read returns an error instead of io.EOF.
	// The caller must close the reader.
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	// Delete removes content that no row refers to.
	Delete(ctx context.Context, key string) error
}

// ChunkReader reads the chunks of a datasource's active generation in order.
type ChunkReader interface {
	// Chunks returns at most `limit` chunks, starting with the chunk whose number is fromOrdinal.
	Chunks(ctx context.Context, d domain.Datasource, fromOrdinal, limit int) ([]domain.Chunk, error)
}

// Retriever finds fragments.
type Retriever interface {
	// Retrieve returns at most TopK fragments, best first. It fails with domain.CodeInvalid if Rerank is true and there
	// is no reranker.
	Retrieve(ctx context.Context, r retrieve.Request) (retrieve.Result, error)
	// Facets counts documents by the values of metadata keys.
	Facets(ctx context.Context, r retrieve.FacetRequest) (domain.Facets, error)
}

// Answerer answers questions and stores their conversations.
type Answerer interface {
	// Answer calls `emit` with every piece of the text as it arrives, and returns the whole answer. It stops when emit
	// fails or ctx is done. It does not call emit after it has returned, nor from two goroutines at once. If `emit` is
	// nil, the text is only returned. Answer fails with domain.CodeNotFound if ConversationID belongs to another
	// workspace or agent. The token counts are set even if it fails.
	Answer(ctx context.Context, r answer.Request, emit func(text string) error) (answer.Answer, error)
}

// Locator finds passages of PDFs on their pages.
type Locator interface {
	// Locate returns the rectangles on the page for each span of each passage. A span whose text is not found has no
	// rectangles.
	Locate(ctx context.Context, workspaceID string, passages []locate.Passage) [][][]domain.PageRectangle
	// LocateSpans sets the page and the rectangles of every span that comes from a PDF.
	LocateSpans(ctx context.Context, workspaceID string, answers ...locate.Answer)
}

// Watcher reports changes to datasources.
type Watcher interface {
	// Watch returns a channel that receives the id of each datasource of the datastore after a change to that
	// datasource has been stored. The channel is closed when ctx is done or the watch fails. A slow reader may miss
	// ids.
	Watch(ctx context.Context, datastoreID string) (<-chan string, error)
	// Changed tells all watchers of the datastore that a datasource was changed or deleted. It must not block.
	Changed(datastoreID, datasourceID string)
}

// Check is the health check of one dependency.
type Check struct {
	Name  string
	Ready func(ctx context.Context) error
	// Degrades means that the service stays ready if the dependency is down, because it can still do part of its work.
	Degrades bool
	// Note returns a sentence about a limitation of a dependency that is up, or "" if there is none. It may be nil.
	Note func(ctx context.Context) string
}
