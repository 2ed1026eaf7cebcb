package static

import (
	"fmt"
	"strings"
	"testing"
)

func TestATrieFindsTheLongestPrefix(t *testing.T) {
	t.Parallel()
	var words []string
	for n := range 3000 { // enough strings for the trie to grow
		words = append(words, fmt.Sprintf("%x", n*n))
	}
	words = append(words, "ü", "üb", "über")
	ids, trie := map[string]int32{}, newTrie(4)
	for i, w := range words {
		ids[w] = int32(i)
		trie.add(w, int32(i))
	}
	for _, text := range append(words, "", "z", "übe", "überall", "ffffffff", "10zz", "\xff") {
		var want string
		for w := range ids {
			if len(w) > len(want) && strings.HasPrefix(text, w) {
				want = w
			}
		}
		id, length := trie.longestPrefix([]byte(text))
		if length != len(want) || length > 0 && id != ids[want] {
			t.Errorf("%q begins with %d, of %d bytes, want %q", text, id, length, want)
		}
	}
}
