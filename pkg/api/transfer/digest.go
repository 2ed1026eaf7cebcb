package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime/multipart"
	"net/http"
)

// FormDigest hashes a multipart form: the names, file names, types and contents of its parts, in order. It ignores the
// boundary, because clients choose a new one for each request. The zero value is ready for use.
type FormDigest struct {
	parts hash.Hash // of one line per finished part; nil before the first part ends

	header string // the current part's names and type
	hash   hash.Hash
}

// Add adds a part. Before adding the next part, the caller must read this one to the end through the returned reader.
func (d *FormDigest) Add(p *multipart.Part) io.Reader {
	d.finishPart()
	d.header, d.hash = fmt.Sprintf("%q %q %q", p.FormName(), p.FileName(), p.Header.Get("Content-Type")), sha256.New()
	return io.TeeReader(p, d.hash)
}

func (d *FormDigest) finishPart() {
	if d.parts == nil {
		d.parts = sha256.New()
	}
	if d.hash != nil {
		fmt.Fprintf(d.parts, "%s %x\n", d.header, d.hash.Sum(nil))
	}
	d.hash = nil
}

// String returns the hash in hexadecimal.
func (d *FormDigest) String() string {
	d.finishPart()
	return hex.EncodeToString(d.parts.Sum(nil))
}

// ReadDigest reads a form, whose size LimitUpload has limited, and returns its FormDigest.
func ReadDigest(r *http.Request) (string, error) {
	parts, err := r.MultipartReader()
	if err != nil {
		return "", err
	}
	var d FormDigest
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return d.String(), nil
		}
		if err != nil {
			return "", err
		}
		if _, err := io.Copy(io.Discard, d.Add(part)); err != nil {
			return "", err
		}
	}
}

// KeepDigest stores an upload's FormDigest for Digest.
func KeepDigest(ctx context.Context, digest string) {
	if u, ok := ctx.Value(uploadKey).(*upload); ok {
		u.digest = digest
	}
}

// Digest returns the FormDigest of an upload that was received completely, and "" for other requests.
func Digest(ctx context.Context) string {
	if u, ok := ctx.Value(uploadKey).(*upload); ok {
		return u.digest
	}
	return ""
}
