package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice/sluice/pkg/index"
)

func TestADamagedSpaceIsSetAsideAndRebuilt(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(files map[string]string) error{
		"a vector is changed":     func(f map[string]string) error { return overwrite(f[vectorFile], 20, "damage") },
		"vectors are missing":     func(f map[string]string) error { return os.Remove(f[vectorFile]) },
		"the database is missing": func(f map[string]string) error { return os.Remove(f[databaseFile]) },
		"the database is not one": func(f map[string]string) error { return overwrite(f[databaseFile], 0, "not a database") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, paths, _ := damaged(t, 3)
			files := make(map[string]string)
			for _, p := range paths {
				files[filepath.Base(p)] = p
			}
			if err := spoil(files); err != nil {
				t.Fatal(err)
			}
			var alarms atomic.Int32
			x := mustOpen(t, dir, Options{Alarm: func() { alarms.Add(1) }})
			if got := spacesOf(t, x, crashSpace.DatastoreID); len(got) != 1 || got[0] != crashSpace {
				t.Errorf("the spaces are %v", got)
			}
			for range 2 {
				if _, err := answers(t, x); !errors.Is(err, index.ErrCorrupt) {
					t.Fatalf("err = %v", err)
				}
			}
			if diff := cmp.Diff([]index.Space{crashSpace}, x.Damaged()); diff != "" || alarms.Load() != 1 {
				t.Errorf("%d alarms, damaged (-want +got):\n%s", alarms.Load(), diff)
			}
			for _, want := range []bool{true, false} {
				if got, err := x.Discard(t.Context(), crashSpace); err != nil || got != want {
					t.Fatalf("discarded %v, want %v: %v", got, want, err)
				}
			}
			if got := x.Damaged(); len(got) != 0 {
				t.Errorf("still damaged are %v", got)
			}
			aside, err := filepath.Glob(filepath.Join(dir, crashSpace.DatastoreID, "*"+corruptSuffix))
			if err != nil || len(aside) != 1 {
				t.Errorf("put aside is %v: %v", aside, err)
			}
			if n, err := x.Count(t.Context(), crashSpace, "a", 0); err != nil || n != 0 {
				t.Errorf("the discarded space has %d rows: %v", n, err)
			}
			mustWrite(t, x, crashSpace, batchOf("a", 7, 4))
			if n, err := x.Count(t.Context(), crashSpace, "a", 7); err != nil || n != 4 {
				t.Errorf("rebuilt it has %d rows: %v", n, err)
			}
			if got := spacesOf(t, x, crashSpace.DatastoreID); len(got) != 1 {
				t.Errorf("the spaces are %v", got)
			}
		})
	}
}

func TestAnIntactSpaceIsNeverDiscarded(t *testing.T) {
	t.Parallel()
	dir, _, want := damaged(t, 3)
	x := mustOpen(t, dir, Options{})
	if got, err := x.Discard(t.Context(), crashSpace); err != nil || got {
		t.Errorf("discarded %v: %v", got, err)
	}
	key, err := keyOf(crashSpace)
	if err != nil {
		t.Fatal(err)
	}
	x.damaged[key] = crashSpace // as if an earlier read had failed
	if got, err := x.Discard(t.Context(), crashSpace); err != nil || got {
		t.Errorf("discarded %v: %v", got, err)
	}
	if got := x.Damaged(); len(got) != 0 {
		t.Errorf("damaged are %v", got)
	}
	got, err := answers(t, x)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, reported); diff != "" {
		t.Error(diff)
	}
}

func TestACheckFindsDamageWhereverItIs(t *testing.T) {
	t.Parallel()
	if *everywhereIVF {
		t.Skip("it changes files that are made anew when few rows have codes")
	}
	dir, files, want := damaged(t, 12)
	key, err := keyOf(crashSpace)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range files {
		if filepath.Base(path) == identityFile {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at := 100; at < len(data); at += len(data)/17 + 1 {
			data[at] ^= 0x55
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			x := mustOpen(t, dir, Options{})
			if err := x.check(t.Context(), key, crashSpace); err == nil {
				// A change that the check misses must be in an unused byte, so searches must return the same results.
				if got, err := answers(t, x); err != nil || !cmp.Equal(want, got, reported) {
					t.Errorf("byte %d of %s: a check found nothing, a search %v", at, filepath.Base(path), err)
				}
			} else if found++; !errors.Is(err, index.ErrCorrupt) {
				t.Errorf("byte %d of %s: %v", at, filepath.Base(path), err)
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			data[at] ^= 0x55
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d changes were found", found)
	}
}
