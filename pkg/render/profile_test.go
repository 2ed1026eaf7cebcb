package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProfilesOfKilledProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	parent, err := os.MkdirTemp("", "r-") // short enough to be taken
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(parent)
	running, err := makeProfile(parent)
	if err != nil {
		t.Fatal(err)
	}
	killed, fresh := filepath.Join(parent, "sluice-render-killed"), filepath.Join(parent, "sluice-render-fresh")
	other := filepath.Join(parent, "another")
	old := time.Now().Add(-time.Hour)
	for _, dir := range []string{killed, fresh, other} {
		if err := os.MkdirAll(filepath.Join(dir, "profile"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{killed, other, running.path} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	next, err := makeProfile(parent)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{killed: false, fresh: true, other: true, running.path: true, next.path: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
	for _, p := range []*profile{running, next} {
		if err := p.remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(p.path); err == nil {
			t.Errorf("%s is left", p.path)
		}
	}
}

func TestAProfileLiesWhereItsSocketHasRoom(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(t.TempDir(), strings.Repeat("deep", 10))
	if err := os.Mkdir(parent, 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := makeProfile(parent)
	if err != nil {
		t.Fatal(err)
	}
	defer p.remove()
	if filepath.Dir(p.path) != filepath.Clean(os.TempDir()) {
		t.Errorf("it is made at %s", p.path)
	}
}
