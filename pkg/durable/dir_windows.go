package durable

import (
	"fmt"
	"os"
)

// Dir finds out whether the directory is there. Windows has no call that writes a directory: FlushFileBuffers refuses one
// ("Access is denied", https://go.dev/issue/75541), and NTFS keeps the order of its changes by itself.
func Dir(path string) error {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("looking at a directory that is to be written to disk: %w", err)
	}
	return nil
}
