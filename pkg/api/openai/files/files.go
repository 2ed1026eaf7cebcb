// Package files implements OpenAI's endpoints for files and for uploads in parts. A file is an original that several
// vector stores can share.
package files

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/admit"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/api/upload"
	"github.com/sluice/sluice/pkg/catalog"
	"github.com/sluice/sluice/pkg/domain"
)

// Store stores files and uploads.
type Store interface {
	// StoreFile stores a file that expires after keepFor, or never if keepFor is 0.
	StoreFile(ctx context.Context, f domain.File, keepFor time.Duration) (domain.File, error)
	File(ctx context.Context, ws, id string) (domain.File, error)
	FilesOf(ctx context.Context, ws, purpose string, p catalog.FilePage) (page []domain.File, more bool, err error)
	// DeleteFile deletes the file and removes it from all vector stores.
	DeleteFile(ctx context.Context, ws, id string) error
	// FileDatasource returns a datasource that was not created from a File.
	FileDatasource(ctx context.Context, ws, id string) (domain.Datasource, error)
	DeleteDatasource(ctx context.Context, ws, id string) (domain.Datasource, error)
	// CheckStorage returns domain.CodeUsageLimit if the workspace has reached its storage limit.
	CheckStorage(ctx context.Context, ws string) error

	CreateUpload(ctx context.Context, u domain.Upload) (domain.Upload, error)
	Upload(ctx context.Context, ws, id string) (domain.Upload, error)
	AddPart(ctx context.Context, ws string, p domain.UploadPart) (domain.UploadPart, error)
	UploadParts(ctx context.Context, uploadID string) ([]domain.UploadPart, error)
	CompleteUpload(ctx context.Context, ws, id string, f domain.File) (domain.Upload, domain.File, error)
	CancelUpload(ctx context.Context, ws, id string) (domain.Upload, error)
}

// Originals stores content; see api.Originals.
type Originals interface {
	Put(ctx context.Context, ownerID, name, mimeType string, r io.Reader) (domain.Original, error)
	Get(ctx context.Context, key string) (io.ReadCloser, error)
	Delete(ctx context.Context, key string) error
}

// Deps are the endpoints' dependencies. All are required.
type Deps struct {
	Store      Store
	Originals  Originals
	DetectType func(head []byte, name, declared string) string
	Uploads    upload.Options // file limits
	NewID      func() string
	Log        *slog.Logger

	WriteTimeout time.Duration // time limit for each write of a file
}

// Endpoints returns the endpoints.
func Endpoints(d Deps) []openai.Endpoint {
	h := &handler{d}
	return []openai.Endpoint{
		{ID: "CreateFile", Method: http.MethodPost, Path: "/v1/files", Scope: domain.ScopeWrite, Body: openai.Multipart, Idempotent: true, Serve: h.create},
		{ID: "ListFiles", Method: http.MethodGet, Path: "/v1/files", Scope: domain.ScopeRead, Serve: h.list},
		{ID: "GetFile", Method: http.MethodGet, Path: "/v1/files/:id", Scope: domain.ScopeRead, Serve: h.get},
		{ID: "DeleteFile", Method: http.MethodDelete, Path: "/v1/files/:id", Scope: domain.ScopeWrite, Serve: h.delete},
		{ID: "GetFileContent", Method: http.MethodGet, Path: "/v1/files/:id/content", Scope: domain.ScopeRead, Serve: h.content},
		{ID: "CreateUpload", Method: http.MethodPost, Path: "/v1/uploads", Scope: domain.ScopeWrite, Body: openai.JSON, Idempotent: true, Serve: h.createUpload},
		{ID: "AddUploadPart", Method: http.MethodPost, Path: "/v1/uploads/:id/parts", Scope: domain.ScopeWrite, Body: openai.Multipart, Idempotent: true, Serve: h.addPart},
		{ID: "CompleteUpload", Method: http.MethodPost, Path: "/v1/uploads/:id/complete", Scope: domain.ScopeWrite, Body: openai.JSON, Serve: h.completeUpload},
		{ID: "CancelUpload", Method: http.MethodPost, Path: "/v1/uploads/:id/cancel", Scope: domain.ScopeWrite, Serve: h.cancelUpload},
	}
}

