package embedded

import (
	"container/list"
	"sync"
)

// cacheKey names what a cache holds: a block, or the directory of a segment, by its number, a word's list, by its forms, or a
// row, by its slot.
type cacheKey struct {
	space uint64 // number of an opening of a space; never used twice
	kind  cacheKind
	id    int64
	term  string
}

type cacheKind uint8

const (
	cachedBlock cacheKind = iota
	cachedDirectory
	cachedList
	cachedRow
)

// caches are those that the spaces of an index share: of words' lists and of directories, of blocks of postings, and of rows.
//
// What a search wants of a block is in the list that is made of it. So blocks, which are larger than most lists, have room of their
// own: they are there for lists that a write has made stale.
type caches struct{ lists, blocks, hits *cache }

// blockShare is the part of the memory for postings that blocks have, one in so many.
const blockShare = 4

// newCaches shares memory out.
func newCaches(postings, rows int64) caches {
	return caches{newCache(postings - postings/blockShare), newCache(postings / blockShare), newCache(rows)}
}

// clear drops everything, and returns how much that was.
func (c caches) clear() int64 { return c.lists.clear() + c.blocks.clear() + c.hits.clear() }

// forget drops everything of one opening of a space.
func (c caches) forget(space uint64) {
	c.lists.forget(space)
	c.blocks.forget(space)
	c.hits.forget(space)
}

// cache keeps what was read from SQLite, and what was made of it, up to a number of bytes, the least recently used leaving
// first. What it holds is immutable. It starts empty and allocates nothing in advance.
type cache struct {
	mu    sync.Mutex
	max   int64
	size  int64
	items map[cacheKey]*list.Element
	order *list.List // of *cacheItem, most recent first
}

type cacheItem struct {
	key   cacheKey
	value any
	size  int64
}

func newCache(maxBytes int64) *cache {
	return &cache{max: maxBytes, items: make(map[cacheKey]*list.Element), order: list.New()}
}

func (c *cache) get(key cacheKey) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cacheItem).value, true
}

func (c *cache) put(key cacheKey, value any, size int64) {
	size += 128 // of the bookkeeping
	c.mu.Lock()
	defer c.mu.Unlock()
	if size > c.max {
		return
	}
	if _, ok := c.items[key]; ok {
		return
	}
	c.items[key] = c.order.PushFront(&cacheItem{key, value, size})
	for c.size += size; c.size > c.max; {
		c.remove(c.order.Back())
	}
}

// replace puts what supersedes an earlier value of the key.
func (c *cache) replace(key cacheKey, value any, size int64) {
	c.drop(key)
	c.put(key, value, size)
}

// drop removes a key.
func (c *cache) drop(key cacheKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.items[key]; ok {
		c.remove(e)
	}
}

// clear drops everything, and returns how much that was.
func (c *cache) clear() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.size
	c.items, c.size = make(map[cacheKey]*list.Element), 0
	c.order.Init()
	return was
}

// forget drops everything of one opening of a space.
func (c *cache) forget(space uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.items {
		if key.space == space {
			c.remove(e)
		}
	}
}

func (c *cache) remove(e *list.Element) {
	item := c.order.Remove(e).(*cacheItem)
	delete(c.items, item.key)
	c.size -= item.size
}

// held returns the number of items and of bytes that the cache holds.
func (c *cache) held() (items int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.items), c.size
}
