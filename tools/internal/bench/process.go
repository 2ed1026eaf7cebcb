package bench

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ProcessorTime returns a process's CPU time, with a resolution of 10 ms. It works only on Linux.
func ProcessorTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time of a process: %w", err)
	}
	// The process name may contain any character and ends at the last closing parenthesis. utime and stime are the 12th
	// and 13th fields after it (proc(5)).
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading the CPU time of a process: %w", err)
		}
		ticks += n
	}
	const tick = 10 * time.Millisecond // /proc's tick on all of Go's architectures
	return time.Duration(ticks) * tick, nil
}

// Kinds of process memory.
const (
	OwnMemory  = "RssAnon" // resident memory, without the file pages that the system can drop
	PeakMemory = "VmHWM"   // peak resident memory
)

// Memory returns a process's memory usage in bytes. `kind` is a field in /proc/PID/status, such as PeakMemory. It works
// only on Linux.
func Memory(pid int, kind string) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory use of a process: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, kind+":"); ok {
			kilobytes, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, errors.New("the system does not report the memory of a process")
}

// Children returns the child processes that haven't been waited for, or none if the system doesn't report them.
func Children() []int {
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
