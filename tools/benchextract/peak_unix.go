//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

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
