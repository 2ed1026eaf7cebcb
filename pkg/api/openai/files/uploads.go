package files

import (
	"context"
	"crypto/md5" //nolint:gosec // clients send it to detect damage, not forgery
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/idempotency"
	"github.com/sluice/sluice/pkg/api/jsonbody"
	"github.com/sluice/sluice/pkg/api/openai"
	"github.com/sluice/sluice/pkg/api/upload"
	"github.com/sluice/sluice/pkg/domain"
)

// Maximum part size in bytes, the same as OpenAI's.
const maxPart = 64 << 20

// uploadObject is an upload as OpenAI's clients see it.
type uploadObject struct {
	ID        string  `json:"id"`
	Object    string  `json:"object"` // always "upload"
	Bytes     int64   `json:"bytes"`
	CreatedAt int64   `json:"created_at"`
	ExpiresAt int64   `json:"expires_at"`
	Filename  string  `json:"filename"`
	Purpose   string  `json:"purpose"`
	Status    string  `json:"status"`
	File      *object `json:"file"`
}

func renderUpload(u domain.Upload, f *domain.File) uploadObject {
	out := uploadObject{
		ID: openai.Upload.ID(u.ID), Object: "upload", Bytes: u.Bytes, CreatedAt: openai.Unix(u.CreatedAt), ExpiresAt: openai.Unix(u.ExpiresAt),
		Filename: u.Name, Purpose: u.Purpose, Status: string(u.Status),
	}
	if f != nil {
		shown := render(*f)
		out.File = &shown
	}
	return out
}

func (h *handler) createUpload(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	var body struct {
		Bytes        *int64  `json:"bytes"`
		Filename     string  `json:"filename"`
		MIMEType     string  `json:"mime_type"`
		Purpose      string  `json:"purpose"`
		ExpiresAfter *expiry `json:"expires_after"`
	}
	if err := openai.Decode(c, &body); err != nil {
		return err
	}
	var faults openai.Faults
	switch limit := h.Uploads.MaxBytes; {
	case body.Bytes == nil:
		faults.Add("bytes", "is required; send the file's size in bytes")
	case *body.Bytes < 1:
		faults.Add("bytes", "is %d; it must be at least 1", *body.Bytes)
	case *body.Bytes > limit:
		return upload.TooLarge(limit, h.Uploads.Setting)
	}
	if strings.TrimSpace(body.Filename) == "" {
		faults.Add("filename", "is required; send the file's name")
	}
	if len(body.MIMEType) > maxType {
		faults.Add("mime_type", "has %d bytes; the limit is %d", len(body.MIMEType), maxType)
	}
	checkPurpose(faults.Add, body.Purpose)
	keepFor := keepForOf(faults.Add, body.Purpose, body.ExpiresAfter)
	if err := faults.Err(); err != nil {
		return err
	}
	u := domain.Upload{
		ID: idempotency.ID(ctx, h.NewID, "upload"), WorkspaceID: caller.Workspace(), Name: upload.CleanFileName(body.Filename), Purpose: body.Purpose,
		MIMEType: body.MIMEType, Bytes: *body.Bytes, KeepFor: keepFor,
	}
	u, err := idempotency.CreateOnce(ctx, func() (domain.Upload, error) { return h.Store.Upload(ctx, u.WorkspaceID, u.ID) },
		func() (domain.Upload, error) { return h.Store.CreateUpload(ctx, u) })
	if err != nil {
		return err
	}
	return openai.Reply(c, renderUpload(u, nil))
}

// Maximum length of a declared type in bytes.
const maxType = 200

// uploadOf returns the upload with the id in the path.
func (h *handler) uploadOf(c *gin.Context) (domain.Upload, error) {
	ctx, caller := access.CallerOf(c)
	id, err := openai.Upload.Parse(c.Param("id"))
	if err != nil {
		return domain.Upload{}, err
	}
	u, err := h.Store.Upload(ctx, caller.Workspace(), id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		err = openai.Upload.NotFound(c.Param("id"))
	}
	return u, err
}

// requirePending rejects changes to an upload that is no longer pending. The store checks again.
func requirePending(u domain.Upload) error {
	if u.Status != domain.UploadPending {
		return domain.Errorf(domain.CodeConflict, "the upload %s is %s and can no longer be changed; create another one", openai.Upload.ID(u.ID), u.Status)
	}
	return nil
}

func (h *handler) addPart(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	u, err := h.uploadOf(c)
	if err != nil {
		return err
	}
	if err := requirePending(u); err != nil {
		return err
	}
	form, err := h.receive(c, u.WorkspaceID, "data", min(maxPart, u.Bytes), "expires_after")
	defer h.close(form)
	if err != nil {
		return err
	}
	if err := form.CheckFile("data"); err != nil {
		return err
	}
	p := domain.UploadPart{ID: idempotency.ID(ctx, h.NewID, "part"), UploadID: u.ID}
	p, err = idempotency.CreateOnce(ctx, func() (domain.UploadPart, error) { return h.findPart(ctx, u.ID, p.ID) }, func() (domain.UploadPart, error) {
		var err error
		if p.Original, err = h.Originals.Put(ctx, p.ID, u.Name, "application/octet-stream", form.File); err != nil {
			return p, err
		}
		stored, err := h.Store.AddPart(ctx, caller.Workspace(), p)
		h.dropRefused(ctx, err, p.Original)
		return stored, err
	})
	if err != nil {
		return err
	}
	return openai.Reply(c, struct {
		ID        string `json:"id"`
		Object    string `json:"object"`
		CreatedAt int64  `json:"created_at"`
		UploadID  string `json:"upload_id"`
	}{openai.Part.ID(p.ID), "upload.part", openai.Unix(p.CreatedAt), openai.Upload.ID(u.ID)})
}

