package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestADirectoryWithoutPlacesIsReadAndGetsThem(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(path string) error{
		"that has no file of them": os.Remove,
		"in which rows were written after them": func(path string) error {
			return overwrite(path, 0, strings.Repeat("stale", 20))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, _, want := damaged(t, 12)
			key, err := keyOf(crashSpace)
			if err != nil {
				t.Fatal(err)
			}
			folder := filepath.Join(dir, key.datastore, key.name)
			changeState(t, folder, func(body map[string]any) { delete(body, "placed") })
			if err := leave(filepath.Join(folder, placesName)); err != nil {
				t.Fatal(err)
			}
			x := mustOpen(t, dir, Options{})
			for _, when := range []string{"before places are made", "after", "opened again"} {
				got, err := answers(t, x)
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				if diff := cmp.Diff(want, got, told); diff != "" {
					t.Errorf("%s (-want +got):\n%s", when, diff)
				}
				if err := x.mergeAll(t.Context(), crashSpace); err != nil {
					t.Fatal(err)
				}
				if when == "after" {
					if err := x.Check(t.Context(), crashSpace); err != nil {
						t.Error(err)
					}
					if err := x.Close(); err != nil {
						t.Fatal(err)
					}
					x = mustOpen(t, dir, Options{})
				}
			}
			if err := x.use(t.Context(), crashSpace, false, func(s *space) error {
				if !s.current.placed {
					t.Error("no places were made")
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
