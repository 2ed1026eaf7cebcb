package embedded

import (
	"math/rand/v2"
	"testing"
)

// TestACacheHoldsNoMoreThanItMay does with caches what is done with them, at random, and counts.
func TestACacheHoldsNoMoreThanItMay(t *testing.T) {
	t.Parallel()
	const most = 10_000
	r := rand.New(rand.NewPCG(1, 2))
	c := newCache(most)
	full := false
	for range 20_000 {
		key := cacheKey{space: r.Uint64N(3), kind: cacheKind(r.UintN(4)), id: r.Int64N(100)}
		size := r.Int64N(2000)
		switch r.UintN(20) {
		case 0:
			c.drop(key)
		case 1:
			c.replace(key, nil, size)
		case 2:
			c.put(key, nil, most) // more than there may be, with what is needed to find it
			if _, ok := c.get(key); ok && c.items[key].Value.(*cacheItem).size >= most {
				t.Fatal("kept what is larger than all may be")
			}
		case 3:
			if r.UintN(50) == 0 {
				c.forget(key.space)
			}
		case 4, 5, 6:
			c.get(key)
		default:
			c.put(key, nil, size)
		}
		var held int64
		for e := c.order.Front(); e != nil; e = e.Next() {
			held += e.Value.(*cacheItem).size
		}
		if held != c.size || held > most || len(c.items) != c.order.Len() {
			t.Fatalf("%d items hold %d bytes, counted are %d of %d", len(c.items), held, c.size, most)
		}
		full = full || held > most-2000
	}
	if !full {
		t.Error("it was never full")
	}
	if c.clear(); c.size != 0 || len(c.items) != 0 || c.order.Len() != 0 {
		t.Error("it is not empty")
	}
}
