package render

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	profilePattern = "sluice-render-*"
	profileLock    = "lock"
	// profileYoung keeps a directory from being removed that another process has made and not locked yet.
	profileYoung = time.Minute
	maxDirPath   = 60 // bytes: that of a socket has 107, of which Chromium adds 45
	removeRounds = 50 // a dying process may still write to its profile
	removePause  = 20 * time.Millisecond
)

// profile is the directory of a local browser. Its lock ends with this process, however that ends.
type profile struct {
	path string
	lock *flock.Flock
}

// makeProfile makes a directory for a browser, and removes those of processes that were killed. Chromium opens a socket
// in it, whose path the system bounds; where the parent's is too long for that, the directory is made among the system's
// temporary ones.
func makeProfile(parent string) (*profile, error) {
	if parent == "" || len(filepath.Join(parent, profilePattern))+len("0123456789") > maxDirPath {
		parent = os.TempDir()
	}
	removeAbandoned(parent)
	path, err := os.MkdirTemp(parent, profilePattern)
	if err != nil {
		return nil, fmt.Errorf("making the browser's profile: %w", err)
	}
	p := &profile{path: path, lock: flock.New(filepath.Join(path, profileLock))}
	if _, err := p.lock.TryLock(); err != nil {
		return nil, errors.Join(fmt.Errorf("locking the browser's profile: %w", err), os.RemoveAll(path))
	}
	return p, nil
}

// removeAbandoned removes what nobody holds the lock of. What cannot be removed is left to another start.
func removeAbandoned(parent string) {
	found, _ := filepath.Glob(filepath.Join(parent, profilePattern)) // fails for a malformed pattern alone
	for _, dir := range found {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < profileYoung {
			continue
		}
		lock := flock.New(filepath.Join(dir, profileLock))
		if free, err := lock.TryLock(); err != nil || !free {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Unlock()
	}
}

// remove deletes the directory of a browser that has been killed.
func (p *profile) remove() error {
	unlocked := p.lock.Unlock() // first: some systems remove no file that is locked
	return errors.Join(remove(p.path), unlocked)
}

func remove(dir string) error {
	tick := time.NewTicker(removePause)
	defer tick.Stop()
	for n := 0; ; n++ {
		err := os.RemoveAll(dir)
		if err == nil || n == removeRounds {
			return err
		}
		<-tick.C
	}
}
