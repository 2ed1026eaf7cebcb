package lockdir

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestMakeRemovesRemainsOfKilledProcesses(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	running, err := Make(parent, "sluice-test-*")
	if err != nil {
		t.Fatal(err)
	}
	killed, fresh := filepath.Join(parent, "sluice-test-killed"), filepath.Join(parent, "sluice-test-fresh")
	other, target, link := filepath.Join(parent, "another"), filepath.Join(parent, "target"), filepath.Join(parent, "sluice-test-link")
	old := time.Now().Add(-time.Hour)
	for _, dir := range []string{killed, fresh, other, target} {
		if err := os.MkdirAll(filepath.Join(dir, "documents"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{killed, other, target, running.Path()} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	next, err := Make(parent, "sluice-test-*")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		killed: false, fresh: true, other: true, target: true, link: true, running.Path(): true, next.Path(): true,
	} {
		if _, err := os.Lstat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
	for _, d := range []*Dir{running, next} {
		if err := d.Remove(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(d.Path()); err == nil {
			t.Errorf("%s is left", d.Path())
		}
	}
}

func TestMakeSaysWhichDirectoryCannotBeMade(t *testing.T) {
	t.Parallel()
	if d, err := Make(filepath.Join(t.TempDir(), "none"), "sluice-test-*"); err == nil {
		t.Errorf("the directory was created at %s", d.Path())
	}
}
