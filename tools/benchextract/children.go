package main

import (
	"fmt"
	"os"
	"time"

	"github.com/sluice/sluice/tools/internal/bench"
)

// usedTime returns the processes' total CPU time, ignoring processes that have exited.
func usedTime(pids ...int) (used time.Duration) {
	for _, pid := range pids {
		if t, err := bench.ProcessorTime(pid); err == nil {
			used += t
		}
	}
	return used
}

// resetPeaks resets each child's peak resident memory to its current usage.
func resetPeaks() {
	for _, pid := range bench.Children() {
		// Ignore the error: the child may have just exited.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	}
}

// childPeak returns the highest peak resident memory, in bytes, of any child since resetPeaks. It returns 0 if there
// are no children.
func childPeak() (peak int64) {
	for _, pid := range bench.Children() {
		if m, err := bench.Memory(pid, bench.PeakMemory); err == nil {
			peak = max(peak, m)
		}
	}
	return peak
}
