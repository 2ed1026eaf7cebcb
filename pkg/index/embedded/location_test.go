package embedded

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

func TestAPlaceTellsWhatItWasMadeOfUnlessItDoesNotFit(t *testing.T) {
	t.Parallel()
	id := domain.NewID()
	for name, c := range map[string]struct {
		place place
		key   string // "": that of the place
		fits  bool
	}{
		"a chunk":                     {place{id, 7, 3, 120}, "", true},
		"the largest numbers":         {place{id, 1<<63 - 1, 1<<31 - 1, 1<<32 - 1}, "", true},
		"nothing at all":              {place{}, "", true},
		"the longest id":              {place{strings.Repeat("x", maxPlacedID), 1, 1, 1}, "", true},
		"a longer id":                 {place{strings.Repeat("x", maxPlacedID+1), 1, 1, 1}, "", false},
		"a key that is none of chunk": {place{id, 7, 3, 120}, "k", false},
		"a negative ordinal":          {place{id, 7, -3, 120}, "", false},
	} {
		key := c.key
		if key == "" {
			key = domain.ChunkKey(c.place.datasource, c.place.generation, c.place.ordinal)
		}
		var h index.Hit
		made, id, got := readPlace(c.place.encode(key), []byte("before"), &h)
		if got != c.fits {
			t.Errorf("%s: fits: %v", name, got)
		}
		if h.Key = strings.TrimPrefix(string(made), "before"); got {
			h.DatasourceID = h.Key[:id]
		}
		if got := (place{h.DatasourceID, h.Generation, h.Ordinal, int64(h.Length)}); c.fits && (got != c.place || h.Key != key) {
			t.Errorf("%s: %+v with key %q, want %+v with %q", name, got, h.Key, c.place, key)
		}
	}
}
