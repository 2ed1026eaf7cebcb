//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// ownCPU is the processor time that this process has used.
func ownCPU() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// peakOf is the resident memory of the process, or of the largest one that it has waited for, at its highest, in bytes.
func peakOf(state *os.ProcessState) int64 {
	use, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return use.Maxrss
	}
	return use.Maxrss << 10
}
