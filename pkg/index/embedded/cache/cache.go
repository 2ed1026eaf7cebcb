package cache

import (
	"container/list"
	"sync"
)

// Key names what a cache holds: a block, or the directory of a segment, by its number, a word's list, by its forms, or a
// row, by its slot.
type Key struct {
	Space uint64 // number of an opening of a space; never used twice
	Kind  Kind
	Id    int64
	Term  string
}

type Kind uint8

const (
	Block Kind = iota
	Directory
	List
	Row
)

// Caches are those that the spaces of an index share: of words' lists and of directories, of blocks of postings, and of rows.
//
// What a search wants of a block is in the list that is made of it. So blocks, which are larger than most lists, have room of their
// own: they are there for lists that a write has made stale.
type Caches struct{ Lists, Blocks, Rows *Cache }

// blockShare is the part of the memory for postings that blocks have, one in so many.
const blockShare = 4

// NewCaches shares memory out.
func NewCaches(postings, rows int64) Caches {
	return Caches{New(postings - postings/blockShare), New(postings / blockShare), New(rows)}
}

// Clear drops everything, and returns how much that was.
func (c Caches) Clear() int64 { return c.Lists.Clear() + c.Blocks.Clear() + c.Rows.Clear() }

// Forget drops everything of one opening of a space.
func (c Caches) Forget(space uint64) {
	c.Lists.forget(space)
	c.Blocks.forget(space)
	c.Rows.forget(space)
}

// Cache keeps what was read from SQLite, and what was made of it, up to a number of bytes, the least recently used leaving
// first. What it holds is immutable. It starts empty and allocates nothing in advance.
type Cache struct {
	mu    sync.Mutex
	max   int64
	size  int64
	items map[Key]*list.Element
	order *list.List // of *cacheItem, most recent first
}

type item struct {
	key   Key
	value any
	size  int64
}

func New(maxBytes int64) *Cache {
	return &Cache{max: maxBytes, items: make(map[Key]*list.Element), order: list.New()}
}

func (c *Cache) Get(key Key) (any, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*item).value, true
}

func (c *Cache) Put(key Key, value any, size int64) {
	size += 128 // of the bookkeeping
	c.mu.Lock()
	defer c.mu.Unlock()
	if size > c.max {
		return
	}
	if _, ok := c.items[key]; ok {
		return
	}
	c.items[key] = c.order.PushFront(&item{key, value, size})
	for c.size += size; c.size > c.max; {
		c.remove(c.order.Back())
	}
}

// Replace puts what supersedes an earlier value of the key.
func (c *Cache) Replace(key Key, value any, size int64) {
	c.Drop(key)
	c.Put(key, value, size)
}

// Drop removes a key.
func (c *Cache) Drop(key Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.items[key]; ok {
		c.remove(e)
	}
}

// Clear drops everything, and returns how much that was.
func (c *Cache) Clear() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.size
	c.items, c.size = make(map[Key]*list.Element), 0
	c.order.Init()
	return was
}

// forget drops everything of one opening of a space.
func (c *Cache) forget(space uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.items {
		if key.Space == space {
			c.remove(e)
		}
	}
}

func (c *Cache) remove(e *list.Element) {
	item := c.order.Remove(e).(*item)
	delete(c.items, item.key)
	c.size -= item.size
}

// Held returns the number of items and of bytes that the cache holds.
func (c *Cache) Held() (items int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.items), c.size
}
