package access

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// KeyFinder finds API keys by their secret's hash.
type KeyFinder interface {
	KeyByHash(ctx context.Context, hash string) (domain.APIKey, error)
	TouchKey(ctx context.Context, id string, at time.Time) error
}

// Keyring looks up keys. It queries the catalog for every request and caches nothing, so revoking or limiting a key
// takes effect in all processes on the next request.
//
// Keys are stored and looked up by the hash of their secret. How long a look-up takes may reveal something about the
// hash, but nothing about the secret. Hashes are compared in constant time anyway.
type Keyring struct {
	Keys KeyFinder
	Now  func() time.Time
	Log  *slog.Logger
}

// Lookup returns the key with this secret, or domain.CodeUnauthorized if there is no such key or it has expired.
func (k *Keyring) Lookup(ctx context.Context, secret string) (domain.APIKey, error) {
	key, err := k.find(ctx, domain.HashKey(secret))
	if err != nil {
		return domain.APIKey{}, err
	}
	if err := k.Keys.TouchKey(ctx, key.ID, k.Now()); err != nil {
		k.Log.Warn("cannot record the use of an API key", "key", key.ID, "error", err)
	}
	return key, nil
}

// CheckValid returns domain.CodeUnauthorized if the key is no longer valid. Handlers call it during long responses.
func (k *Keyring) CheckValid(ctx context.Context, key domain.APIKey) error {
	_, err := k.find(ctx, key.Hash)
	return err
}

func (k *Keyring) find(ctx context.Context, hash string) (domain.APIKey, error) {
	key, err := k.Keys.KeyByHash(ctx, hash)
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && subtle.ConstantTimeCompare([]byte(key.Hash), []byte(hash)) != 1 {
		return domain.APIKey{}, domain.Errorf(domain.CodeUnauthorized, "the API key is wrong, revoked or expired")
	}
	return key, err
}
