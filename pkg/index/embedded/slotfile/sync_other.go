//go:build !linux

package slotfile

import "os"

// syncData makes a file's content durable.
func syncData(f *os.File) error { return f.Sync() }
