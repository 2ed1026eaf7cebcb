package embedded

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// refuse calls f while the only file that matches the pattern is read-only.
func refuse(t *testing.T, dir, pattern string, f func()) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*", pattern))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v: %v", files, err)
	}
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	onlyRead, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer onlyRead.Close()
	replaced := false
	for _, link := range open {
		n, err := strconv.Atoi(filepath.Base(link))
		if to, linkErr := os.Readlink(link); err != nil || linkErr != nil || to != files[0] || n == int(onlyRead.Fd()) {
			continue
		}
		kept, err := unix.Dup(n)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(kept)
		if err := unix.Dup3(int(onlyRead.Fd()), n, unix.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := unix.Dup3(kept, n, unix.O_CLOEXEC); err != nil {
				t.Error(err)
			}
		}()
		replaced = true
	}
	if !replaced {
		t.Fatalf("%s is not open", files[0])
	}
	f()
}
