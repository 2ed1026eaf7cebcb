package static

import "math/bits"

// trie is a set of strings. In one pass, it finds the longest string in the set that is a prefix of a text. All edges
// are in one hash table of one or two megabytes, so a search takes only a few memory accesses. A Go map of the strings
// would need one lookup per possible length.
type trie struct {
	edges []edge  // hash table with linear probing; the length is a power of two
	shift int     // number of bits to shift a hash right to get an index
	count int     // number of edges in use
	ids   []int32 // id of the string that ends at each node, or unknown; the first node is the root
}

// edge leads from one node to another along a byte. The zero edge marks an empty slot, because no edge leads to node 0,
// the root.
type edge struct {
	from uint32 // node<<8 | byte
	to   int32
}

// newTrie returns an empty trie with 1<<size slots for edges. The trie grows when less than a third of the slots are
// free; a large enough size avoids that.
func newTrie(size int) *trie {
	return &trie{edges: make([]edge, 1<<size), shift: 32 - size, ids: append(make([]int32, 0, 1<<(size-1)), unknown)}
}

// findSlot returns the index of the edge with this key or, if there is none, of the free slot for it.
func (t *trie) findSlot(from uint32) int {
	const golden = 0x9E3779B1 // 2³² divided by the golden ratio; spreads neighbouring values far apart
	at := int(from * golden >> t.shift)
	for t.edges[at].to != 0 && t.edges[at].from != from {
		at = (at + 1) & (len(t.edges) - 1)
	}
	return at
}

// add adds a non-empty string, replacing its id if the trie already contains it.
func (t *trie) add(s string, id int32) {
	node := int32(0)
	for i := range len(s) {
		from := uint32(node)<<8 | uint32(s[i])
		at := t.findSlot(from)
		if t.edges[at].to == 0 {
			t.edges[at] = edge{from, int32(len(t.ids))}
			t.ids = append(t.ids, unknown)
			t.count++
			if t.count*3 > len(t.edges)*2 {
				t.grow()
				at = t.findSlot(from)
			}
		}
		node = t.edges[at].to
	}
	t.ids[node] = id
}

func (t *trie) grow() {
	old := t.edges
	t.edges = make([]edge, 2*len(old))
	t.shift = 32 - bits.Len(uint(len(t.edges)-1))
	for _, e := range old {
		if e.to != 0 {
			t.edges[t.findSlot(e.from)] = e
		}
	}
}

// longestPrefix returns the id and length in bytes of the longest string in the trie that is a prefix of the text. If
// there is none, the length is 0.
func (t *trie) longestPrefix(text []byte) (id int32, length int) {
	node := int32(0)
	for i, b := range text {
		if node = t.edges[t.findSlot(uint32(node)<<8|uint32(b))].to; node == 0 {
			break
		}
		if t.ids[node] != unknown {
			id, length = t.ids[node], i+1
		}
	}
	return id, length
}
