// Package datadir manages a service's data directory: its file names, its lock, and the access file, which tells
// commands on the same machine how to reach the running service. The service and the operator's commands import this
// package; it imports no other package of the module.
package datadir

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

// Names of the files and folders in the data directory.
const (
	Catalog   = "catalog.db"
	APIKey    = "api-key" // the key created on the first start
	SecretKey = "secret-key"
	NATS      = "nats"
	Index     = "index"
	Models    = "models" // embedding models that the service runs itself, one directory per model
	Cache     = "cache"
	Temp      = "tmp"
	Operator  = "operator.json" // the access file; see Access
	Lock      = "lock"
	PID       = "pid"

	// Restoring is an unfinished restore's directory. A data directory that contains it can't be used.
	Restoring = ".restoring"
)

// Dir is a data directory locked by this process.
type Dir struct {
	path string
	lock *flock.Flock
}

// Open locks the directory, creating it if necessary. The operating system releases the lock when the process exits,
// even if it is killed.
func Open(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolving data directory %q: %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, UnusableError(abs, err)
	}
	d := &Dir{path: abs, lock: flock.New(filepath.Join(abs, Lock))}
	locked, err := d.lock.TryLock()
	if err != nil {
		return nil, UnusableError(abs, err)
	}
	if !locked {
		return nil, fmt.Errorf("data directory %s is in use by another process%s: stop it, or set SLUICE_DATA_DIR to another directory", abs, d.holder())
	}
	if err := os.WriteFile(d.Join(PID), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(UnusableError(abs, err), d.lock.Unlock())
	}
	return d, nil
}

// UnusableError explains why a path can't be used as the data directory, and how to fix that.
func UnusableError(path string, err error) error {
	why := fmt.Sprintf("cannot be used (%v)", err)
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EEXIST):
		why = "is a file or inside one"
	case errors.Is(err, fs.ErrPermission):
		why = fmt.Sprintf("cannot be written by user %d (%v)", os.Getuid(), err)
	case errors.Is(err, syscall.EROFS):
		why = fmt.Sprintf("is on a read-only file system (%v)", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the disk of data directory %s is full: free some space or set SLUICE_DATA_DIR or --data-dir to a directory on another disk: %w", path, err)
	}
	return fmt.Errorf("data directory %s %s: set SLUICE_DATA_DIR or --data-dir to a directory that this user can write to", path, why)
}

// holder describes the process that holds the lock, or returns "" if it isn't known.
func (d *Dir) holder() string {
	pid, err := os.ReadFile(d.Join(PID))
	if err != nil {
		return ""
	}
	return " (process " + strings.TrimSpace(string(pid)) + ")"
}

// Path returns the directory's absolute path.
func (d *Dir) Path() string { return d.path }

// Join returns the path of a file or folder in the directory.
func (d *Dir) Join(name string) string { return filepath.Join(d.path, name) }

// Close releases the lock.
func (d *Dir) Close() error {
	if err := os.Remove(d.Join(PID)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, d.lock.Unlock())
	}
	return d.lock.Unlock()
}
