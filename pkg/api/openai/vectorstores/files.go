package vectorstores

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

const (
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusFailed     = "failed"
	statusCancelled  = "cancelled"
)

// statuses maps each file status to the datasource statuses it stands for. Skipped datasources are pages from web
// sites; they are shown as cancelled.
var statuses = map[string][]domain.Status{
	statusInProgress: {domain.StatusUnsynched, domain.StatusPending, domain.StatusRunning},
	statusCompleted:  {domain.StatusSynched},
	statusFailed:     {domain.StatusError},
	statusCancelled:  {domain.StatusSkipped},
}

func statusOf(s domain.Status) string {
	for name, all := range statuses {
		if slices.Contains(all, s) {
			return name
		}
	}
	return statusInProgress
}

// fileObject is a file in a vector store as OpenAI's clients see it.
type fileObject struct {
	ID               string         `json:"id"`
	Object           string         `json:"object"` // always "vector_store.file"
	CreatedAt        int64          `json:"created_at"`
	UsageBytes       int64          `json:"usage_bytes"`
	VectorStoreID    string         `json:"vector_store_id"`
	Status           string         `json:"status"`
	LastError        *lastError     `json:"last_error"`
	ChunkingStrategy strategy       `json:"chunking_strategy"`
	Attributes       map[string]any `json:"attributes"`
}

type lastError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// publicID returns the datasource's file id as OpenAI's clients see it.
func publicID(d domain.Datasource) string {
	if id := d.FileID(); id != "" {
		return openai.File.ID(id)
	}
	return openai.File.ID(d.ID)
}

func (h *handler) renderFile(d domain.Datasource, store domain.Datastore) fileObject {
	out := fileObject{
		ID: publicID(d), Object: "vector_store.file", CreatedAt: openai.Unix(d.CreatedAt), UsageBytes: d.TextBytes, VectorStoreID: openai.VectorStore.ID(d.DatastoreID),
		Status: statusOf(d.Status), ChunkingStrategy: renderChunking(d.Config.Chunking, store.Chunking), Attributes: attributesIn(d.Metadata),
	}
	if out.Status == statusFailed {
		out.LastError = &lastError{Code: h.errorCode(d), Message: d.Error}
	}
	return out
}

// errorCode returns OpenAI's code for why a file failed.
func (h *handler) errorCode(d domain.Datasource) string {
	switch {
	case d.Original != nil && !h.Types[d.Config.MIMEType]:
		return "unsupported_file"
	case d.Progress.Stage == domain.StageUnreadable:
		return "invalid_file"
	default:
		return "server_error"
	}
}

// newFile is a file that a request adds to a vector store.
type newFile struct {
	FileID           string         `json:"file_id"`
	Attributes       map[string]any `json:"attributes"`
	ChunkingStrategy *strategy      `json:"chunking_strategy"`
}

// check validates the fields. `prefix` is prepended to their names in errors.
func (f newFile) check(faults *openai.Faults, prefix string) catalog.NewFile {
	return catalog.NewFile{
		FileID: fileID(faults, prefix+"file_id", f.FileID), Attributes: attributesOf(faults, prefix+"attributes", f.Attributes),
		Chunking: chunkingOf(faults, prefix+"chunking_strategy", f.ChunkingStrategy),
	}
}

func (h *handler) addFile(c *call) error {
	var body newFile
	if err := openai.Decode(c.gin, &body); err != nil {
		return err
	}
	storeID, err := c.storeID()
	if err != nil {
		return err
	}
	var faults openai.Faults
	f := body.check(&faults, "")
	if err := faults.Err(); err != nil {
		return err
	}
	store, err := h.Store.Datastore(c.ctx, c.ws, storeID)
	if err != nil {
		return c.storeError(err)
	}
	if err := h.Store.CheckStorage(c.ctx, c.ws); err != nil {
		return err
	}
	d, err := h.await(c, store.ID, func() (domain.Datasource, error) { return h.Store.AddFile(c.ctx, c.ws, store.ID, f) })
	if domain.CodeOf(err) == domain.CodeNotFound {
		return missing(missingAt("file_id", body.FileID))
	}
	if err != nil {
		return err
	}
	return c.replyFile(h.renderFile(d, store))
}

// pollHeader tells OpenAI's clients how many milliseconds to wait before polling again.
const pollHeader = "openai-poll-after-ms"

// replyFile sends a file or a batch, asking clients to poll again soon because most files are processed quickly.
func (c *call) replyFile(v any) error {
	c.gin.Header(pollHeader, "250")
	return c.reply(v)
}

