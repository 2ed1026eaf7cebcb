//go:build !linux

package extract

import "os"

// executable is the file of the running program.
func executable() (string, error) { return os.Executable() }

// limitMemory does nothing where address space cannot be limited: the soft limit of the Go runtime and the
// parent's deadline remain.
func limitMemory(int64) error { return nil }

// limitCPU does nothing here: the parent's deadline remains.
func limitCPU(uint64) error { return nil }
