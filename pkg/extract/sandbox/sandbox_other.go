//go:build !linux

package sandbox

import (
	"os"
	"syscall"
)

// executable is the file of the running program.
func executable() (string, error) { return os.Executable() }

// limitMemory has the process watch itself where address space cannot be limited.
func limitMemory(bytes int64) error {
	if bytes > 0 {
		go watchMemory(bytes)
	}
	return nil
}

// limitCPU does nothing here: the parent's deadline remains.
func limitCPU(uint64) error { return nil }

// confine can take nothing from the process here: it keeps the rights of the user that runs the service. That is
// documented, and nothing that an operator of such a machine could mend, so it is not reported either.
func confine([]string) (missing []string) { return nil }

// childAttributes are none: a child ends when its input does.
func childAttributes() *syscall.SysProcAttr { return nil }
