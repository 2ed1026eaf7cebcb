package searchsettings

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// Cache compiles search settings and caches the results. It never invalidates an entry, because callers ask for a
// specific version and versions don't change.
type Cache struct {
	read func(ctx context.Context, datastoreID string, version int64) ([]byte, error)

	mu    sync.Mutex
	kept  map[string]cached // by datastore
	bytes int
}

type cached struct {
	version  int64
	compiled *Compiled
	bytes    int
}

// Maximum total size of cached settings, in bytes of JSON. Compiled settings take several times as much memory.
const maxCachedBytes = 4 << 20

// NewCache returns a cache of compiled settings. For settings that are not cached, the cache calls `read`, which must
// return them as JSON.
func NewCache(read func(ctx context.Context, datastoreID string, version int64) ([]byte, error)) *Cache {
	return &Cache{read: read, kept: make(map[string]cached)}
}

// Settings returns the given version of a datastore's settings.
func (c *Cache) Settings(ctx context.Context, datastoreID string, version int64) (*Compiled, error) {
	c.mu.Lock()
	found := c.kept[datastoreID]
	c.mu.Unlock()
	if found.compiled != nil && found.version == version {
		return found.compiled, nil
	}
	data, err := c.read(ctx, datastoreID, version)
	if err != nil {
		return nil, err
	}
	var s Settings
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("decoding search settings: %w", err)
	}
	compiled, err := s.normal().Compile()
	if err != nil {
		return nil, err
	}
	c.keep(datastoreID, cached{version, compiled, len(data)})
	return compiled, nil
}

// keep caches an entry for a datastore, unless a newer version of the datastore's settings is already cached. If the
// cache is full, it evicts other datastores' settings, chosen arbitrarily.
func (c *Cache) keep(datastoreID string, entry cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.kept[datastoreID]; ok {
		if old.version > entry.version {
			return
		}
		c.bytes -= old.bytes
		delete(c.kept, datastoreID)
	}
	for id, other := range c.kept {
		if c.bytes+entry.bytes <= maxCachedBytes {
			break
		}
		c.bytes -= other.bytes
		delete(c.kept, id)
	}
	c.kept[datastoreID] = entry
	c.bytes += entry.bytes
}
