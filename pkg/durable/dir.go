//go:build !windows

package durable

import (
	"errors"
	"fmt"
	"os"
)

// Dir has the operating system write to disk which entries a directory has: what was made, renamed or removed in it.
func Dir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("opening a directory that is to be written to disk: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("writing directory %s to disk: %w", path, err)
	}
	return nil
}
