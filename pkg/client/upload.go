package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"sync"
)

// File is a file to upload.
type File struct {
	// Name is the file name. Its extension helps detect the type.
	Name string
	// Content is read from its current position to the end. If it is an io.Seeker, its length is sent with the request,
	// and failed attempts are retried. Otherwise, an attempt is not retried once it has read from Content.
	Content io.Reader
	// CustomID is an id chosen by the caller, for use in filters. It may be "".
	CustomID string
	// Metadata can be filtered on and is returned with fragments. It may be nil.
	Metadata map[string]any
	// Progress, if not nil, is called with the number of bytes sent and the total size, which is -1 if unknown. It is
	// called from another goroutine, but never concurrently. With each attempt, `sent` starts again at 0.
	Progress func(sent, size int64)
}

// Upload uploads a file. When it returns, the file is stored durably; it becomes searchable once its status is synched.
func (c *Client) Upload(ctx context.Context, datastoreID string, f File) (*Datasource, error) {
	u, err := newUpload(datastoreID, f)
	if err != nil {
		return nil, err
	}
	made, err := decodeOne[Datasource](c.endpoints.CreateDatasourceWithBody(ctx, nil, u.contentType, http.NoBody, u.into))
	u.release()
	return made, err
}

// UploadFile uploads the file at path.
func (c *Client) UploadFile(ctx context.Context, datastoreID, path string) (*Datasource, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return c.Upload(ctx, datastoreID, File{Name: filepath.Base(path), Content: f})
}

// ReplaceOriginal gives a datasource a new version of its file. The datasource keeps its custom id and metadata, so
// File.CustomID and File.Metadata are ignored. It keeps its name if File.Name is "". For an archive, the service reads
// only new and changed files, and deletes files that are no longer in the archive.
func (c *Client) ReplaceOriginal(ctx context.Context, id string, f File) (*Datasource, error) {
	u, err := newUpload("", File{Name: f.Name, Content: f.Content, Progress: f.Progress})
	if err != nil {
		return nil, err
	}
	replaced, err := decodeOne[Datasource](c.endpoints.ReplaceOriginalWithBody(ctx, id, nil, u.contentType, http.NoBody, u.into))
	u.release()
	return replaced, err
}

// upload is a streamed multipart form with a file.
type upload struct {
	file          File
	contentType   string
	before, after []byte        // the form before and after the content
	size          int64         // bytes of content; -1 if unknown
	begin         int64         // initial position if the content is an io.Seeker
	last          *contentLease // the most recent body
}

func newUpload(datastoreID string, f File) (*upload, error) {
	if f.Content == nil {
		return nil, errors.New("the upload has no content")
	}
	u := &upload{file: f, size: -1}
	if s, ok := f.Content.(io.Seeker); ok {
		var err error
		if u.begin, err = s.Seek(0, io.SeekCurrent); err == nil {
			var end int64
			if end, err = s.Seek(0, io.SeekEnd); err == nil {
				u.size = max(0, end-u.begin)
				_, err = s.Seek(u.begin, io.SeekStart)
			}
		}
		if err != nil { // not seekable; it may be a pipe
			u.size = -1
		}
	}
	return u, u.write(datastoreID)
}

// write builds the form around the content. If datastoreID is "", the form is for a new version of an existing file.
func (u *upload) write(datastoreID string) error {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	var fields [][2]string
	if datastoreID != "" {
		fields = [][2]string{{"type", "file"}, {"datastoreId", datastoreID}}
	}
	if u.file.Name != "" {
		fields = append(fields, [2]string{"fileName", u.file.Name})
	}
	if u.file.CustomID != "" {
		fields = append(fields, [2]string{"custom_id", u.file.CustomID})
	}
	if u.file.Metadata != nil {
		b, err := json.Marshal(u.file.Metadata)
		if err != nil {
			return fmt.Errorf("writing the metadata of %s: %w", u.file.Name, err)
		}
		fields = append(fields, [2]string{"metadata", string(b)})
	}
	for _, f := range fields {
		if err := w.WriteField(f[0], f[1]); err != nil {
			return err
		}
	}
	if _, err := w.CreateFormFile("file", u.file.Name); err != nil {
		return err
	}
	head := form.Len()
	if err := w.Close(); err != nil {
		return err
	}
	u.contentType, u.before, u.after = w.FormDataContentType(), form.Bytes()[:head], form.Bytes()[head:]
	return nil
}

// into sets the multipart form as the request body.
func (u *upload) into(_ context.Context, req *http.Request) error {
	req.ContentLength = -1
	if u.size >= 0 {
		req.ContentLength = int64(len(u.before)) + u.size + int64(len(u.after))
	}
	req.GetBody = u.body
	var err error
	req.Body, err = u.body()
	return err
}

// body returns a body that sends the form from the beginning. It closes an earlier attempt's body.
func (u *upload) body() (io.ReadCloser, error) {
	wasRead := u.release()
	switch {
	case u.size >= 0:
		if _, err := u.file.Content.(io.Seeker).Seek(u.begin, io.SeekStart); err != nil {
			return nil, fmt.Errorf("%w %s again: %w", errContent, u.file.Name, err)
		}
	case wasRead:
		return nil, fmt.Errorf("%w %s again: it can be read only once and was already partly sent", errContent, u.file.Name)
	}
	u.last = &contentLease{upload: u}
	form := io.MultiReader(bytes.NewReader(u.before), u.last, bytes.NewReader(u.after))
	return struct {
		io.Reader
		io.Closer
	}{form, u.last}, nil
}

// release closes the previous body and reports whether any content was read through it.
func (u *upload) release() (wasRead bool) {
	if u.last == nil {
		return false
	}
	_ = u.last.Close() // closing a lease cannot fail
	return u.last.sent > 0
}

// contentLease lets one body read the content until the lease is closed. If the service responds before it has received
// the whole body, the transport may keep reading from the body for a while. Once the lease is closed, these reads can't
// consume the data that the next attempt must send.
type contentLease struct {
	upload *upload

	mu     sync.Mutex
	closed bool
	sent   int64
}

// Read implements io.Reader.
func (l *contentLease) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.upload
	if l.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if u.size >= 0 { // a file that has grown is sent with its initial length
		if left := u.size - l.sent; left == 0 {
			return 0, io.EOF
		} else if int64(len(p)) > left {
			p = p[:left]
		}
	}
	n, err := u.file.Content.Read(p)
	l.sent += int64(n)
	if n > 0 && u.file.Progress != nil {
		u.file.Progress(l.sent, u.size)
	}
	switch {
	case errors.Is(err, io.EOF) && l.sent < u.size:
		return n, fmt.Errorf("%w %s: it became shorter while it was being sent", errContent, u.file.Name)
	case err != nil && !errors.Is(err, io.EOF):
		return n, fmt.Errorf("%w %s: %w", errContent, u.file.Name, err)
	}
	return n, err
}

// Close implements io.Closer.
func (l *contentLease) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	return nil
}
