package operate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestABackupRemovesRemainsOfAKilledOne makes a backup to a directory where a killed backup left files behind.
func TestABackupRemovesRemainsOfAKilledOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "b[1]*.tar.zst") // contains characters that are special in patterns
	killed, other := filepath.Join(dir, ".b[1]*.tar.zst.partial-killed"), filepath.Join(dir, ".b1.tar.zst.partial-killed")
	running, removeRunning, err := makePartial(file)
	if err != nil {
		t.Fatal(err)
	}
	defer removeRunning()
	defer running.Close()
	old := time.Now().Add(-time.Hour)
	for _, d := range []string{killed, other} {
		if err := errors.Join(os.Mkdir(d, 0o700), os.WriteFile(filepath.Join(d, "backup"), []byte("half"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{killed, other, filepath.Dir(running.Name())} {
		if err := os.Chtimes(d, old, old); err != nil {
			t.Fatal(err)
		}
	}
	next, removeNext, err := makePartial(file)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{killed: false, other: true, running.Name(): true, next.Name(): true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", path, err == nil, want)
		}
	}
	if err := next.Close(); err != nil {
		t.Fatal(err)
	}
	removeNext()
	if _, err := os.Stat(filepath.Dir(next.Name())); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left", next.Name())
	}
}
