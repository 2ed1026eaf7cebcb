package vectorstores

import (
	"fmt"
	"strings"

	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// counts holds the number of files in each status.
type counts struct {
	InProgress int64 `json:"in_progress"`
	Completed  int64 `json:"completed"`
	Cancelled  int64 `json:"cancelled"`
	Failed     int64 `json:"failed"`
	Total      int64 `json:"total"`
}

func countsOf(byStatus map[domain.Status]int64, missing int64) counts {
	c := counts{Failed: missing, Total: missing}
	for status, n := range byStatus {
		c.Total += n
		switch statusOf(status) {
		case statusCompleted:
			c.Completed += n
		case statusFailed:
			c.Failed += n
		case statusCancelled:
			c.Cancelled += n
		default:
			c.InProgress += n
		}
	}
	return c
}

// object is a vector store as OpenAI's clients see it.
type object struct {
	ID           string            `json:"id"`
	Object       string            `json:"object"` // always "vector_store"
	CreatedAt    int64             `json:"created_at"`
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	UsageBytes   int64             `json:"usage_bytes"`
	FileCounts   counts            `json:"file_counts"`
	Status       string            `json:"status"`
	ExpiresAfter *expiry           `json:"expires_after"`
	ExpiresAt    *int64            `json:"expires_at"`
	LastActiveAt int64             `json:"last_active_at"`
	Metadata     map[string]string `json:"metadata"`
}

func render(v domain.VectorStore) object {
	out := object{
		ID: openai.VectorStore.ID(v.ID), Object: "vector_store", CreatedAt: openai.Unix(v.CreatedAt), Name: v.Name, Description: v.Description,
		UsageBytes: v.TextBytes, FileCounts: countsOf(v.Counts, 0), Status: "completed", ExpiresAt: openai.OptionalUnix(v.ExpiresAt),
		LastActiveAt: openai.Unix(v.LastActiveAt), Metadata: v.Metadata,
	}
	if v.ExpiresDays > 0 {
		out.ExpiresAfter = &expiry{Anchor: "last_active_at", Days: v.ExpiresDays}
	}
	switch {
	case v.Expired:
		out.Status = "expired"
	case out.FileCounts.InProgress > 0:
		out.Status = "in_progress"
	}
	if out.Metadata == nil {
		out.Metadata = map[string]string{}
	}
	return out
}

// Maximum number of files in a new vector store.
const maxFilesAtCreation = 500

// defaultName is the name given to a vector store created without one, because datastores must have a name.
const defaultName = "Vector store"

func (h *handler) create(c *call) error {
	var body struct {
		Name             string         `json:"name"`
		Description      string         `json:"description"`
		FileIDs          []string       `json:"file_ids"`
		ChunkingStrategy *strategy      `json:"chunking_strategy"`
		ExpiresAfter     *expiry        `json:"expires_after"`
		Metadata         map[string]any `json:"metadata"`
	}
	if err := openai.Decode(c.gin, &body); err != nil {
		return err
	}
	var faults openai.Faults
	checkChars(&faults, "name", body.Name, maxNameChars)
	checkChars(&faults, "description", body.Description, maxDescriptionChars)
	options := domain.VectorStoreOptions{Metadata: metadataOf(&faults, "metadata", body.Metadata), ExpiresDays: daysOf(&faults, body.ExpiresAfter)}
	chunking := chunkingOf(&faults, "chunking_strategy", body.ChunkingStrategy)
	var files []catalog.NewFile
	for _, id := range fileIDs(&faults, "file_ids", body.FileIDs, maxFilesAtCreation) {
		files = append(files, catalog.NewFile{FileID: id, Chunking: chunking})
	}
	if err := faults.Err(); err != nil {
		return err
	}
	d := domain.Datastore{
		ID: idempotency.ID(c.ctx, h.NewID, "datastore"), WorkspaceID: c.ws, Name: strings.TrimSpace(body.Name), Description: body.Description,
		Visibility: domain.Private, Type: h.Engine, EmbeddingModel: h.Model,
	}
	if d.Name == "" {
		d.Name = defaultName
	}
	if chunking != nil {
		d.Chunking = chunking.Chunking()
	}
	if len(files) > 0 {
		if err := h.Store.CheckStorage(c.ctx, c.ws); err != nil {
			return err
		}
	}
	v, err := idempotency.CreateOnce(c.ctx, func() (domain.VectorStore, error) { return h.Store.VectorStore(c.ctx, c.ws, d.ID) },
		func() (domain.VectorStore, error) { return h.Store.CreateVectorStore(c.ctx, d, options, files) })
	if domain.CodeOf(err) == domain.CodeNotFound { // a file is missing
		return h.missingFiles(c, "file_ids", body.FileIDs)
	}
	if err != nil {
		return err
	}
	if n := len(files); n > 0 && n <= maxAwaited {
		if v, err = h.awaitStore(c, v); err != nil {
			return err
		}
	}
	return c.reply(render(v))
}

// missingFiles returns an error naming the ids of nonexistent files in a list. `field` is the list's name in the
// request.
func (h *handler) missingFiles(c *call, field string, ids []string) error {
	var faults []domain.FieldError
	for i, text := range ids {
		id, err := openai.File.Parse(text)
		if err == nil {
			_, err = h.Store.File(c.ctx, c.ws, id)
		}
		if domain.CodeOf(err) == domain.CodeNotFound {
			faults = append(faults, missingAt(fmt.Sprintf("%s[%d]", field, i), text))
		} else if err != nil {
			return err
		}
	}
	if len(faults) == 0 {
		return domain.Errorf(domain.CodeNotFound, "a file was deleted in the meantime; list the files again")
	}
	return missing(faults...)
}

// missingAt returns the fault for a field that names a nonexistent file.
func missingAt(field, id string) domain.FieldError {
	return domain.FieldError{Field: field, Message: openai.File.NotFound(id).Error()}
}

// missing returns the error for files that do not exist.
func missing(faults ...domain.FieldError) error {
	faults[0].Message += "; upload the file with POST /v1/files and send its id"
	return &domain.Error{Code: domain.CodeNotFound, Message: faults[0].Message, Fields: faults}
}

func (h *handler) list(c *call) error {
	p, err := c.page()
	if err != nil {
		return err
	}
	page, more, err := h.Store.VectorStores(c.ctx, c.ws, p)
	if err != nil {
		return err
	}
	shown := make([]object, len(page))
	for i, v := range page {
		shown[i] = render(v)
	}
	return c.reply(openai.NewList(shown, more, func(o object) string { return o.ID }))
}

func (h *handler) get(c *call) error {
	id, err := c.storeID()
	if err != nil {
		return err
	}
	v, err := h.Store.VectorStore(c.ctx, c.ws, id)
	if err != nil {
		return c.storeError(err)
	}
	return c.reply(render(v))
}

func (h *handler) update(c *call) error {
	var body struct {
		Name         *string                  `json:"name"`
		ExpiresAfter optional[expiry]         `json:"expires_after"`
		Metadata     optional[map[string]any] `json:"metadata"`
	}
	if err := openai.Decode(c.gin, &body); err != nil {
		return err
	}
	id, err := c.storeID()
	if err != nil {
		return err
	}
	var faults openai.Faults
	var patch domain.VectorStorePatch
	if body.Name != nil {
		name := strings.TrimSpace(*body.Name)
		if name == "" {
			name = defaultName
		}
		checkChars(&faults, "name", name, maxNameChars)
		patch.Name = &name
	}
	if body.ExpiresAfter.given {
		days := daysOf(&faults, body.ExpiresAfter.value)
		patch.ExpiresDays = &days
	}
	if body.Metadata.given {
		given := map[string]any{}
		if body.Metadata.value != nil {
			given = *body.Metadata.value
		}
		metadata := metadataOf(&faults, "metadata", given)
		patch.Metadata = &metadata
	}
	if err := faults.Err(); err != nil {
		return err
	}
	v, err := h.Store.UpdateVectorStore(c.ctx, c.ws, id, patch)
	if err != nil {
		return c.storeError(err)
	}
	return c.reply(render(v))
}

func (h *handler) delete(c *call) error {
	id, err := c.storeID()
	if err != nil {
		return err
	}
	if _, err := h.Store.DeleteDatastore(c.ctx, c.ws, id); err != nil {
		return c.storeError(err)
	}
	return c.reply(deleted{ID: openai.VectorStore.ID(id), Object: "vector_store.deleted", Deleted: true})
}
