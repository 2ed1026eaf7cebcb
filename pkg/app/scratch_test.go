package app

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestScratchRemovesWhatKilledWorkersHaveLeft(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	running, err := openScratch(parent)
	if err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(parent, "sluice-worker-killed")
	fresh := filepath.Join(parent, "sluice-worker-fresh")
	old := time.Now().Add(-time.Hour)
	for _, dir := range []string{killed, fresh} {
		if err := os.MkdirAll(filepath.Join(dir, "documents"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{killed, running.path} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	next, err := openScratch(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{killed: false, fresh: true, running.path: true, next.path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
	for _, s := range []*scratch{running, next} {
		if err := s.close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.path); err == nil {
			t.Errorf("%s is left", s.path)
		}
	}
}
