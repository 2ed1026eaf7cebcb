//go:build !linux

package fleet

import "syscall"

// Fleets run on Linux only, because the engines do.
const (
	pauseSignal  = syscall.Signal(0)
	resumeSignal = syscall.Signal(0)
)

func withParent() *syscall.SysProcAttr { return nil }
