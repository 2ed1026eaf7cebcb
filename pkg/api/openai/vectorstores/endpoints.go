// Package vectorstores implements OpenAI's endpoints for vector stores, their files and file batches. A vector store is
// a datastore, and a file in it is a datasource.
package vectorstores

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/retrieve"
)

// Store stores vector stores, their files and batches.
type Store interface {
	// CreateVectorStore stores a datastore with its properties and files, all or nothing.
	CreateVectorStore(ctx context.Context, d domain.Datastore, o domain.VectorStoreOptions, files []catalog.NewFile) (domain.VectorStore, error)
	VectorStore(ctx context.Context, ws, id string) (domain.VectorStore, error)
	VectorStores(ctx context.Context, ws string, p catalog.FilePage) (page []domain.VectorStore, more bool, err error)
	UpdateVectorStore(ctx context.Context, ws, id string, p domain.VectorStorePatch) (domain.VectorStore, error)
	Datastore(ctx context.Context, ws, id string) (domain.Datastore, error)
	DeleteDatastore(ctx context.Context, ws, id string) (domain.Datastore, error)

	File(ctx context.Context, ws, id string) (domain.File, error)
	// AddFile adds a file to a datastore. If the file is already there, AddFile applies new attributes or chunk sizes,
	// and processes the file again if it had failed.
	AddFile(ctx context.Context, ws, datastoreID string, f catalog.NewFile) (domain.Datasource, error)
	// StoredFile returns the datasource created from the file fileID. If there is none, it returns the datasource whose
	// own id is fileID, unless that was created from a File.
	StoredFile(ctx context.Context, ws, datastoreID, fileID string) (domain.Datasource, error)
	// UnfinishedFiles counts the datastore's files that aren't processed yet, up to `limit`.
	UnfinishedFiles(ctx context.Context, datastoreID string, limit int) (int, error)
	FilesOfStore(ctx context.Context, ws, datastoreID string, statuses []domain.Status, p catalog.FilePage) (page []domain.Datasource, more bool, err error)
	Datasource(ctx context.Context, ws, id string) (domain.Datasource, error)
	Describe(ctx context.Context, ws, id string, d catalog.Description, job domain.Job) (domain.Datasource, error)
	DeleteDatasource(ctx context.Context, ws, id string) (domain.Datasource, error)

	// CreateBatch adds files to a datastore in one transaction. It records nonexistent files as missing.
	CreateBatch(ctx context.Context, ws, datastoreID, id string, files []catalog.NewFile) (domain.FileBatch, error)
	Batch(ctx context.Context, ws, datastoreID, id string) (domain.FileBatch, error)
	FilesOfBatch(ctx context.Context, ws, datastoreID, id string, statuses []domain.Status, p catalog.FilePage) (page []domain.StoredFile, more bool, err error)
	CancelBatch(ctx context.Context, ws, datastoreID, id string) (domain.FileBatch, error)

	// CheckStorage returns domain.CodeUsageLimit if the workspace has reached its storage limit.
	CheckStorage(ctx context.Context, ws string) error
	// CountDeferred counts usage. The counts are stored a little later.
	CountDeferred(a domain.Account, uses map[domain.Metric]int64)
}

// Watcher reports changes to datasources; see api.Watcher.
type Watcher interface {
	Watch(ctx context.Context, datastoreID string) (<-chan string, error)
	Changed(datastoreID, datasourceID string)
}

// Deps are the endpoints' dependencies. All are required.
type Deps struct {
	Store     Store
	Watcher   Watcher
	Retriever interface {
		Retrieve(ctx context.Context, r retrieve.Request) (retrieve.Result, error)
	}
	Chunks interface {
		// Chunks returns at most `limit` of a datasource's chunks, starting with number fromOrdinal.
		Chunks(ctx context.Context, d domain.Datasource, fromOrdinal, limit int) ([]domain.Chunk, error)
	}
	CheckLength func(field, query string) error // rejects a query that is too long

	Engine       domain.Engine   // for new vector stores
	Model        string          // embedding model for new vector stores
	Types        map[string]bool // file types that can be read
	NewID        func() string
	WriteTimeout time.Duration // time limit for each write of a response
	Log          *slog.Logger
}

// Endpoints returns the endpoints.
func Endpoints(d Deps) []openai.Endpoint {
	h := &handler{d}
	const (
		stores  = "/v1/vector_stores"
		store   = stores + "/:id"
		files   = store + "/files"
		file    = files + "/:file_id"
		batches = store + "/file_batches"
		batch   = batches + "/:batch_id"
	)
	read := func(id, path string, serve func(*call) error) openai.Endpoint {
		return openai.Endpoint{ID: id, Method: http.MethodGet, Path: path, Scope: domain.ScopeRead, Serve: h.serve(serve)}
	}
	post := func(id, path string, serve func(*call) error) openai.Endpoint {
		return openai.Endpoint{ID: id, Method: http.MethodPost, Path: path, Scope: domain.ScopeWrite, Body: openai.JSON, Idempotent: true, Serve: h.serve(serve)}
	}
	remove := func(id, path string, serve func(*call) error) openai.Endpoint {
		return openai.Endpoint{ID: id, Method: http.MethodDelete, Path: path, Scope: domain.ScopeWrite, Serve: h.serve(serve)}
	}
	search := post("SearchVectorStore", store+"/search", h.search)
	search.Scope, search.Idempotent = domain.ScopeRead, false
	cancel := post("CancelFileBatch", batch+"/cancel", h.cancelBatch)
	cancel.Body, cancel.Idempotent = openai.NoBody, false
	return []openai.Endpoint{
		post("CreateVectorStore", stores, h.create),
		read("ListVectorStores", stores, h.list),
		read("GetVectorStore", store, h.get),
		post("UpdateVectorStore", store, h.update),
		remove("DeleteVectorStore", store, h.delete),
		search,
		post("AddVectorStoreFile", files, h.addFile),
		read("ListVectorStoreFiles", files, h.listFiles),
		read("GetVectorStoreFile", file, h.getFile),
		post("UpdateVectorStoreFile", file, h.updateFile),
		remove("DeleteVectorStoreFile", file, h.deleteFile),
		read("GetVectorStoreFileContent", file+"/content", h.content),
		post("CreateFileBatch", batches, h.createBatch),
		read("GetFileBatch", batch, h.getBatch),
		cancel,
		read("ListFileBatchFiles", batch+"/files", h.listBatchFiles),
	}
}

type handler struct{ Deps }
