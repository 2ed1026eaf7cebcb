package embed

import (
	"container/list"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"sync"
)

// Cache is an Embedder that caches recent queries' vectors, because users repeat queries and a conversation sends the
// same query to several datastores. It does not cache passages. It is safe for concurrent use.
type Cache struct {
	next    Embedder
	limit   int
	mu      sync.Mutex
	recent  *list.List // *cached elements, most recently used first
	entries map[cacheKey]*list.Element
}

type cacheKey struct {
	model   Model
	purpose Purpose
	text    [sha256.Size]byte // a hash, because the text can be long and private
}

type cached struct {
	key    cacheKey
	vector []float32
}

var _ Embedder = (*Cache)(nil)

// Cached returns a Cache in front of next. It holds the vectors of up to limit queries, but always at least one. An
// entry takes about 200 bytes in addition to its vector.
func Cached(next Embedder, limit int) *Cache {
	return &Cache{next: next, limit: max(limit, 1), recent: list.New(), entries: make(map[cacheKey]*list.Element)}
}

// Model implements Embedder.
func (c *Cache) Model() Model { return c.next.Model() }

// Embed implements Embedder. The caller may modify the vectors. Errors are not cached.
func (c *Cache) Embed(ctx context.Context, texts []string, purpose Purpose) ([][]float32, error) {
	if purpose != Query {
		return c.next.Embed(ctx, texts, purpose)
	}
	vectors := make([][]float32, len(texts))
	places := make(map[[sha256.Size]byte][]int) // indexes of the texts missing from the cache
	var missing []string
	model := c.next.Model()
	for i, text := range texts {
		hash := sha256.Sum256([]byte(text))
		if vectors[i] = c.get(cacheKey{model, purpose, hash}); vectors[i] != nil {
			continue
		}
		if places[hash] == nil {
			missing = append(missing, text)
		}
		places[hash] = append(places[hash], i)
	}
	if len(missing) == 0 {
		return vectors, nil
	}
	made, err := c.next.Embed(ctx, missing, purpose)
	if err != nil {
		return nil, err
	}
	if len(made) != len(missing) {
		return nil, fmt.Errorf("embedding model %q returned %d vectors for %d texts", model.ID, len(made), len(missing))
	}
	model = c.next.Model() // the first response may have set the model's dimensions
	for i, text := range missing {
		hash := sha256.Sum256([]byte(text))
		for _, place := range places[hash] {
			vectors[place] = slices.Clone(made[i])
		}
		c.put(cacheKey{model, purpose, hash}, made[i])
	}
	return vectors, nil
}

// get returns a copy of the cached vector, or nil.
func (c *Cache) get(key cacheKey) []float32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, ok := c.entries[key]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(element)
	return slices.Clone(element.Value.(*cached).vector)
}

func (c *Cache) put(key cacheKey, vector []float32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, ok := c.entries[key]; ok { // a concurrent call already added the entry
		c.recent.MoveToFront(element)
		return
	}
	c.entries[key] = c.recent.PushFront(&cached{key, vector})
	if c.recent.Len() > c.limit {
		oldest := c.recent.Remove(c.recent.Back()).(*cached)
		delete(c.entries, oldest.key)
	}
}

// Unwrap returns the underlying embedder.
func (c *Cache) Unwrap() Embedder { return c.next }

// IsCached reports whether a query's vector is cached.
func (c *Cache) IsCached(query string) bool {
	key := cacheKey{c.next.Model(), Query, sha256.Sum256([]byte(query))}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries[key] != nil
}
