//go:build !linux

package sandbox

import (
	"os"
	"syscall"
)

// executable returns the path to the running program.
func executable() (string, error) { return os.Executable() }

// limitMemory starts a watchdog, because this system can't limit the address space.
func limitMemory(bytes int64) error {
	if bytes > 0 {
		go WatchMemory(bytes)
	}
	return nil
}

// limitCPU does nothing on this system. The parent still enforces the wall-clock limit.
func limitCPU(uint64) error { return nil }

// confine does nothing on this system: the process keeps the service user's rights. confine doesn't report them as
// missing restrictions, because the manual covers this limitation and operators can't change it.
func confine([]string) (missing []string) { return nil }

// childAttributes returns nil on this system. A child exits when its input ends.
func childAttributes() *syscall.SysProcAttr { return nil }

// yieldProcessor does nothing, because there is no portable way to lower a process's priority.
func yieldProcessor(int) {}
