// Package durable flushes files and directories to disk so that they survive a power failure.
package durable

import (
	"errors"
	"fmt"
	"os"
)

// File flushes a file's content to disk. The process needs write permission for the file.
func File(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening a file to sync: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing %s to disk: %w", path, err)
	}
	return nil
}
