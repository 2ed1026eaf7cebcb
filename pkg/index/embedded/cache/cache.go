// Package cache caches postings and rows in memory, up to a limit in bytes.
package cache

import (
	"container/list"
	"sync"
)

// Key identifies a cached value.
type Key struct {
	Space uint64 // identifies one opening of the space; never reused
	Kind  Kind
	ID    int64  // id of a block or segment, or slot of a row
	Term  string // the word's forms for a List, the name for a Condition
}

// Kind is the type of a cached value.
type Kind uint8

// Types of cached values.
const (
	Block     Kind = iota // block of postings; the key's ID is the block's id
	Directory             // directory of a segment; the key's ID is the segment's id
	List                  // postings of a word; the key's Term contains the word's forms
	Row                   // row; the key's ID is the row's slot
	Condition             // intermediate result for filters; the key's Term is its name
)

// Caches are shared by all spaces in an index. Lists holds term lists and segment directories. Blocks are cached
// separately, because they are larger than most lists and needed only to build lists.
type Caches struct{ Lists, Blocks, Rows *Cache }

// Blocks get 1/blockShare of the memory for postings.
const blockShare = 4

// NewCaches returns caches with the given capacities in bytes.
func NewCaches(postings, rows int64) Caches {
	return Caches{New(postings - postings/blockShare), New(postings / blockShare), New(rows)}
}

// Clear removes all values and returns their size in bytes.
func (c Caches) Clear() int64 { return c.Lists.Clear() + c.Blocks.Clear() + c.Rows.Clear() }

// Forget removes the cached values of a closed space. `space` is their Key.Space.
func (c Caches) Forget(space uint64) {
	c.Lists.forget(space)
	c.Blocks.forget(space)
	c.Rows.forget(space)
}

// Cache is an LRU cache of immutable values with a capacity in bytes. It is safe for concurrent use and does not
// allocate memory in advance.
type Cache struct {
	mu    sync.Mutex
	max   int64
	size  int64
	items map[Key]*list.Element
	order *list.List // list of *item, most recently used first
}

type item struct {
	key   Key
	value any
	size  int64
}

// New returns a cache with the given capacity in bytes.
func New(maxBytes int64) *Cache {
	return &Cache{max: maxBytes, items: make(map[Key]*list.Element), order: list.New()}
}

// Get returns a key's value.
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

// Put adds a value of the given size in bytes. It does nothing if the key is present or the value exceeds the cache's
// capacity.
func (c *Cache) Put(key Key, value any, size int64) {
	size += 128 // overhead per item
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

// Replace is like Put, but replaces an existing value.
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

// Clear removes all values and returns their size in bytes.
func (c *Cache) Clear() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.size
	c.items, c.size = make(map[Key]*list.Element), 0
	c.order.Init()
	return was
}

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

// Usage returns the number of items in the cache and their size in bytes.
func (c *Cache) Usage() (items int, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.items), c.size
}
