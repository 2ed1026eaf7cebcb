package originals

import (
	"context"
	"errors"
	"io"

	"github.com/sluice/sluice/pkg/domain"
)

// Uploads is the store for the requests of clients: it chooses the keys, bounds what is stored, and has the codes of domain for what
// clients may do about a fault.
type Uploads struct {
	Store    *Store
	MaxBytes int64
}

// Put stores all of r as a datasource's content, under a fresh key. Whatever keeps the store from taking content passes by itself: NATS is away, or its disk is
// full.
func (u Uploads) Put(ctx context.Context, datasourceID, name, mimeType string, r io.Reader) (domain.Original, error) {
	o, err := u.Store.Put(ctx, UploadKey(datasourceID), r, PutOptions{MaxBytes: u.MaxBytes, MIMEType: mimeType, Name: name})
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrExists) || errors.Is(err, ErrCorrupt) {
		return o, err
	}
	return o, domain.Passing(err, "the store of originals takes nothing at the moment; try again shortly")
}

// Get returns the content under a key; domain.CodeNotFound when it is no longer kept.
func (u Uploads) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	content, err := u.Store.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil, &domain.Error{Code: domain.CodeNotFound, Message: "the original is no longer kept; what is searchable stays", Err: err}
	}
	if errors.Is(err, ErrCorrupt) {
		return nil, err
	}
	return content, domain.Passing(err, "the store of originals does not answer; try again shortly")
}

// Delete removes the content under a key.
func (u Uploads) Delete(ctx context.Context, key string) error { return u.Store.Delete(ctx, key) }
