package accounts

import (
	"sync"

	"github.com/sluice/sluice/pkg/domain"
)

// Maximum number of keys in memory. A full cache is cleared.
const maxCachedKeys = 10_000

// keyCache holds the keys read since the last commit of any process. Every commit invalidates the cache, so a key that
// another process revokes is refused at the next request.
type keyCache struct {
	mu      sync.Mutex
	version int64 // version of the database
	byHash  map[string]domain.APIKey
}

// get returns the cached key with this hash of its secret. It returns false if the key is not cached or if the cache
// belongs to another version of the database.
func (c *keyCache) get(version int64, hash string) (domain.APIKey, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version != version {
		return domain.APIKey{}, false
	}
	k, ok := c.byHash[hash]
	return k, ok
}

// put caches a key under the hash of its secret. The key must have been read at this version of the database or later.
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
