package neighbours

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/sluice/sluice/pkg/api/access"
	"github.com/sluice/sluice/pkg/api/problem"
	"github.com/sluice/sluice/pkg/api/transfer"
	"github.com/sluice/sluice/pkg/api/upload"
	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/extract/format"
)

// Maximum number of form parts to search for a file.
const maxParts = 20

// converted is a file's text.
type converted struct {
	*domain.Document
	name string // file name; "" if unknown
	size int64  // file size in bytes
}

// convert receives a request's file and converts it. The file is the whole body or, in a form, the first part with a
// file name.
func (h *Handler) convert(c *gin.Context) (converted, error) {
	ctx, caller := access.CallerOf(c)
	ctx, cancel := context.WithTimeoutCause(ctx, convertTimeout, errTimeout)
	defer cancel()
	if err := transfer.RefuseEncoded(c.Request); err != nil {
		return converted{}, err
	}
	if c.Request.ContentLength > h.MaxBytes && !transfer.IsMultipart(c.Request) {
		return converted{}, upload.TooLarge(h.MaxBytes, upload.LimitSetting)
	}
	slot, err := h.enter(ctx, access.WorkspaceFlow(caller.Workspace()))
	if err != nil {
		return converted{}, err
	}
	defer slot.Leave()
	content, f, err := h.receive(c)
	if err != nil {
		return converted{}, err
	}
	f.Workspace, f.Content = caller.Workspace(), content
	doc, err := h.Converter.Convert(ctx, f)
	transfer.FinishUpload(c.Request.Context(), content.err == nil)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(content.err, &tooLarge):
		return converted{}, upload.TooLarge(h.MaxBytes, upload.LimitSetting)
	case content.err != nil:
		return converted{}, transfer.ReadError(content.err, h.ReadTimeout)
	case content.size == 0:
		return converted{}, domain.Invalid("body", "is empty; send a file")
	case err != nil && context.Cause(ctx) == errTimeout: //nolint:errorlint // the cause is not wrapped
		return converted{}, &domain.Error{Code: domain.CodeUnavailable, RetryAfter: retryAfter, Message: "the file could not be converted in time; try again", Err: err}
	case err != nil:
		return converted{}, err
	}
	return converted{doc, f.Name, content.size}, nil
}

// receive finds the file in a request.
func (h *Handler) receive(c *gin.Context) (*received, File, error) {
	if !transfer.IsMultipart(c.Request) {
		c.Request = transfer.LimitUpload(c.Writer, c.Request, h.MaxBytes)
		f := File{Name: fileName(c.Request.Header), Declared: c.GetHeader("Content-Type")}
		if f.Declared == "application/x-www-form-urlencoded" { // curl's default for every body
			f.Declared = ""
		}
		return &received{Reader: c.Request.Body}, f, nil
	}
	parts, err := c.Request.MultipartReader()
	if err != nil {
		return nil, File{}, domain.Invalid("body", "is not a valid multipart form: %v", err)
	}
	for range maxParts {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, File{}, transfer.ReadError(err, h.ReadTimeout)
		}
		if part.FileName() == "" {
			continue
		}
		f := File{Name: upload.CleanFileName(strings.ToValidUTF8(part.FileName(), "�")), Declared: part.Header.Get("Content-Type")}
		return &received{Reader: &limitedPart{part, h.MaxBytes}}, f, nil
	}
	return nil, File{}, domain.Invalid("body", "has no file; send the file as a form part with a file name")
}

// fileName returns the file name in the headers: from X-Filename, which Open WebUI percent-encodes, or from
// Content-Disposition. It is "" if neither has one.
func fileName(h http.Header) string {
	name := h.Get("X-Filename")
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	if name == "" {
		if _, params, err := mime.ParseMediaType(h.Get("Content-Disposition")); err == nil {
			name = params["filename"]
		}
	}
	if name == "" {
		return ""
	}
	return upload.CleanFileName(strings.ToValidUTF8(name, "�"))
}

// received is a request body being read. It records the number of bytes read and any read error.
type received struct {
	io.Reader
	size int64
	err  error
}

// Read implements io.Reader.
func (r *received) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.size += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// limitedPart is one part of a form. Reading fails after `left` more bytes.
type limitedPart struct {
	*multipart.Part
	left int64
}

// Read implements io.Reader.
func (p *limitedPart) Read(b []byte) (int, error) {
	n, err := p.Part.Read(b)
	if p.left -= int64(n); p.left < 0 {
		return 0, &http.MaxBytesError{}
	}
	return n, err
}

// refuse handles a failed conversion. If the file is unreadable, for example because it is encrypted, refuse responds
// with 422, the status that these APIs' clients expect, and returns nil. Otherwise it returns an error for pkg/api to
// send.
func refuse(c *gin.Context, err error) error {
	var refused *format.Error
	if !errors.As(err, &refused) {
		return err
	}
	switch refused.Kind {
	case format.Unsupported, format.Archive:
		return domain.Errorf(domain.CodeUnsupported, "%s", refused.Message)
	case format.TooLarge:
		return domain.Errorf(domain.CodeTooLarge, "%s", refused.Message)
	}
	message := refused.Message
	if refused.Kind == format.NoText { // Open WebUI looks for these words
		message = "No extractable text: " + message
	}
	c.Header("Cache-Control", "no-store")
	problem.WriteAs(c.Writer, http.StatusUnprocessableEntity, "Unreadable file", problem.RequestID(c.Request.Context()), domain.Errorf(domain.CodeUnsupported, "%s", message))
	return nil
}

// pagesOf returns the number and text of every page that has text, or nil if the format has no pages.
func pagesOf(d *domain.Document) (numbers []int, texts []string) {
	from := 0
	for i, b := range d.Blocks {
		if b.Page == 0 {
			return nil, nil
		}
		if last := i+1 == len(d.Blocks); last || d.Blocks[i+1].Page != b.Page {
			numbers, texts = append(numbers, b.Page), append(texts, domain.JoinBlocks(d.Blocks[from:i+1]))
			from = i + 1
		}
	}
	return numbers, texts
}
