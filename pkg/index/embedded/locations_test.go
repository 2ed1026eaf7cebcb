package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index/embedded/store"
)

func TestADirectoryWithoutLocationsIsUpgraded(t *testing.T) {
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
			if err := leave(filepath.Join(folder, locationFile)); err != nil {
				t.Fatal(err)
			}
			x := mustOpen(t, dir, Options{})
			for _, when := range []string{"before places are made", "after", "opened again"} {
				got, err := answers(t, x)
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				if diff := cmp.Diff(want, got, reported); diff != "" {
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
			if err := x.use(t.Context(), crashSpace, false, func(s *store.Space) error {
				if !s.Snapshot().HasLocations {
					t.Error("no places were made")
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