type handler struct{ Deps }

// maxFiles is the maximum and default number of files per page, the same as OpenAI's.
const maxFiles = 10_000

// object is a file as OpenAI's clients see it.
type object struct {
	ID        string `json:"id"`
	Object    string `json:"object"` // always "file"
	Bytes     int64  `json:"bytes"`
	CreatedAt int64  `json:"created_at"`
	ExpiresAt *int64 `json:"expires_at"`
	Filename  string `json:"filename"`
	Purpose   string `json:"purpose"`
	Status    string `json:"status"` // always "processed": clients wait for it, and vector stores do the processing
	Details   any    `json:"status_details"`
}

func render(f domain.File) object {
	return object{
		ID: openai.File.ID(f.ID), Object: "file", Bytes: f.Original.Size, CreatedAt: openai.Unix(f.CreatedAt), ExpiresAt: openai.OptionalUnix(f.ExpiresAt),
		Filename: f.Name, Purpose: f.Purpose, Status: "processed",
	}
}

func (h *handler) create(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	ws := caller.Workspace()
	form, err := h.receive(c, ws, "file", h.Uploads.MaxBytes, "purpose", "expires_after", "expires_after[anchor]", "expires_after[seconds]")
	defer h.close(form)
	if err != nil {
		return err
	}
	purpose := form.Fields["purpose"]
	checkPurpose(form.Fault, purpose)
	keepFor := keepForOf(form.Fault, purpose, expiryOfForm(form))
	if err := form.CheckFile("file"); err != nil {
		return err
	}
	head, err := form.Head()
	if err != nil {
		return err
	}
	f := domain.File{ID: idempotency.ID(ctx, h.NewID, "file"), WorkspaceID: ws, Name: form.Name(), Purpose: purpose}
	f, err = idempotency.CreateOnce(ctx, func() (domain.File, error) { return h.Store.File(ctx, ws, f.ID) }, func() (domain.File, error) {
		var err error
		if f.Original, err = h.Originals.Put(ctx, f.ID, f.Name, h.DetectType(head, f.Name, form.Declared), form.File); err != nil {
			return f, err
		}
		stored, err := h.Store.StoreFile(ctx, f, keepFor)
		h.dropRefused(ctx, err, f.Original)
		return stored, err
	})
	if err != nil {
		return err
	}
	return openai.Reply(c, render(f))
}

// receive reads a form with a file. The caller must close the form.
func (h *handler) receive(c *gin.Context, ws, file string, maxBytes int64, fields ...string) (*upload.Form, error) {
	ctx := c.Request.Context()
	if !idempotency.IsRepeated(ctx) { // otherwise an earlier run of the request may have stored the file
		if err := h.Store.CheckStorage(ctx, ws); err != nil {
			transfer.FinishUpload(ctx, false)
			return nil, err
		}
	}
	parts, err := c.Request.MultipartReader()
	if err != nil {
		return nil, domain.Invalid("Content-Type", "cannot be read: %v", err)
	}
	o := h.Uploads
	if maxBytes < o.MaxBytes {
		o.MaxBytes, o.Setting = maxBytes, ""
	}
	o.File, o.Fields = file, fields
	return upload.Receive(ctx, parts, o)
}

func (h *handler) close(form *upload.Form) {
	if form == nil {
		return
	}
	if err := form.Close(); err != nil {
		h.Log.Warn("cannot remove an upload's temporary file", "error", err)
	}
}

// dropRefused removes content whose row the catalog rejected. After any other error the row may exist, so the content
// stays; an audit removes it later if no row refers to it.
func (h *handler) dropRefused(ctx context.Context, err error, o domain.Original) {
	switch domain.CodeOf(err) {
	case domain.CodeNotFound, domain.CodeConflict, domain.CodeInvalid, domain.CodeUsageLimit, domain.CodeTooLarge:
		h.drop(ctx, o)
	}
}

