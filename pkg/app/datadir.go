package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/gofrs/flock"
)

// Names within the data directory that say who uses it.
const (
	lockFile = "lock"
	pidFile  = "pid"
)

// dataDir is the directory that holds everything the laptop shape keeps, locked for this process.
type dataDir struct {
	path string
	lock *flock.Flock
}

// openDataDir makes the directory if need be and locks it. The lock belongs to the process and ends with it, however
// it ends.
func openDataDir(path string) (*dataDir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolving data directory %q: %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, unusableDir(abs, err)
	}
	d := &dataDir{path: abs, lock: flock.New(filepath.Join(abs, lockFile))}
	locked, err := d.lock.TryLock()
	if err != nil {
		return nil, unusableDir(abs, err)
	}
	if !locked {
		return nil, fmt.Errorf("data directory %s is in use by another process%s: stop it, or set SLUICE_DATA_DIR to another directory", abs, d.holder())
	}
	if err := os.WriteFile(d.join(pidFile), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(unusableDir(abs, err), d.lock.Unlock())
	}
	return d, nil
}

// unusableDir explains why a directory cannot be the data directory, and what to do.
func unusableDir(path string, err error) error {
	why := fmt.Sprintf("cannot be used (%v)", err)
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EEXIST):
		why = "is a file, or lies below one"
	case errors.Is(err, fs.ErrPermission):
		why = fmt.Sprintf("cannot be written by user %d (%v)", os.Getuid(), err)
	case errors.Is(err, syscall.EROFS):
		why = fmt.Sprintf("is on a read-only file system (%v)", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the disk of data directory %s is full: free some space, or set SLUICE_DATA_DIR or --data-dir to a directory on another disk: %w", path, err)
	}
	return fmt.Errorf("data directory %s %s: set SLUICE_DATA_DIR or --data-dir to a directory that this user can write", path, why)
}

// holder names the process that has the lock, as far as it can be known.
func (d *dataDir) holder() string {
	pid, err := os.ReadFile(d.join(pidFile))
	if err != nil {
		return ""
	}
	return " (process " + strings.TrimSpace(string(pid)) + ")"
}

func (d *dataDir) join(name string) string { return filepath.Join(d.path, name) }

func (d *dataDir) close() error {
	if err := os.Remove(d.join(pidFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, d.lock.Unlock())
	}
	return d.lock.Unlock()
}
