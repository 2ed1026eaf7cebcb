package main

import (
	"fmt"
	"os"
	"time"

	"github.com/sluice/sluice/tools/internal/bench"
)

// usedTime is the processor time that the processes have used, without those that have ended.
func usedTime(pids ...int) (used time.Duration) {
	for _, pid := range pids {
		if t, err := bench.ProcessorTime(pid); err == nil {
			used += t
		}
	}
	return used
}

// forgetPeaks sets the highest resident memory of the children to what they have now.
func forgetPeaks() {
	for _, pid := range bench.Children() {
		// A child that ends at this moment needs no mark.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	}
}

// childPeak is the highest resident memory of any child since forgetPeaks, in bytes; 0 where there is no child.
func childPeak() (peak int64) {
	for _, pid := range bench.Children() {
		if m, err := bench.Memory(pid, bench.PeakMemory); err == nil {
			peak = max(peak, m)
		}
	}
	return peak
}
