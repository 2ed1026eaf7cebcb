package access

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// KeyFinder finds API keys by the hash of their secret.
type KeyFinder interface {
	KeyByHash(ctx context.Context, hash string) (domain.APIKey, error)
	TouchKey(ctx context.Context, id string, at time.Time) error
}

// Keyring finds out whose a secret is. It asks the catalog for every request and remembers nothing, so that a key that
// was revoked or limited, by whichever process, is so from the next request on everywhere.
//
// Keys are stored and looked up by the hash of their secret. So the time of a look-up may tell something of a hash,
// from which nothing about a secret follows; the hashes are compared in constant time nevertheless.
type Keyring struct {
	Keys KeyFinder
	Now  func() time.Time
	Log  *slog.Logger
}

// Lookup returns the key with this secret; domain.CodeUnauthorized when there is none or it has expired.
func (k *Keyring) Lookup(ctx context.Context, secret string) (domain.APIKey, error) {
	key, err := k.find(ctx, domain.HashKey(secret))
	if err != nil {
		return domain.APIKey{}, err
	}
	if err := k.Keys.TouchKey(ctx, key.ID, k.Now()); err != nil {
		k.Log.Warn("recording the use of a key", "key", key.ID, "error", err)
	}
	return key, nil
}

// CheckValid asks whether a key that a long answer was begun for is still good; domain.CodeUnauthorized when it is not.
func (k *Keyring) CheckValid(ctx context.Context, key domain.APIKey) error {
	_, err := k.find(ctx, key.Hash)
	return err
}

func (k *Keyring) find(ctx context.Context, hash string) (domain.APIKey, error) {
	key, err := k.Keys.KeyByHash(ctx, hash)
	if domain.CodeOf(err) == domain.CodeNotFound || err == nil && subtle.ConstantTimeCompare([]byte(key.Hash), []byte(hash)) != 1 {
		return domain.APIKey{}, domain.Errorf(domain.CodeUnauthorized, "the API key is not valid: it is wrong, revoked or expired")
	}
	return key, err
}