func (h *handler) findPart(ctx context.Context, uploadID, id string) (domain.UploadPart, error) {
	parts, err := h.Store.UploadParts(ctx, uploadID)
	for _, p := range parts {
		if p.ID == id {
			return p, nil
		}
	}
	if err == nil {
		err = domain.NotFound("part", id)
	}
	return domain.UploadPart{}, err
}

// completeUpload joins the parts into one original. If it fails before storing the file, the upload stays pending and
// can be completed again. Repeating the request returns the same file.
func (h *handler) completeUpload(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	var body struct {
		PartIDs []string `json:"part_ids"`
		MD5     string   `json:"md5"`
	}
	if err := openai.Decode(c, &body); err != nil {
		return err
	}
	u, err := h.uploadOf(c)
	if err != nil {
		return err
	}
	f := domain.File{ID: domain.DerivedID("uploaded", u.ID), WorkspaceID: u.WorkspaceID, Name: u.Name, Purpose: u.Purpose}
	if u.Status != domain.UploadCompleted {
		if err := requirePending(u); err != nil {
			return err
		}
		if f.Original, err = h.join(ctx, u, f.ID, body.PartIDs, body.MD5); err != nil {
			return err
		}
	}
	done, stored, err := h.Store.CompleteUpload(ctx, caller.Workspace(), u.ID, f)
	h.dropRefused(ctx, err, f.Original)
	if err != nil {
		return err
	}
	if f.Original.Key != "" && stored.Original.Key != f.Original.Key { // another request has completed the upload
		h.drop(ctx, f.Original)
	}
	return openai.Reply(c, renderUpload(done, &stored))
}

// join stores the parts as one original. It fails if a part is unknown or the result doesn't match the announced size
// or `sum`, the MD5 checksum in hexadecimal.
func (h *handler) join(ctx context.Context, u domain.Upload, fileID string, partIDs []string, sum string) (domain.Original, error) {
	parts, err := h.Store.UploadParts(ctx, u.ID)
	if err != nil {
		return domain.Original{}, err
	}
	byID := make(map[string]domain.UploadPart, len(parts))
	for _, p := range parts {
		byID[p.ID] = p
	}
	var faults openai.Faults
	if len(partIDs) == 0 {
		faults.Add("part_ids", "is required; send the ids of the parts in order")
	}
	var chosen []domain.UploadPart
	var size int64
	seen := map[string]bool{}
	for i, text := range partIDs {
		p, ok := byID[openai.BareID(text)]
		switch field := fmt.Sprintf("part_ids[%d]", i); {
		case !ok:
			faults.Add(field, "is %s, which is not a part of this upload", jsonbody.Describe(text))
		case seen[p.ID]:
			faults.Add(field, "is %s, which is already in the list; list each part once", jsonbody.Describe(text))
		}
		seen[p.ID] = true
		chosen, size = append(chosen, p), size+p.Original.Size
	}
	if err := faults.Err(); err != nil {
		return domain.Original{}, err
	}
	if size != u.Bytes {
		return domain.Original{}, domain.Invalid("part_ids", "have %d bytes in total, but the upload was created for %d; send the missing parts, or create another upload", size, u.Bytes)
	}
	content := &joined{ctx: ctx, originals: h.Originals, parts: chosen}
	defer content.close()
	head := make([]byte, upload.HeadBytes)
	n, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return domain.Original{}, err
	}
	digest := md5.New() //nolint:gosec // see the import
	whole := io.TeeReader(io.MultiReader(strings.NewReader(string(head[:n])), content), digest)
	o, err := h.Originals.Put(ctx, fileID, u.Name, h.DetectType(head[:n], u.Name, u.MIMEType), whole)
	if err != nil {
		return o, err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); sum != "" && !strings.EqualFold(sum, got) {
		h.drop(ctx, o)
		return o, domain.Invalid("md5", "is %s, but the MD5 of the uploaded parts is %s; upload them again", jsonbody.Describe(sum), got)
	}
	return o, nil
}

// joined reads parts one after the other.
type joined struct {
	ctx       context.Context // the request's context, because Read has no context argument
	originals Originals
	parts     []domain.UploadPart
	current   io.ReadCloser
}

// Read implements io.Reader.
func (j *joined) Read(p []byte) (int, error) {
	for {
		if j.current == nil {
			if len(j.parts) == 0 {
				return 0, io.EOF
			}
			content, err := j.originals.Get(j.ctx, j.parts[0].Original.Key)
			if err != nil {
				return 0, fmt.Errorf("reading part %s: %w", openai.Part.ID(j.parts[0].ID), err)
			}
			j.current, j.parts = content, j.parts[1:]
		}
		n, err := j.current.Read(p)
		if errors.Is(err, io.EOF) {
			j.close()
			err = nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (j *joined) close() {
	if j.current != nil {
		j.current.Close()
		j.current = nil
	}
}

func (h *handler) cancelUpload(c *gin.Context) error {
	ctx, caller := access.CallerOf(c)
	id, err := openai.Upload.Parse(c.Param("id"))
	if err != nil {
		return err
	}
	u, err := h.Store.CancelUpload(ctx, caller.Workspace(), id)
	if domain.CodeOf(err) == domain.CodeNotFound {
		err = openai.Upload.NotFound(c.Param("id"))
	}
	if err != nil {
		return err
	}
	return openai.Reply(c, renderUpload(u, nil))
}
