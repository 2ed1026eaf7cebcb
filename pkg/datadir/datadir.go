// Package datadir is the directory in which a service keeps everything: the names in it, its lock, and the file by which commands on the same
// machine reach the running service. The service and the operator's commands import it; it imports nothing of ours.
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

// Names within the data directory.
const (
	Catalog   = "catalog.db"
	APIKey    = "api-key" // the key of the first start
	SecretKey = "secret-key"
	NATS      = "nats"
	Index     = "index"
	Models    = "models" // embedding models that are run in process, each in a directory of its own
	Cache     = "cache"
	Temp      = "tmp"
	Operator  = "operator.json" // Access
	Lock      = "lock"
	PID       = "pid"

	// Restoring is where what is restored lies until all of it is there. A data directory that has it is not to be used.
	Restoring = ".restoring"
)

// Dir is a data directory, locked for this process.
type Dir struct {
	path string
	lock *flock.Flock
}

// Open makes the directory if need be and locks it. The lock belongs to the process and ends with it, however
// it ends.
func Open(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("resolving data directory %q: %w", path, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, Unusable(abs, err)
	}
	d := &Dir{path: abs, lock: flock.New(filepath.Join(abs, Lock))}
	locked, err := d.lock.TryLock()
	if err != nil {
		return nil, Unusable(abs, err)
	}
	if !locked {
		return nil, fmt.Errorf("data directory %s is in use by another process%s: stop it, or set SLUICE_DATA_DIR to another directory", abs, d.holder())
	}
	if err := os.WriteFile(d.Join(PID), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(Unusable(abs, err), d.lock.Unlock())
	}
	return d, nil
}

// Unusable explains why a directory cannot be the data directory, and what to do.
func Unusable(path string, err error) error {
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
func (d *Dir) holder() string {
	pid, err := os.ReadFile(d.Join(PID))
	if err != nil {
		return ""
	}
	return " (process " + strings.TrimSpace(string(pid)) + ")"
}

// Path is the directory.
func (d *Dir) Path() string { return d.path }

// Join is the path of a name within the directory.
func (d *Dir) Join(name string) string { return filepath.Join(d.path, name) }

// Close gives the directory free.
func (d *Dir) Close() error {
	if err := os.Remove(d.Join(PID)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, d.lock.Unlock())
	}
	return d.lock.Unlock()
}