// file returns the datasource for the file in the path, and its datastore.
func (h *handler) file(c *call) (domain.Datasource, domain.Datastore, error) {
	storeID, err := c.storeID()
	if err != nil {
		return domain.Datasource{}, domain.Datastore{}, err
	}
	store, err := h.Store.Datastore(c.ctx, c.ws, storeID)
	if err != nil {
		return domain.Datasource{}, store, c.storeError(err)
	}
	id, err := openai.File.Parse(c.gin.Param("file_id"))
	if err != nil {
		return domain.Datasource{}, store, err
	}
	d, err := h.Store.StoredFile(c.ctx, c.ws, storeID, id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		err = domain.Errorf(domain.CodeNotFound, "vector store %s has no file with the id %s", openai.VectorStore.ID(storeID), jsonbody.Describe(c.gin.Param("file_id")))
	}
	return d, store, err
}

func (h *handler) getFile(c *call) error {
	d, store, err := h.file(c)
	if err != nil {
		return err
	}
	return c.replyFile(h.renderFile(d, store))
}

func (h *handler) updateFile(c *call) error {
	var body struct {
		Attributes optional[map[string]any] `json:"attributes"`
	}
	if err := openai.Decode(c.gin, &body); err != nil {
		return err
	}
	var faults openai.Faults
	if !body.Attributes.given {
		faults.Add("attributes", `is required; send an object, or null to remove all attributes`)
	}
	var attributes map[string]any
	if body.Attributes.value != nil {
		attributes = attributesOf(&faults, "attributes", *body.Attributes.value)
	}
	if err := faults.Err(); err != nil {
		return err
	}
	d, store, err := h.file(c)
	if err != nil {
		return err
	}
	metadata := withAttributes(d.Metadata, attributes)
	d, err = h.await(c, store.ID, func() (domain.Datasource, error) {
		return h.Store.Describe(c.ctx, c.ws, d.ID, catalog.Description{Metadata: &metadata}, domain.NewIngestJob(d, store))
	})
	if err != nil {
		return err
	}
	return c.replyFile(h.renderFile(d, store))
}

func (h *handler) deleteFile(c *call) error {
	d, _, err := h.file(c)
	if err != nil {
		return err
	}
	if _, err := h.Store.DeleteDatasource(c.ctx, c.ws, d.ID); err != nil {
		return err
	}
	h.Watcher.Changed(d.DatastoreID, d.ID)
	return c.reply(deleted{ID: publicID(d), Object: "vector_store.file.deleted", Deleted: true})
}

func (c *call) filter() ([]domain.Status, error) {
	text := c.gin.Query("filter")
	if text == "" {
		return nil, nil
	}
	of, ok := statuses[text]
	if !ok {
		return nil, domain.Invalid("filter", "is %s; it must be one of %s", jsonbody.Describe(text), strings.Join([]string{statusInProgress, statusCompleted, statusFailed, statusCancelled}, ", "))
	}
	return of, nil
}

func (h *handler) listFiles(c *call) error {
	storeID, err := c.storeID()
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
	page, more, err := h.Store.FilesOfStore(c.ctx, c.ws, storeID, filter, p)
	if err != nil {
		return c.storeError(err)
	}
	shown := make([]fileObject, len(page))
	for i, d := range page {
		shown[i] = h.renderFile(d, store)
	}
	return c.reply(openai.NewList(shown, more, func(o fileObject) string { return o.ID }))
}

// Number of chunks read at a time.
const contentPage = 200

// content sends a file's text, one element per chunk.
func (h *handler) content(c *call) error {
	d, _, err := h.file(c)
	if err != nil {
		return err
	}
	if err := admit.OpenStream(c.gin, c.ws); err != nil {
		return err
	}
	// Read the first chunks before the response begins, so that an error can be reported if the index is unavailable.
	chunks, err := h.Chunks.Chunks(c.ctx, d, 0, contentPage)
	if err != nil {
		return err
	}
	head, err := json.Marshal(map[string]any{"file_id": publicID(d), "filename": d.Name, "attributes": attributesIn(d.Metadata)})
	if err != nil {
		return err
	}
	c.gin.Header("Content-Type", "application/json")
	c.gin.Status(http.StatusOK)
	out := transfer.TimedWriter(c.gin.Writer, h.WriteTimeout)
	write := func(text []byte) {
		if err == nil {
			_, err = out.Write(text)
		}
	}
	write([]byte(`{"object":"vector_store.file_content.page","has_more":false,"next_page":null,` + string(head[1:len(head)-1]) + `,"data":[`))
	for first := true; len(chunks) > 0 && err == nil; {
		for _, chunk := range chunks {
			element, encodeErr := json.Marshal(map[string]string{"type": "text", "text": chunk.Text})
			if err == nil {
				err = encodeErr
			}
			if !first {
				write([]byte(","))
			}
			first = false
			write(element)
		}
		if len(chunks) < contentPage || err != nil {
			break
		}
		chunks, err = h.Chunks.Chunks(c.ctx, d, chunks[len(chunks)-1].Ordinal+1, contentPage)
	}
	write([]byte("]}"))
	if err != nil { // abort the connection, so that no client mistakes a truncated file for a complete one
		if !problem.IsClientGone(c.ctx, err) {
			h.Log.Error("sending a file's text failed partway", "request", problem.RequestID(c.ctx), "datasource", d.ID, "error", err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}