func (h *handler) drop(ctx context.Context, o domain.Original) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := h.Originals.Delete(ctx, o.Key); err != nil {
		h.Log.Warn("cannot remove rejected content", "key", o.Key, "error", err)
	}
}

func (h *handler) list(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	query := c.Request.URL.Query()
	p, err := openai.ReadPage(query, maxFiles, maxFiles)
	if err != nil {
		return err
	}
	page, more, err := h.Store.FilesOf(ctx, caller.Workspace(), query.Get("purpose"), catalog.FilePage{
		Limit: p.Limit, Ascending: p.Ascending, After: openai.BareID(p.After), Before: openai.BareID(p.Before),
	})
	if err != nil {
		return err
	}
	shown := make([]object, len(page))
	for i, f := range page {
		shown[i] = render(f)
	}
	return openai.Reply(c, openai.NewList(shown, more, func(o object) string { return o.ID }))
}

// find returns the file whose id is in the request's path. The id may also belong to a datasource that wasn't created
// from a File. In that case, find returns that datasource and a File describing it.
func (h *handler) find(c *gin.Context) (f domain.File, d domain.Datasource, err error) {
	ctx, caller := access.CallerOf(c)
	id, err := openai.File.Parse(c.Param("id"))
	if err != nil {
		return f, d, err
	}
	f, err = h.Store.File(ctx, caller.Workspace(), id)
	if domain.CodeOf(err) != domain.CodeNotFound {
		return f, d, err
	}
	d, err = h.Store.FileDatasource(ctx, caller.Workspace(), id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return f, d, openai.File.NotFound(c.Param("id"))
	}
	f = domain.File{ID: id, WorkspaceID: d.WorkspaceID, Name: d.Name, Purpose: "assistants", CreatedAt: d.CreatedAt}
	if d.Original != nil {
		f.Original = *d.Original
	}
	return f, d, err
}

func (h *handler) get(c *gin.Context) error {
	f, _, err := h.find(c)
	if err != nil {
		return err
	}
	return openai.Reply(c, render(f))
}

type deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

func (h *handler) delete(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	f, d, err := h.find(c)
	if err != nil {
		return err
	}
	if d.ID != "" {
		_, err = h.Store.DeleteDatasource(ctx, caller.Workspace(), d.ID)
	} else {
		err = h.Store.DeleteFile(ctx, caller.Workspace(), f.ID)
	}
	if err != nil {
		return err
	}
	return openai.Reply(c, deleted{ID: openai.File.ID(f.ID), Object: "file", Deleted: true})
}

func (h *handler) content(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	f, _, err := h.find(c)
	if err != nil {
		return err
	}
	if f.Original.Key == "" {
		return domain.Errorf(domain.CodeNotFound, "file %s has no content yet", openai.File.ID(f.ID))
	}
	if err := admit.OpenStream(c, caller.Workspace()); err != nil {
		return err
	}
	content, err := h.Originals.Get(ctx, f.Original.Key)
	if err != nil {
		return err
	}
	defer content.Close()
	setHeaders(c.Writer.Header(), f)
	c.Status(http.StatusOK)
	if transfer.IsHead(ctx) {
		return nil
	}
	// If the content cannot be read to the end, abort the connection, so that no client mistakes a truncated file for a
	// complete one.
	if _, err := io.Copy(transfer.TimedWriter(c.Writer, h.WriteTimeout), content); err != nil {
		if !problem.IsClientGone(ctx, err) {
			h.Log.Error("sending a file failed partway", "request", problem.RequestID(ctx), "file", f.ID, "error", err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}

// setHeaders sets the headers for a file's content. They keep browsers from running scripts in the file.
func setHeaders(header http.Header, f domain.File) {
	header.Set("Content-Type", upload.HeaderType(f.Original.MIMEType))
	header.Set("Content-Length", strconv.FormatInt(f.Original.Size, 10))
	header.Set("Content-Disposition", upload.Attachment(upload.CleanFileName(f.Name)))
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "private, no-store")
}
