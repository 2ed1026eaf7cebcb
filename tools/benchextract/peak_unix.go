//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peakOf returns the peak resident memory, in bytes, of the process or its largest child, whichever is higher. Only
// children that the process has waited for count.
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
