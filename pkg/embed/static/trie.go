package static

import "math/bits"

// trie finds the longest of many strings that a text begins with, in one walk. Its edges lie in one hash table: a word takes a
// few reads of a megabyte or two, where a map of the strings would be asked for every length.
type trie struct {
	edges []edge  // a power of two of them; what is taken is followed by what had to give way
	shift int     // how far a hash is shifted to be a place among them
	count int     // edges that there are
	ids   []int32 // of the strings that end at each node, unknown where none does; the first node is the root
}

// edge leads from a node to the next one by a byte. Its zero value is none: no edge leads to the root.
type edge struct {
	from uint32 // node<<8 | byte
	to   int32
}

// newTrie returns an empty trie. It grows by itself, and takes longer to fill where edges, of which a third stay free, were not
// asked for at once: 1<<size of them.
func newTrie(size int) *trie {
	return &trie{edges: make([]edge, 1<<size), shift: 32 - size, ids: append(make([]int32, 0, 1<<(size-1)), unknown)}
}

// place returns where the edge is, or where it would be.
func (t *trie) place(from uint32) int {
	const golden = 0x9E3779B1 // 2³² divided by the golden ratio spreads neighbours far apart
	at := int(from * golden >> t.shift)
	for t.edges[at].to != 0 && t.edges[at].from != from {
		at = (at + 1) & (len(t.edges) - 1)
	}
	return at
}

// add adds a string, which is not empty, in place of the same one.
func (t *trie) add(s string, id int32) {
	node := int32(0)
	for i := range len(s) {
		from := uint32(node)<<8 | uint32(s[i])
		at := t.place(from)
		if t.edges[at].to == 0 {
			t.edges[at] = edge{from, int32(len(t.ids))}
			t.ids = append(t.ids, unknown)
			t.count++
			if t.count*3 > len(t.edges)*2 {
				t.grow()
				at = t.place(from)
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
			t.edges[t.place(e.from)] = e
		}
	}
}

// longest returns the id of the longest string that text begins with, and its length in bytes; 0 if there is none.
func (t *trie) longest(text []byte) (id int32, length int) {
	node := int32(0)
	for i, b := range text {
		if node = t.edges[t.place(uint32(node)<<8|uint32(b))].to; node == 0 {
			break
		}
		if t.ids[node] != unknown {
			id, length = t.ids[node], i+1
		}
	}
	return id, length
}
