package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

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
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	d := &dataDir{path: abs, lock: flock.New(filepath.Join(abs, lockFile))}
	locked, err := d.lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking data directory %s: %w", abs, err)
	}
	if !locked {
		return nil, fmt.Errorf("data directory %s is in use by another process%s: stop it, or set SLUICE_DATA_DIR to another directory", abs, d.holder())
	}
	if err := os.WriteFile(d.join(pidFile), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("writing the process id: %w", err), d.lock.Unlock())
	}
	return d, nil
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
