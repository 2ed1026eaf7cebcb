package store

import (
	"strings"
	"testing"

	"github.com/sluice/sluice/pkg/domain"
	"github.com/sluice/sluice/pkg/index"
)

func TestLocationsRoundTrip(t *testing.T) {
	t.Parallel()
	id := domain.NewID()
	for name, c := range map[string]struct {
		place location
		key   string // "" means the location's own chunk key
		fits  bool
	}{
		"a chunk":                     {location{id, 7, 3, 120}, "", true},
		"the largest numbers":         {location{id, 1<<63 - 1, 1<<31 - 1, 1<<32 - 1}, "", true},
		"nothing at all":              {location{}, "", true},
		"the longest id":              {location{strings.Repeat("x", maxLocatedID), 1, 1, 1}, "", true},
		"a longer id":                 {location{strings.Repeat("x", maxLocatedID+1), 1, 1, 1}, "", false},
		"a key that is none of chunk": {location{id, 7, 3, 120}, "k", false},
		"a negative ordinal":          {location{id, 7, -3, 120}, "", false},
	} {
		key := c.key
		if key == "" {
			key = domain.ChunkKey(c.place.datasource, c.place.generation, c.place.ordinal)
		}
		var h index.Hit
		made, id, got := readLocation(c.place.encode(key), []byte("before"), &h)
		if got != c.fits {
			t.Errorf("%s: fits: %v", name, got)
		}
		if h.Key = strings.TrimPrefix(string(made), "before"); got {
			h.DatasourceID = h.Key[:id]
		}
		if got := (location{h.DatasourceID, h.Generation, h.Ordinal, int64(h.Length)}); c.fits && (got != c.place || h.Key != key) {
			t.Errorf("%s: %+v with key %q, want %+v with %q", name, got, h.Key, c.place, key)
		}
	}
}
