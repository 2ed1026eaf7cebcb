// Package lockdir creates directories for temporary files that must not outlive their process. A killed process leaves
// its directory behind, so the next process to create a directory with the same pattern removes it. Each directory in
// use has a file lock, which the operating system releases when the process exits.
package lockdir

import (
	"cmp"
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
	// Minimum age of an unlocked directory before it is removed. A younger directory may belong to a process that has
	// created it but not locked it yet.
	minAge       = time.Minute
	removeRounds = 50 // maximum number of removal attempts, because a dying process may still be writing
	removePause  = 20 * time.Millisecond
)

// Dir is a directory used only by this process. The caller must call Remove.
type Dir struct {
	path string
	lock *flock.Flock
}

// Make creates a directory in `parent`, or in the system's temporary directory if `parent` is "". The name is the
// pattern with its last "*" replaced by a random string. Make also removes directories with the same pattern left
// behind by exited processes. It ignores errors from removing them, because the next call to Make tries again.
func Make(parent, pattern string) (*Dir, error) {
	parent = cmp.Or(parent, os.TempDir())
	removeAbandoned(parent, pattern)
	path, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return nil, fmt.Errorf("creating a directory for temporary files: %w", err)
	}
	d := &Dir{path: path, lock: flock.New(filepath.Join(path, lockName))}
	if _, err := d.lock.TryLock(); err != nil {
		return nil, errors.Join(fmt.Errorf("locking the directory %s: %w", path, err), os.RemoveAll(path))
	}
	return d, nil
}

// Path returns the directory's path.
func (d *Dir) Path() string { return d.path }

// Remove deletes the directory and its content, retrying for up to a second.
func (d *Dir) Remove() error {
	unlocked := d.lock.Unlock() // unlock first, because some systems do not delete locked files
	return errors.Join(remove(d.path), unlocked)
}

// removeAbandoned removes unlocked directories that match the pattern.
func removeAbandoned(parent, pattern string) {
	before, after := pattern, "" // split as in os.MkdirTemp; filepath.Glob would treat [ as special
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
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < minAge {
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
