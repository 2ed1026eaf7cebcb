package accounts

import (
	"sync"

	"github.com/sluice/sluice/pkg/domain"
)

// Maximum number of cached keys. A full cache is cleared.
const maxCachedKeys = 10_000

// keyCache holds keys read since the last commit by any process. Every commit invalidates the cache, so a key revoked
// by another process is rejected at the next request.
type keyCache struct {
	mu      sync.Mutex
	version int64 // database version
	byHash  map[string]domain.APIKey
}

// get returns the cached key for this hash. It returns false if the key isn't cached, or if the database has changed
// since the key was read.
func (c *keyCache) get(version int64, hash string) (domain.APIKey, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version != version {
		return domain.APIKey{}, false
	}
	k, ok := c.byHash[hash]
	return k, ok
}

// put caches a key that was read at this database version or later.
func (c *keyCache) put(version int64, hash string, k domain.APIKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version != version || len(c.byHash) >= maxCachedKeys {
		c.version, c.byHash = version, nil
	}
	if c.byHash == nil {
		c.byHash = make(map[string]domain.APIKey)
	}
	c.byHash[hash] = k
}
