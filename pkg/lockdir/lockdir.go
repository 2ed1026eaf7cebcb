// Package lockdir creates directories for temporary files that do not outlive their process. A killed process leaves
// its directory behind; the next process that creates a directory of the same pattern removes it. A file lock, which
// the operating system releases when the process ends, marks the directories in use.
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
	// Age below which a directory is not removed: another process may have created but not locked it yet.
	minAge       = time.Minute
	removeRounds = 50 // attempts: a dying process may still write to the directory
	removePause  = 20 * time.Millisecond
)

// Dir is a directory for this process only. The caller must call Remove.
type Dir struct {
	path string
	lock *flock.Flock
}

// Make creates a directory in parent ("" means the system's directory for temporary files). Its name is the pattern
// with a random string in place of the last "*". Make also removes directories of the same pattern whose processes have
// ended; errors there are ignored, and the next call tries again.
func Make(parent, pattern string) (*Dir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
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

// Path returns the path of the directory.
func (d *Dir) Path() string { return d.path }

// Remove deletes the directory and its content. It retries for a second if that fails.
func (d *Dir) Remove() error {
	unlocked := d.lock.Unlock() // first, because some systems do not delete locked files
	return errors.Join(remove(d.path), unlocked)
}

// removeAbandoned removes directories whose lock is free.
func removeAbandoned(parent, pattern string) {
	before, after := pattern, "" // split as os.MkdirTemp does; in a glob pattern, [ would be special
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
