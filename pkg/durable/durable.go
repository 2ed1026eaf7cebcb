// Package durable has files and directories outlast a loss of power.
package durable

import (
	"errors"
	"fmt"
	"os"
)

// File has the operating system write to disk what it holds of a file's content. The file must be one that may be written.
func File(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening what is to be written to disk: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("writing %s to disk: %w", path, err)
	}
	return nil
}
