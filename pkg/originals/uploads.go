package originals

import (
	"context"
	"errors"
	"io"

	"github.com/sluice/sluice/pkg/domain"
)

// Uploads stores content from client requests. It chooses keys, limits the size, and returns errors with codes from
// package domain.
type Uploads struct {
	Store    *Store
	MaxBytes int64
}

// Put stores r's content for a datasource under a new key. If the store cannot accept content because NATS is down or
// its disk is full, the error is temporary.
func (u Uploads) Put(ctx context.Context, datasourceID, name, mimeType string, r io.Reader) (domain.Original, error) {
	o, err := u.Store.Put(ctx, UploadKey(datasourceID), r, PutOptions{MaxBytes: u.MaxBytes, MIMEType: mimeType, Name: name})
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrExists) || errors.Is(err, ErrCorrupt) {
		return o, err
	}
	return o, domain.Transient(err, "the store of originals cannot accept content at the moment; try again shortly")
}

// Get verifies a key's content and returns it. It fails with domain.CodeNotFound if the content no longer exists or no
// server has an undamaged copy.
func (u Uploads) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	content, err := u.Store.Verified(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil, &domain.Error{Code: domain.CodeNotFound, Message: "the original is no longer stored; its indexed content stays searchable", Err: err}
	}
	if errors.Is(err, ErrCorrupt) {
		return nil, &domain.Error{
			Code: domain.CodeNotFound, Message: "the stored original is damaged, so upload it again; its indexed content stays searchable", Err: err,
		}
	}
	return content, domain.Transient(err, "the store of originals is unreachable; try again shortly")
}

// Delete removes a key's content.
func (u Uploads) Delete(ctx context.Context, key string) error { return u.Store.Delete(ctx, key) }
