// Package lockdir makes directories for temporary files that last no longer than the process which made them: one that is
// killed leaves its directory behind, and the next process that makes one of the same kind removes it. A lock, which ends
// with the process however that ends, tells which are in use.
package lockdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockName = "lock"
	// young keeps a directory from being removed that another process has made and not locked yet.
	young        = time.Minute
	removeRounds = 50 // a process that dies just now may still write to the directory
	removePause  = 20 * time.Millisecond
)

// Dir is a directory that this process alone uses. Remove must be called in the end.
type Dir struct {
	path string
	lock *flock.Flock
}

// Make makes a directory in parent ("" for the system's temporary ones), whose name is the pattern with a random string in place of its "*", and removes those
// of the pattern whose processes are gone. What cannot be removed is left to another time.
func Make(parent, pattern string) (*Dir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	removeAbandoned(parent, pattern)
	path, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return nil, fmt.Errorf("making a directory for temporary files: %w", err)
	}
	d := &Dir{path: path, lock: flock.New(filepath.Join(path, lockName))}
	if _, err := d.lock.TryLock(); err != nil {
		return nil, errors.Join(fmt.Errorf("locking the directory %s: %w", path, err), os.RemoveAll(path))
	}
	return d, nil
}

// Path is the directory's.
func (d *Dir) Path() string { return d.path }

// Remove deletes the directory with all that lies in it. For a second it tries again where that fails.
func (d *Dir) Remove() error {
	unlocked := d.lock.Unlock() // first: some systems remove no file that is locked
	return errors.Join(remove(d.path), unlocked)
}

// removeAbandoned removes directories that nobody holds the lock of.
func removeAbandoned(parent, pattern string) {
	before, after := pattern, "" // as os.MkdirTemp reads it, and not as a pattern of file names, in which [ means something
	if i := strings.LastIndexByte(pattern, '*'); i >= 0 {
		before, after = pattern[:i], pattern[i+1:]
	}
	entries, _ := os.ReadDir(parent)
	for _, e := range entries {
		name := e.Name()
		if len(name) <= len(before)+len(after) || !strings.HasPrefix(name, before) || !strings.HasSuffix(name, after) {
			continue
		}
		path := filepath.Join(parent, name)
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < young {
			continue
		}
		lock := flock.New(filepath.Join(path, lockName))
		if free, err := lock.TryLock(); err != nil || !free {
			continue
		}
		_ = os.RemoveAll(path)
		_ = lock.Unlock()
	}
}

func remove(path string) error {
	tick := time.NewTicker(removePause)
	defer tick.Stop()
	for n := 0; ; n++ {
		err := os.RemoveAll(path)
		if err == nil || n == removeRounds {
			return err
		}
		<-tick.C
	}
}
