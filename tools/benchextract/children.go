package main

import (
	"fmt"
	"os"
	"time"

	"github.com/sluice/sluice/tools/internal/bench"
)

// usedTime returns the total processor time of those of the processes that are still running.
func usedTime(pids ...int) (used time.Duration) {
	for _, pid := range pids {
		if t, err := bench.ProcessorTime(pid); err == nil {
			used += t
		}
	}
	return used
}

// resetPeaks resets the peak resident memory of the children to the present value.
func resetPeaks() {
	for _, pid := range bench.Children() {
		// The child may just have ended.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	}
}

// childPeak returns the highest peak resident memory of the children since resetPeaks, in bytes; 0 if there is no
// child.
func childPeak() (peak int64) {
	for _, pid := range bench.Children() {
		if m, err := bench.Memory(pid, bench.PeakMemory); err == nil {
			peak = max(peak, m)
		}
	}
	return peak
}
