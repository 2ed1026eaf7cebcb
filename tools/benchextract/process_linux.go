package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// childProcesses are the processes that this one has started and not yet waited for.
func childProcesses() []int {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	var pids []int
	for _, t := range tasks {
		list, err := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(list)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// childCPU is the processor time that the running children have used.
func childCPU() time.Duration {
	const tick = 10 * time.Millisecond // of /proc on every architecture that Go runs on
	used := time.Duration(0)
	for _, pid := range childProcesses() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		_, fields, _ := strings.Cut(string(stat), ") ") // the name before may hold spaces
		for _, at := range []int{11, 12} {              // user and system time
			if f := strings.Fields(fields); at < len(f) {
				ticks, _ := strconv.ParseInt(f[at], 10, 64) // zero where there is no number
				used += time.Duration(ticks) * tick
			}
		}
	}
	return used
}

// forgetPeaks sets the highest resident memory of the children to what they have now.
func forgetPeaks() {
	for _, pid := range childProcesses() {
		// A child that ends at this moment needs no mark.
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
	}
}

// childPeak is the highest resident memory of any child since forgetPeaks, in bytes; 0 where there is no child.
func childPeak() int64 {
	peak := int64(0)
	for _, pid := range childProcesses() {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(status)) {
			if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
				if err == nil {
					peak = max(peak, kilobytes<<10)
				}
			}
		}
	}
	return peak
}
