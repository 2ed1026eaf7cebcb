package api

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/sluice/sluice/pkg/domain"
)

// keyCache remembers keys for a moment, so that not every request asks the catalog. A key is looked up by the hash of
// the secret, so nothing about a secret can be learnt from how long the lookup takes. A key revoked in this process is
// forgotten at once; one revoked by another process within the time to live.
type keyCache struct {
	store Keys
	ttl   time.Duration
	now   func() time.Time
	log   *slog.Logger

	mu      sync.Mutex
	entries map[string]cachedKey // by hash
	revoked uint64               // counts revocations: a lookup begun before one is not remembered
}

type cachedKey struct {
	key   domain.APIKey
	until time.Time
}

// maxCachedKeys bounds the cache; beyond it, it starts anew.
const maxCachedKeys = 10_000

func newKeyCache(store Keys, ttl time.Duration, now func() time.Time, log *slog.Logger) *keyCache {
	return &keyCache{store: store, ttl: ttl, now: now, log: log, entries: map[string]cachedKey{}}
}

// lookup returns the key with this secret; domain.CodeUnauthorized when there is none or it has expired.
func (k *keyCache) lookup(ctx context.Context, secret string) (domain.APIKey, error) {
	hash := domain.HashKey(secret)
	now := k.now()
	k.mu.Lock()
	entry, cached := k.entries[hash]
	before := k.revoked
	k.mu.Unlock()
	key := entry.key
	if !cached || !now.Before(entry.until) {
		var err error
		key, err = k.store.KeyByHash(ctx, hash)
		if domain.CodeOf(err) == domain.CodeNotFound {
			return domain.APIKey{}, domain.Errorf(domain.CodeUnauthorized, "the API key is not valid; it may have been revoked")
		}
		if err != nil {
			return domain.APIKey{}, err
		}
		if err := k.store.TouchKey(ctx, key.ID, now); err != nil {
			k.log.Warn("noting a key's use", "key", key.ID, "error", err)
		}
		k.remember(hash, key, before, now)
	}
	if key.ExpiresAt != nil && !now.Before(*key.ExpiresAt) {
		return domain.APIKey{}, domain.Errorf(domain.CodeUnauthorized, "the API key %q expired on %s", key.Name, key.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return key, nil
}

func (k *keyCache) remember(hash string, key domain.APIKey, before uint64, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.revoked != before {
		return
	}
	if len(k.entries) >= maxCachedKeys {
		clear(k.entries)
	}
	k.entries[hash] = cachedKey{key: key, until: now.Add(k.ttl)}
}

// forget drops a revoked key.
func (k *keyCache) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.revoked++
	for hash, entry := range k.entries {
		if entry.key.ID == id {
			delete(k.entries, hash)
		}
	}
}
