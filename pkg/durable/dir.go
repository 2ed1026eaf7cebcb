//go:build !windows

package durable

import (
	"errors"
	"fmt"
	"os"
)

// Dir flushes a directory's entries to disk so that created, renamed and removed files survive a power failure.
func Dir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening a directory to sync: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("writing directory %s to disk: %w", path, err)
	}
	return nil
}
