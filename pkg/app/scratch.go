package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// scratch is a worker process's own directory for temporary files. A worker keeps no data directory, and any number of
// them may share a machine.
type scratch struct {
	path string
	lock *flock.Flock
}

const (
	scratchPattern = "sluice-worker-*"
	scratchLock    = "lock"
	// scratchYoung keeps a directory from being removed that another process has made and not locked yet.
	scratchYoung = time.Minute
)

// openScratch makes the directory below parent, and removes those of processes that were killed.
func openScratch(parent string) (*scratch, error) {
	removeAbandoned(parent)
	path, err := os.MkdirTemp(parent, scratchPattern)
	if err != nil {
		return nil, fmt.Errorf("making a directory for temporary files: %w", err)
	}
	s := &scratch{path: path, lock: flock.New(filepath.Join(path, scratchLock))}
	if _, err := s.lock.TryLock(); err != nil {
		return nil, errors.Join(fmt.Errorf("locking the directory for temporary files: %w", err), os.RemoveAll(path))
	}
	return s, nil
}

// removeAbandoned removes what nobody holds the lock of. What cannot be removed is left to another start.
func removeAbandoned(parent string) {
	found, _ := filepath.Glob(filepath.Join(parent, scratchPattern)) // fails for a malformed pattern alone
	for _, dir := range found {
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < scratchYoung {
			continue
		}
		lock := flock.New(filepath.Join(dir, scratchLock))
		if free, err := lock.TryLock(); err != nil || !free {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Unlock()
	}
}

func (s *scratch) close() error {
	return errors.Join(os.RemoveAll(s.path), s.lock.Unlock())
}
