package cache

import (
	"math/rand/v2"
	"testing"
)

// TestACacheIsBounded performs random operations on a cache and checks its size after each one.
func TestACacheIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 10_000
	r := rand.New(rand.NewPCG(1, 2))
	c := New(limit)
	full := false
	for range 20_000 {
		key := Key{Space: r.Uint64N(3), Kind: Kind(r.UintN(4)), ID: r.Int64N(100)}
		size := r.Int64N(2000)
		switch r.UintN(20) {
		case 0:
			c.Drop(key)
		case 1:
			c.Replace(key, nil, size)
		case 2:
			c.Put(key, nil, limit) // too large once the overhead is added
			if _, ok := c.Get(key); ok && c.items[key].Value.(*item).size >= limit {
				t.Fatal("kept what is larger than all may be")
			}
		case 3:
			if r.UintN(50) == 0 {
				c.forget(key.Space)
			}
		case 4, 5, 6:
			c.Get(key)
		default:
			c.Put(key, nil, size)
		}
		var held int64
		for e := c.order.Front(); e != nil; e = e.Next() {
			held += e.Value.(*item).size
		}
		if held != c.size || held > limit || len(c.items) != c.order.Len() {
			t.Fatalf("%d items hold %d bytes, counted are %d of %d", len(c.items), held, c.size, limit)
		}
		full = full || held > limit-2000
	}
	if !full {
		t.Error("the cache was never full")
	}
	if c.Clear(); c.size != 0 || len(c.items) != 0 || c.order.Len() != 0 {
		t.Error("the cache is not empty")
	}
}
