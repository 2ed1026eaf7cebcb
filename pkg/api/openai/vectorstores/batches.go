package vectorstores

import (
	"fmt"

	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// Maximum number of files per batch, the same as OpenAI's.
const maxBatch = 2000

// batchObject is a file batch as OpenAI's clients see it.
type batchObject struct {
	ID            string `json:"id"`
	Object        string `json:"object"` // always "vector_store.files_batch"
	CreatedAt     int64  `json:"created_at"`
	VectorStoreID string `json:"vector_store_id"`
	Status        string `json:"status"`
	FileCounts    counts `json:"file_counts"`
}

func renderBatch(b domain.FileBatch) batchObject {
	out := batchObject{
		ID: openai.FileBatch.ID(b.ID), Object: "vector_store.files_batch", CreatedAt: openai.Unix(b.CreatedAt), VectorStoreID: openai.VectorStore.ID(b.DatastoreID),
		Status: statusCompleted, FileCounts: countsOf(b.Counts, b.Missing),
	}
	switch n := out.FileCounts; {
	case b.Cancelled:
		out.Status = statusCancelled
	case n.InProgress > 0:
		out.Status = statusInProgress
	case n.Total > 0 && n.Failed == n.Total:
		out.Status = statusFailed
	}
	return out
}

func (h *handler) createBatch(c *call) error {
	var body struct {
		FileIDs          []string       `json:"file_ids"`
		Files            []newFile      `json:"files"`
		Attributes       map[string]any `json:"attributes"`
		ChunkingStrategy *strategy      `json:"chunking_strategy"`
	}
	if err := openai.Decode(c.gin, &body); err != nil {
		return err
	}
	storeID, err := c.storeID()
	if err != nil {
		return err
	}
	var faults openai.Faults
	attributes, chunking := attributesOf(&faults, "attributes", body.Attributes), chunkingOf(&faults, "chunking_strategy", body.ChunkingStrategy)
	var files []catalog.NewFile
	switch {
	case len(body.FileIDs) > 0 && len(body.Files) > 0:
		faults.Add("files", "cannot be combined with file_ids; send only one of them")
	case len(body.FileIDs) == 0 && len(body.Files) == 0:
		faults.Add("file_ids", "is required; send the ids of 1 to %d files, or send files instead", maxBatch)
	case len(body.Files) > maxBatch:
		faults.Add("files", "has %d elements; the limit is %d; send the rest in another batch", len(body.Files), maxBatch)
	case len(body.Files) > 0:
		if attributes != nil || chunking != nil {
			openai.Ignored(c.gin, ignoredOf(attributes != nil, chunking != nil)...)
		}
		for i, f := range body.Files {
			files = append(files, f.check(&faults, fmt.Sprintf("files[%d].", i)))
		}
	default:
		for _, id := range fileIDs(&faults, "file_ids", body.FileIDs, maxBatch) {
			files = append(files, catalog.NewFile{FileID: id, Attributes: attributes, Chunking: chunking})
		}
	}
	if err := faults.Err(); err != nil {
		return err
	}
	if err := h.Store.CheckStorage(c.ctx, c.ws); err != nil {
		return err
	}
	id := idempotency.ID(c.ctx, h.NewID, "file batch")
	b, err := idempotency.CreateOnce(c.ctx, func() (domain.FileBatch, error) { return h.Store.Batch(c.ctx, c.ws, storeID, id) },
		func() (domain.FileBatch, error) { return h.Store.CreateBatch(c.ctx, c.ws, storeID, id, files) })
	if err != nil {
		return c.storeError(err)
	}
	return c.replyFile(renderBatch(b))
}

// ignoredOf returns the batch parameters that are ignored because each file has its own values.
func ignoredOf(attributes, chunking bool) (names []string) {
	if attributes {
		names = append(names, "attributes")
	}
	if chunking {
		names = append(names, "chunking_strategy")
	}
	return names
}

func (c *call) batchIDs() (storeID, batchID string, err error) {
	if storeID, err = c.storeID(); err != nil {
		return "", "", err
	}
	batchID, err = openai.FileBatch.Parse(c.gin.Param("batch_id"))
	return storeID, batchID, err
}

// batchError turns the catalog's error for a missing batch into the one that OpenAI's clients expect. Other errors stay
// unchanged.
func (c *call) batchError(err error) error {
	if domain.CodeOf(err) == domain.CodeNotFound {
		return openai.FileBatch.NotFound(c.gin.Param("batch_id"))
	}
	return err
}

func (h *handler) getBatch(c *call) error {
	storeID, id, err := c.batchIDs()
	if err != nil {
		return err
	}
	b, err := h.Store.Batch(c.ctx, c.ws, storeID, id)
	if err != nil {
		return c.batchError(err)
	}
	return c.replyFile(renderBatch(b))
}

func (h *handler) cancelBatch(c *call) error {
	storeID, id, err := c.batchIDs()
	if err != nil {
		return err
	}
	b, err := h.Store.CancelBatch(c.ctx, c.ws, storeID, id)
	if err != nil {
		return c.batchError(err)
	}
	return c.reply(renderBatch(b))
}

func (h *handler) listBatchFiles(c *call) error {
	storeID, id, err := c.batchIDs()
	if err != nil {
		return err
	}
	p, err := c.page()
	if err != nil {
		return err
	}
	filter, err := c.filter()
	if err != nil {
		return err
	}
	store, err := h.Store.Datastore(c.ctx, c.ws, storeID)
	if err != nil {
		return c.storeError(err)
	}
	page, more, err := h.Store.FilesOfBatch(c.ctx, c.ws, storeID, id, filter, p)
	if err != nil {
		return c.batchError(err)
	}
	b, err := h.Store.Batch(c.ctx, c.ws, storeID, id)
	if err != nil {
		return c.batchError(err)
	}
	shown := make([]fileObject, len(page))
	for i, f := range page {
		if f.MissingFileID == "" {
			shown[i] = h.renderFile(f.Datasource, store)
			continue
		}
		shown[i] = renderMissing(f.MissingFileID, b, store)
	}
	return c.reply(openai.NewList(shown, more, func(o fileObject) string { return o.ID }))
}

// renderMissing renders a batch entry that has no file. Clients see a file that failed.
func renderMissing(id string, b domain.FileBatch, store domain.Datastore) fileObject {
	if domain.ValidID(id) {
		id = openai.File.ID(id)
	}
	return fileObject{
		ID: id, Object: "vector_store.file", CreatedAt: openai.Unix(b.CreatedAt), VectorStoreID: openai.VectorStore.ID(b.DatastoreID), Status: statusFailed,
		LastError:        &lastError{Code: "invalid_file", Message: openai.File.NotFound(id).Error()},
		ChunkingStrategy: renderChunking(nil, store.Chunking), Attributes: map[string]any{},
	}
}
